"""Any server with OpenAI's chat interface: vLLM, SGLang, LM Studio, LiteLLM, llama.cpp. The way to another machine.

It is watched like an engine of our own: while its model is not listed, stream() raises BackendUnavailable at once.
Nothing of a person's text or of the key stands in an error or a log.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendUnavailable,
    PrefillRejected,
    Request,
)
from serving.backends.openai_reply import WHO, Reading, likeliest
from serving.backends.openai_request import FIXED, OpenAISettings, body, question
from serving.backends.reported import Refusals
from serving.backends.served import ServedBackend
from serving.backends.wire import Answer, Wire, parsed_event
from serving.classification import Classification, by_text, classified

logger = logging.getLogger("crisis")

_LOOK_S = 10.0
_DONE = "[DONE]"


class OpenAIBackend(ServedBackend[OpenAISettings]):
    """One model of one server. `aclose` and `close` end its connections. Raises BackendMisconfigured."""

    def __init__(
        self, *, name: str, model: str, settings: OpenAISettings, refusals: Refusals, source: str = "local"
    ) -> None:
        if wrong := FIXED & settings.extra.keys():
            raise BackendMisconfigured(f"{name}: extra may not set {', '.join(sorted(wrong))}")
        super().__init__(name=name, model=model, settings=settings, refusals=refusals, source=source)
        self.warmed.set()
        self._wire = Wire(settings.url, who=WHO, key=settings.key, connect_s=settings.connect_s)

    async def warm(self, prefix: str, rest: str = "") -> None:
        """Nothing: what such a server keeps evaluated is its own affair, and each warming might cost money."""

    async def close(self) -> None:
        """End the watching and the connections that are kept."""
        await self._supervisor.close()
        await self._wire.aclose()

    async def classify(self, request: Request, labels: Sequence[str]) -> Classification:
        """Which of the labels the model would answer with, of the 20 likeliest next tokens that the server tells."""
        asked, _ = self._fitted(request)
        async with self._place_taken():
            limit_s = self.settings.read_timeout_s
            answer = await self._wire.post("/chat/completions", question(asked, self.settings), timeout_s=limit_s)
        return classified(by_text(labels, likeliest(answer)), who=self.name)

    # one request

    async def _texts(self, request: Request, dropped: int) -> AsyncGenerator[str, None]:
        limit_s = self.settings.read_timeout_s
        answer = await self._asked(request, limit_s)
        reading = Reading(limit_s)
        try:
            while (data := await answer.next(reading.patience_s())) not in (None, _DONE):
                if text := reading.take(parsed_event(str(data), WHO)):
                    yield text
        finally:
            await answer.aclose()
        self.stats = reading.usage(dropped)
        request.cost(self.stats.n_prompt, self.stats.n_generated)

    async def _asked(self, request: Request, limit_s: float) -> Answer:
        """Raises BackendError. A server that turns out to reject a prefill gets none from then on."""
        asked = body(request, self.settings)
        prefilled = self.settings.prefill != "off"
        try:
            return await self._wire.stream("/chat/completions", asked, timeout_s=limit_s)
        except PrefillRejected as error:
            failure: BackendError = error if prefilled else BackendMisconfigured(str(error))
        if prefilled:
            self.settings = replace(self.settings, prefill="off")
            logger.warning("%s (%s) takes no prefill: from now on it is told of the beginning", self.name, self.model)
        raise failure

    # watching it

    async def _live(self) -> str:
        try:
            self._supervisor.ready(await self._met())
            while True:
                await asyncio.sleep(self.settings.look_s)
                await self._met()
        except BackendError as error:
            return str(error)

    async def _met(self) -> str:
        """What is there. Raises BackendError when it is not, or must not be used."""
        try:
            listed = await self._wire.get("/models", timeout_s=_LOOK_S)
        except BackendMisconfigured as error:
            if "no such" not in str(error):
                raise
            return "it lists no models"  # some gateways have no such page; the first request will tell
        cards = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(cards, list):
            raise BackendUnavailable(f"{WHO} lists its models in a way that cannot be read")
        names = {str(card.get("id")): card for card in cards if isinstance(card, dict)}
        wanted = self.settings.served_as
        if wanted not in names:
            raise BackendMisconfigured(f"{WHO} does not serve {wanted}, but {_some(names)}; set `served_as`")
        card = names[wanted]
        if why := self._refusals.why(_names_of(card)):
            raise BackendMisconfigured(why)
        self._check_context(card)
        return f"{wanted} is served"

    def _check_context(self, card: Mapping[str, Any]) -> None:
        meta = card.get("meta")
        given = card.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
        if isinstance(given, int) and 0 < given < self.settings.context:
            raise BackendMisconfigured(
                f"{WHO} gives each conversation {given} tokens, {self.settings.context} were asked for; set `context`"
            )


def _names_of(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Every name a server gives the model: vLLM tells the weights it stands for in `root` and `parent`."""
    aliases = card.get("aliases")
    named = [card.get(key) for key in ("id", "root", "parent", "architecture", "arch")]
    return tuple(str(name) for name in (*named, *(aliases if isinstance(aliases, list) else ())) if name)


def _some(names: Mapping[str, Any]) -> str:
    shown = ", ".join(list(names)[:5])
    return shown[:200] or "nothing"
