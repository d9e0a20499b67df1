"""Opens the subjects of an evaluation by their names, each with engines of its own.

service        the whole path, with the whole chain of the settings
service:NAME   the whole path, with the entry NAME and the static replies behind it
static         the whole path without any model
NAME           the entry itself, raw: the model with the prompt eval/prompts/raw-1.md and nothing around it

SubjectError   no such subject, or it cannot be used: says why
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from eval.subjects import RawSubject, ServiceSubject, Subject
from eval.transcripts import Answering
from models.catalogue import Catalogue
from safety_filter.helplines import Helplines
from serving.backend import Backend, BackendUnavailable
from serving.links import make_link
from serving.service import Service
from serving.settings import ChainEntry, ClaudeEntry, Settings
from serving.status import LinkStatus
from serving.wiring import build
from shield.assessment import Turn

READY_S = 300.0


class SubjectError(ValueError):
    """A subject cannot be evaluated."""


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens subjects by these settings; each has engines of its own, which end with it."""

    settings: Settings

    def check(self, names: Sequence[str]) -> None:
        """Raises SubjectError for a name that nothing bears."""
        for name in names:
            if name not in ("service", "static"):
                self._entry(name.removeprefix("service:"))

    @asynccontextmanager
    async def __call__(self, name: str, seed: int) -> AsyncGenerator[Subject, None]:
        """The subject, loaded. Raises SubjectError where its model cannot be used."""
        chosen = self._settings(name)
        cards = seeded(Catalogue.tolerant(chosen.catalogue), seed)
        service = build(chosen, cards)
        await service.start()
        try:
            await _loaded(service)
            service.assess((Turn("user", "Hello."),))  # what is loaded at the first message, is loaded before it
            yield self._subject(name, chosen, cards, service)
        finally:
            await service.stop()

    def _settings(self, name: str) -> Settings:
        if name == "service":
            return self.settings
        chain = () if name == "static" else (self._entry(name.removeprefix("service:")),)
        return self.settings.model_copy(update={"chain": chain})

    def _entry(self, name: str) -> ChainEntry:
        found = next((entry for entry in self.settings.chain if entry.name == name), None)
        if found is None:
            known = ", ".join(["service", "static", *(entry.name for entry in self.settings.chain)])
            raise SubjectError(f"no chain entry is called {name!r}; there are {known}, and service:NAME")
        return found

    def _subject(self, name: str, chosen: Settings, cards: Catalogue, service: Service) -> Subject:
        links = service.links()
        if name not in ("service", "static") and links[0].state != "ready":
            raise SubjectError(f"{links[0].name} cannot be used: {links[0].reason or links[0].state}")
        if name == "static" or name.startswith("service"):
            return ServiceSubject(_about(name, links), service.respond)
        (entry,) = chosen.chain
        about = Answering(name, "raw", model=entry.model, engine=entry.engine, chain=(name,))
        return RawSubject(about, _backend(entry, chosen, cards, service), Helplines.load())


def _about(name: str, links: Sequence[LinkStatus]) -> Answering:
    """The whole path, named after the first entry that is there."""
    ready = [link for link in links if link.state == "ready"]
    model, engine = (ready[0].model, ready[0].engine) if ready else ("static", "static")
    return Answering(name, "service", model, engine, chain=(*(link.name for link in ready), "static"))


def _backend(entry: ChainEntry, chosen: Settings, cards: Catalogue, service: Service) -> Backend:
    """The entry's engine itself, not led by the hand."""
    if not isinstance(entry, ClaudeEntry):
        return service.engines[0]
    link = make_link(entry, chosen, cards)
    if link.backend is None:
        raise SubjectError(f"{entry.name} cannot be used: {link.status.reason}")
    return link.backend


def seeded(cards: Catalogue, seed: int) -> Catalogue:
    """The catalogue with this seed in every model's sampling; engines that take one give the same text for it again."""
    every = [cards.get(name) for name in cards.names()]
    return Catalogue([replace(card, sampling={**card.sampling, "seed": seed}) for card in every], cards.complaint)


async def _loaded(service: Service) -> None:
    """Waits for the weights: an evaluation is of the model, not of its absence."""
    for engine in service.engines:
        try:
            await engine.wait_ready(READY_S)
            async with asyncio.timeout(READY_S):
                await engine.warmed.wait()
        except (BackendUnavailable, TimeoutError):
            continue  # what is missing is seen in the links
