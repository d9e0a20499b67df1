"""Engines that do what they are told to, and a workshop that makes them: swaps are tested without loading anything."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.catalogue import Catalogue
from serving.backend import BackendUnavailable, Request
from serving.lineup import Lineup, Place
from serving.links import Link
from serving.service import Service
from serving.settings import ChainEntry, LlamaEntry, ReplySettings, Settings
from serving.status import LinkStatus
from serving.supervision import State
from serving.worker.protocol import Usage
from serving.workshop import Workshop

GOOD = ("It sounds like you have carried this alone for a long time. ", "What happened today? ")


@dataclass(eq=False)
class FakeEngine:
    """says: its pieces, a number among them a pause in seconds. loads, warms: whether it ever does. story: what became
    of it, in order; shared with others where their order counts."""

    name: str
    model: str
    says: Sequence[str | float | Exception] = GOOD
    loads: bool = True
    warms: bool = True
    load_s: float = 0.0
    source: str = "local"
    story: list[str] = field(default_factory=list)
    state: State = "stopped"
    state_reason: str = "not started"
    stats: Usage = field(default_factory=Usage)
    warmed: asyncio.Event = field(default_factory=asyncio.Event)
    prefix: str = ""

    async def start(self) -> None:
        self.story.append(f"start {self.model}")
        self.state = "starting"

    async def wait_ready(self, timeout_s: float) -> None:
        await asyncio.sleep(self.load_s)
        if not self.loads:
            self.state = "failed"
            raise BackendUnavailable(f"{self.name}: the model file is damaged; tried again in 0.5 s")
        self.state, self.state_reason = "ready", "ready"
        if self.warms:
            self.warmed.set()

    async def warm(self, prefix: str, rest: str = "") -> None:
        self.prefix = prefix

    async def close(self) -> None:
        if self.state != "stopped":
            self.story.append(f"close {self.model}")
        self.state = "stopped"

    async def stream(self, request: Request) -> AsyncIterator[str]:
        if self.state != "ready":
            raise BackendUnavailable(f"{self.name}: {self.state_reason}")
        for piece in self.says:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            else:
                yield piece
            if self.state != "ready":
                raise BackendUnavailable(f"{self.name}: closed")


@dataclass(frozen=True, slots=True)
class FakeWorkshop(Workshop):
    """Makes FakeEngines. behaviour: by model, what its engine is made with; "off" makes a link without a backend."""

    behaviour: dict[str, dict[str, Any]] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    made: list[FakeEngine] = field(default_factory=list)
    room: list[bool] = field(default_factory=lambda: [True])

    def place(self, entry: ChainEntry, settings: Settings, cards: Catalogue, *, answers: bool = True) -> Place:
        told = self.behaviour.get(entry.model, {})
        status = LinkStatus(entry.name, entry.engine, entry.model, "off", "")
        facts = (cards.get(entry.model), settings.allow_unapproved, None)
        if "off" in told:
            return Place(entry, facts, Link(status.because(told["off"]), None))
        engine = FakeEngine(entry.name, entry.model, story=self.story, **told)
        self.made.append(engine)
        return Place(entry, facts, Link(status, engine, engine), answers=answers)

    def fits_beside(self, entries: Any, settings: Settings, cards: Catalogue) -> bool:
        return self.room[0]


def chain(*models: str, **reply: Any) -> Settings:
    """Settings whose entries are named after their places: first, second, …"""
    names = ("first", "second", "third")
    entries = tuple(LlamaEntry(engine="llama_cpp", name=n, model=m) for n, m in zip(names, models, strict=False))
    return Settings.model_construct(chain=entries, reply=ReplySettings(default_country="US", **reply))


def serving(workshop: FakeWorkshop, settings: Settings) -> Service:
    """A service on these settings, with every engine loaded, not started."""
    cards = workshop.cards(settings)
    lineup: Lineup = workshop.lineup(settings, cards, workshop.places(settings, cards))
    return Service(lineup, warm_prefix="protocol")
