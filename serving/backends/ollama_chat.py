"""A model that an Ollama server runs, through Ollama's own interface.

Ollama cuts a conversation silently where it does not fit, the protocol first. So the context is always asked for by
number, read back from the server, kept within by an estimate on the high side, and what the server says that it read is
compared with what it was sent.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from serving.backend import BackendError, BackendMisconfigured, BackendUnavailable, Request
from serving.backends.messages import Message, chat
from serving.backends.ollama_reply import Reading, likeliest
from serving.backends.ollama_request import OllamaSettings, body, question
from serving.backends.reported import Refusals
from serving.backends.served import ServedBackend
from serving.classification import Classification, by_text, classified
from shield.assessment import Turn

if TYPE_CHECKING:
    from ollama import ChatResponse

    from serving.backends.ollama_client import OllamaClient

OLDEST = (0, 4)
"""Before 0.4 Ollama told only the tokens that it read anew, so nobody could see whether it had cut the rest."""

_LOOK_S = 10.0


class OllamaBackend(ServedBackend[OllamaSettings]):
    """One model of an Ollama server. Raises BackendMisconfigured without the extra."""

    def __init__(
        self, *, name: str, model: str, settings: OllamaSettings, refusals: Refusals, source: str = "local"
    ) -> None:
        super().__init__(name=name, model=model, settings=settings, refusals=refusals, source=source)
        self._client = _client(settings)
        self._prefix = ""

    async def warm(self, prefix: str, rest: str = "") -> None:
        """Have this beginning of the system text evaluated whenever the model was loaded; returns at once."""
        self._prefix = prefix + rest

    async def close(self) -> None:
        """End the watching and the connections that are kept. The model stays loaded as long as keep_alive says."""
        await self._supervisor.close()
        await self._client.aclose()

    async def classify(self, request: Request, labels: Sequence[str]) -> Classification:
        """Which of the labels the model would answer with, of the 20 likeliest next tokens. Ollama 0.12.11 or newer."""
        asked, _ = self._fitted(request)
        messages = chat(asked, prefill=self.settings.prefill, system_role=self.settings.system_role)
        async with self._place_taken(), aclosing(self._parts(question(self.settings, messages), _LOOK_S)) as parts:
            told = [likely async for part in parts for likely in likeliest(part)]
        if not told:
            raise BackendMisconfigured("Ollama tells no probabilities: 0.12.11 or newer is needed")
        return classified(by_text(labels, told), who=self.name)

    # one request

    async def _texts(self, request: Request, dropped: int) -> AsyncGenerator[str, None]:
        messages = chat(request, prefill=self.settings.prefill, system_role=self.settings.system_role)
        asked = body(self.settings, messages, max_tokens=request.max_tokens, stop=request.stop)
        reading = Reading(sum(len(message["content"]) for message in messages), self.settings.read_timeout_s)
        async with aclosing(self._parts(asked, self.settings.read_timeout_s)) as parts:
            async for part in parts:
                if text := reading.take(part):
                    yield text
                if reading.ended:
                    break
        self.stats = reading.usage(dropped)
        request.cost(self.stats.n_prompt, self.stats.n_generated)

    def _parts(self, asked: Mapping[str, Any], timeout_s: float) -> "AsyncGenerator[ChatResponse, None]":
        from serving.backends.ollama_client import chatted

        return chatted(self._client, asked, timeout_s=timeout_s, model=self.settings.served_as)

    # watching it

    async def _live(self) -> str:
        try:
            version = await self._met()
            await self._load()
            await self._check_loaded()
            self._supervisor.ready(f"Ollama {version}, {self.settings.context} tokens for each conversation")
            await self._warm()
            while True:
                await asyncio.sleep(self.settings.look_s)
                await self._check_loaded()
        except BackendError as error:
            return str(error)
        finally:
            self.warmed.clear()

    async def _met(self) -> str:
        """The server's version. Raises BackendError when the model is not there, or must not be used."""
        version: str = await self._ask(self._client.version())
        if _numbers(version) < OLDEST:
            raise BackendMisconfigured(f"Ollama {version[:20]} is too old: 0.4 or newer is needed")
        wanted = self.settings.served_as
        listed = await self._ask(self._client.list())
        if _tagged(wanted) not in {_tagged(card.model or "") for card in listed.models}:
            from serving.backends.ollama_client import missing

            raise BackendMisconfigured(missing(wanted))
        shown = await self._ask(self._client.show(wanted))
        info = shown.modelinfo or {}
        details = shown.details
        named = [wanted, *(str(info.get(key, "")) for key in info if key.startswith("general."))]
        if details is not None:
            named += [details.family or "", details.parent_model or "", *(details.families or ())]
        if why := self._refusals.why(named, shown.template or ""):
            raise BackendMisconfigured(why)
        self._check_trained(info)
        return version

    def _check_trained(self, info: Mapping[str, Any]) -> None:
        made_for = [value for key, value in info.items() if key.endswith(".context_length") and isinstance(value, int)]
        if made_for and made_for[0] < self.settings.context:
            raise BackendMisconfigured(
                f"{self.settings.served_as} was made for {made_for[0]} tokens, {self.settings.context} were asked for; "
                "set `context`"
            )

    async def _load(self) -> None:
        """An empty conversation loads the model, with the context that every later request has."""
        await self._finished([])

    async def _check_loaded(self) -> None:
        """Raises BackendUnavailable when the model is not loaded (any more), or with less than was asked for."""
        running = await self._ask(self._client.ps())
        wanted = _tagged(self.settings.served_as)
        found = next((card for card in running.models if _tagged(card.model or card.name or "") == wanted), None)
        if found is None:
            raise BackendUnavailable(f"Ollama has unloaded {self.settings.served_as}")
        if found.context_length is not None and 0 < found.context_length < self.settings.context:
            raise BackendUnavailable(
                f"Ollama gives each conversation {found.context_length} tokens, {self.settings.context} were asked for"
            )

    async def _warm(self) -> None:
        if not self._prefix:
            return
        with suppress(BackendError):  # a server that is gone is found by the next look
            await self._finished(chat(Request((Turn("user", "."),), self._prefix), prefill=False))
            self.warmed.set()

    async def _finished(self, messages: list[Message]) -> None:
        """Ask for one token and wait for it."""
        asked = body(self.settings, messages, max_tokens=1)
        async with aclosing(self._parts(asked, self.settings.load_timeout_s)) as parts:
            async for _ in parts:
                pass

    async def _ask(self, work: Any) -> Any:
        from serving.backends.ollama_client import asked

        return await asked(work, _LOOK_S, self.settings.served_as)


def _client(settings: OllamaSettings) -> "OllamaClient":
    try:
        from serving.backends.ollama_client import OllamaClient
    except ImportError:
        raise BackendMisconfigured("Ollama needs the `ollama` extra: pip install 'crisis-support[ollama]'") from None
    return OllamaClient(settings.url, key=settings.key, connect_s=settings.connect_s)


def _tagged(name: str) -> str:
    """Ollama's full name of a model: without a tag it means the latest."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
