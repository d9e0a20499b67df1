"""LlamaServerEngine: the backend that has llama.cpp's own server generate, several conversations at once.

The server is ours (started, watched, started again) or somebody else's (reached by its address). While it is not ready,
stream() raises BackendUnavailable at once, so that the chain can move on. States are those of serving/supervision.py.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from serving.backend import (
    BackendError,
    BackendMisconfigured,
    BackendNotReady,
    BackendRefused,
    BackendUnavailable,
    Request,
)
from serving.backends.continuing import CHARACTERS_PER_TOKEN
from serving.classification import Classification, classified, first_tokens, spellings
from serving.llama_server.client import Look, ServerClient
from serving.llama_server.prompts import RemotePrompts
from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.llama_server.sites import Site, make_site
from serving.llama_server.warming import Traffic, Warmer, warm_slots
from serving.places import Places
from serving.supervision import Supervised
from serving.worker.jobs import job_of
from serving.worker.protocol import Job, Usage
from serving.worker.template import ChatTemplate, TemplateRejected

_LIKELIEST = 100
"""Next tokens that are asked for when a request is classified: what comes after them is as good as impossible."""

_CELLS = 256
"""llama.cpp rounds the context of a conversation up to a multiple of this many tokens."""

RefuseReported = Callable[[tuple[str, ...], str], str | None]
"""Why a model of these reported names and this template may not answer; None when it may."""


def _refuse_nothing(_reported: tuple[str, ...], _template: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Server:
    """A server as it is being used: what it is, how to word requests for it, a place for each of its conversations, a
    folder where it may write."""

    client: ServerClient
    look: Look
    prompts: RemotePrompts
    places: Places
    states: Path | None


class LlamaServerEngine(Supervised):
    """One model, as many replies at a time as the server has slots; further requests wait in a bounded queue.

    refuse looks at what the server itself says of its model.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        settings: LlamaServerSettings,
        source: str = "local",
        refuse: RefuseReported = _refuse_nothing,
    ) -> None:
        super().__init__(name=name, model=model, source=source, pauses=settings.pauses)
        self.settings = settings
        self._refuse = refuse
        self._who = "llama-server"
        self._server: Server | None = None
        self._site: Site | None = None
        self._prefix = ("", "")
        self._warming: asyncio.Task[None] | None = None
        self._traffic = Traffic()
        self._last_id = 0

    @property
    def restarts(self) -> int:
        return self._supervisor.restarts

    @property
    def pid(self) -> int | None:
        """The process id of a server of our own; None when there is none."""
        return self._site.pid if self._site else None

    @property
    def waiting(self) -> int:
        """How many requests wait for a slot."""
        return self._server.places.waiting if self._server else 0

    @property
    def look(self) -> Look | None:
        """What the server is, while it can be used."""
        return self._server.look if self._server else None

    async def busy(self) -> int:
        """How many of the server's slots are at work. Raises BackendError."""
        return await self._ready_server().client.busy(self.settings.stall_s)

    async def start(self) -> None:
        """Begin loading, or looking for the server, in the background; returns at once."""
        ours = isinstance(self.settings.site, Launch)
        self._supervisor.start("loading the model" if ours else "looking for the server")

    async def warm(self, prefix: str, rest: str = "") -> None:
        """Have this beginning of the system text evaluated in every slot at each start; returns at once.

        `warmed` is set once it is done.
        """
        self._prefix = (prefix, rest)
        self._begin_warming()

    async def close(self) -> None:
        """End the server if it is ours; returns when its process is gone."""
        await self._supervisor.close()
        if self._site is not None:  # the cancellation may have come in the middle of its own closing
            await self._site.close()

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Pieces of the reply after request.prefix. Closing the iterator stops the model within a token."""
        server = self._ready_server()
        job = self._job(request)
        skip = not request.prefix or request.prefix[-1].isspace()
        async with self._place_taken(server, request), aclosing(self._reply(server, job, request)) as texts:
            async for text in texts:
                piece = text.lstrip() if skip else text
                skip = skip and not piece
                if piece:
                    yield piece

    async def classify(self, request: Request, labels: Sequence[str]) -> Classification:
        """Which of the labels the model would answer with. Takes a slot as a reply does."""
        server = self._ready_server()
        texts = [(label, text) for label in labels for text in spellings(label)]
        async with self._place_taken(server, request):
            prompt = await server.prompts.build(self._job(request))
            tokens = await server.client.tokens([text for _, text in texts], control=False)
            likely = dict(await server.client.likeliest(prompt, _LIKELIEST, timeout_s=self.settings.stall_s))
        spelt = [[found for (of, _), found in zip(texts, tokens, strict=True) if of == label] for label in labels]
        chances = {
            label: sum(math.exp(likely[token]) for token in group if token in likely)
            for label, group in zip(labels, first_tokens(spelt), strict=True)
        }
        return classified(chances, who=self.name)

    # one request

    async def _reply(self, server: Server, job: Job, request: Request) -> AsyncGenerator[str, None]:
        silent, room = False, job.max_tokens * CHARACTERS_PER_TOKEN
        try:
            async with aclosing(await self._asked(server, job)) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, str):
                        self.stats = piece
                        request.cost(piece.n_prompt, piece.n_generated)
                        silent = piece.n_generated == 0
                    elif room > 0:
                        yield piece[:room]
                        room -= len(piece)
                    else:
                        break
        except BackendUnavailable as error:
            fate = await self._fate(server)
            wait_s = None if fate else error.retry_after_s
            raise BackendUnavailable(f"{self.name}: {fate or error}", retry_after_s=wait_s) from None
        if silent:
            raise BackendRefused(f"{self.name}: an empty reply")

    async def _asked(self, server: Server, job: Job) -> AsyncGenerator[str | Usage, None]:
        return server.client.complete(
            await server.prompts.build(job),
            self.settings.sampling,
            max_tokens=job.max_tokens,
            stop=[mark for mark in (*self.settings.stop, *job.stop) if mark],
            timeout_s=self.settings.stall_s,
        )

    async def _fate(self, server: Server) -> str | None:
        """Why the server ended, where it did."""
        if self._server is not server:
            return self._gone()
        return await self._site.fate() if self._site else None

    def _ready_server(self) -> Server:
        self._supervisor.require_ready()
        if self._server is None:
            raise BackendNotReady(f"{self.name}: {self._gone()}")
        return self._server

    def _gone(self) -> str:
        """Why the server is not there: one that has just died is still called ready, until its supervisor says why."""
        return "the connection to llama-server broke" if self.state == "ready" else self.state_reason

    @asynccontextmanager
    async def _place_taken(self, server: Server, request: Request) -> AsyncIterator[None]:
        async with server.places.taken(request.level, patience_s=request.patience_s):
            if server is not self._server:  # the wait for a place may have been long
                raise BackendNotReady(f"{self.name}: {self.state_reason}")
            with self._traffic.entered():
                yield

    def _job(self, request: Request) -> Job:
        self._last_id += 1
        return job_of(request, self._last_id, who=self.name)

    # one life of a server

    async def _live(self) -> str:
        site: Site | None = None
        try:
            site = self._site = make_site(self.settings, self._who)
            await site.open()
            self._server = await self._met(site)
            self._supervisor.ready(f"llama.cpp {self._server.look.build}, {self._capacity(self._server.look)}")
            self._begin_warming()
            return await site.gone()
        except BackendError as error:
            return str(error)
        finally:
            self._server = None
            self.warmed.clear()
            if self._warming is not None:
                self._warming.cancel()
            if site is not None:
                await site.close()

    async def _met(self, site: Site) -> Server:
        look = await site.client.look()
        why = site.check(look) or self._refuse(look.reported, look.template) or self._too_small(look)
        if why is not None:
            raise BackendMisconfigured(why)
        try:
            template = ChatTemplate(look.template, bos=look.bos, eos=look.eos, system_role=self.settings.system_role)
        except TemplateRejected:
            raise BackendMisconfigured("the model's chat template does not take a plain conversation") from None
        prompts = RemotePrompts(
            template,
            lambda texts, control: site.client.tokens(texts, control=control),
            bos=await site.client.bos(),
            context=look.context,
            who=self.name,
        )
        places = Places(look.slots, queue=self.settings.queue, who=self.name)
        return Server(site.client, look, prompts, places, site.states)

    def _too_small(self, look: Look) -> str | None:
        """What the server gives less of than was asked for. More than the model was made for is no fault of its own."""
        asked = min(self.settings.context, look.context_trained)
        if look.context < asked:
            return f"{self._who} gives each conversation {look.context} tokens, {asked} were asked for"
        if look.slots < self.settings.parallel:
            return f"{self._who} has {look.slots} slots, {self.settings.parallel} were asked for"
        return None

    def _capacity(self, look: Look) -> str:
        asked = self.settings.context
        cut = f", all that the model was made for: {asked} were asked for" if look.context + _CELLS <= asked else ""
        return f"{look.slots} slots of {look.context} tokens{cut}"

    # the protocol

    def _begin_warming(self) -> None:
        self.warmed.clear()
        if self._warming is not None:
            self._warming.cancel()
        if self._prefix[0] and self._server is not None:
            self._warming = asyncio.get_running_loop().create_task(self._warm(self._server, *self._prefix))

    async def _warm(self, server: Server, text: str, rest: str) -> None:
        with suppress(BackendError):
            prefix = (await server.prompts.prefix(text, rest))[: server.look.context // 2]
            warmer = Warmer(server.client, prefix, server.states, self.settings.start_timeout_s)
            try:
                if await warm_slots(server.look.slots, warmer.warm, self._traffic):
                    self.warmed.set()
            finally:
                warmer.forget()
