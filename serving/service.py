"""The service as the HTTP face and the command see it: the pipeline, its engines' lives, and what is ready."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from safety_filter.check import FilterResult
from safety_filter.helplines import Resources
from serving.admission import Admits, everyone
from serving.conversation import Conversation
from serving.events import Event
from serving.lineup import Lineup, Place, close
from serving.status import LinkStatus, next_step
from serving.supervision import Engine
from serving.swap_log import SwapLog
from shield.assessment import Assessment, Turn


class Service:
    """Start it, ask it, stop it. Starting waits for no weights: until they are loaded the chain answers without.

    Its lineup can be exchanged while it answers (swap.py): a reply ends on the lineup that it began on.
    """

    def __init__(self, lineup: Lineup, *, warm_prefix: str = "", warm_rest: str = "") -> None:
        self.lineup = lineup
        self.swaps = SwapLog()
        self._warm = (warm_prefix, warm_rest)
        self._begun: list[Place] = []

    @property
    def demo(self) -> bool:
        return self.lineup.demo

    @property
    def default_country(self) -> str | None:
        return self.lineup.default_country

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those of the lineup that answers now."""
        return tuple(place.link.engine for place in self.lineup.everything if place.link.engine is not None)

    async def start(self) -> None:
        """Starts every engine in the background."""
        for place in self.lineup.everything:
            await self.begin(place)

    async def stop(self) -> None:
        """Ends every engine's process and closes every client's connections, those of an unfinished swap too."""
        await asyncio.gather(*map(self.end, tuple(self._begun)), return_exceptions=True)

    async def begin(self, place: Place) -> None:
        """Start what the place runs, in the background."""
        self._begun.append(place)
        if place.link.engine is not None:
            if place.answers:
                await place.link.engine.warm(*self._warm)
            await place.link.engine.start()

    async def end(self, place: Place) -> None:
        """End what was begun for the place; returns when it is gone."""
        await close(place)
        if place in self._begun:
            self._begun.remove(place)

    def take(self, lineup: Lineup) -> None:
        """From now on this lineup answers. Nothing is begun or ended here."""
        self.lineup = lineup

    async def respond(self, conversation: Conversation, *, admits: Admits = everyone) -> AsyncIterator[Event]:
        """assessment, resources, sentence…, done."""
        lineup = self.lineup
        with lineup.reply():
            async with aclosing(lineup.responder.respond(conversation, admits=admits)) as events:  # type: ignore[type-var] # a generator
                async for event in events:
                    yield event

    def overloaded(self, conversation: Conversation, *, why: str = "overload") -> AsyncIterator[Event]:
        return self.lineup.responder.overloaded(conversation, why=why)

    def assess(self, turns: Sequence[Turn]) -> Assessment:
        return self.lineup.responder.assess(turns)

    def filter(self, user: str, reply: str, *, country: str | None = None, language: str | None = None) -> FilterResult:
        return self.lineup.responder.filter(user, reply, country=country, language=language)

    def resources(self, country: str | None, language: str | None) -> Resources:
        return self.lineup.responder.resources(country, language)

    def links(self) -> tuple[LinkStatus, ...]:
        """Every chain entry as it stands now."""
        return self.lineup.statuses()

    def swap_counts(self) -> Mapping[str, int]:
        """How many changes of the chain came out how."""
        return self.swaps.counts

    def ready(self) -> dict[str, Any]:
        """For /readyz: the service always answers; `answers_from` says with what."""
        links = self.links()
        first = next((link for link in links if link.state == "ready"), None)
        source = "static" if first is None else "claude" if first.engine == "claude" else "local"
        return {
            "ready": True,
            "answers_from": source,
            "demo": self.demo,
            "chain": [link.to_json() for link in links],
            "next_step": next_step(links, demo=self.demo),
            "swap": self.swaps.to_json(),
        }
