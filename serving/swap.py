"""Changes the chain while the service answers: the new one is made beside the old, loaded, checked, and takes over.

  places are made -> do they fit beside the old? - yes -> loaded, warmed, checked -> they take over; the old are
                     no: the old are closed first,   /                               drained and closed
                         the rest answers meanwhile
  whatever fails: what ran before goes on, or is loaded again, and one line says why

Places that did not change keep their running engine.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypeGuard

from models.catalogue import Catalogue, ModelError
from serving.beside import GgufEntry, ports
from serving.lineup import Lineup, Place, Row
from serving.service import Service
from serving.settings import ChainEntry, ClaudeEntry, LlamaEntry, LlamaServerEntry, OllamaEntry, OpenAIEntry, Settings
from serving.swap_log import Outcome
from serving.warmup import PATIENCE, WarmUpFailed, load, protocol_check
from serving.workshop import Workshop

SWAPPING = "swapping"
"""What replies say in `degraded` while the old local model is gone and the new one is not there yet."""

AT_START = ("server", "log_level", "log_format", "records", "telemetry")
"""Settings that are no part of a change: they are read when the service starts."""

_ELSEWHERE = (ClaudeEntry, OpenAIEntry, OllamaEntry)
Say = Callable[[str], None]
"""Told what is being done."""


class SwapFailed(Exception):
    """A change cannot be made. The message is one line: what, where, why."""


class Change:
    """From the lineup that answers to the one that the settings ask for: make, carry_out, clean_up, in this order."""

    def __init__(self, service: Service, workshop: Workshop, new: Lineup, cards: Catalogue, say: Say) -> None:
        self._service = service
        self._workshop = workshop
        self._cards = cards
        self._say = say
        self._old, self._new = service.lineup, new
        self._fresh = _without(new.everything, self._old.everything)
        self._leaving = _without(self._old.everything, new.everything)
        self._past = [self._old]
        self._closed: list[Place] = []

    @property
    def before(self) -> Settings:
        """What the old lineup was made from."""
        return self._old.settings

    @property
    def patience_s(self) -> float:
        """How long open replies may take to end."""
        return self.before.server.shutdown_s

    @classmethod
    async def make(cls, service: Service, workshop: Workshop, settings: Settings, say: Say) -> Self:
        """Nothing is begun yet. Raises SwapFailed for settings that name what cannot be used."""
        cards = await asyncio.to_thread(_cards, workshop, settings)
        new = await asyncio.to_thread(_lined_up, workshop, settings, cards, service.lineup.everything)
        change = cls(service, workshop, new, cards, say)
        change._require_usable()
        return change

    async def carry_out(self) -> tuple[Outcome, str]:
        """The outcome, and what the operator should know. Raises SwapFailed, with the old lineup answering again."""
        if self._same():
            return "unchanged", ""
        try:
            if await self._must_make_way():
                await self._make_way()
            notes = [note for place in self._fresh if place.usable and (note := await self._warmed(place))]
        except Exception as error:  # noqa: BLE001 - whatever it was, what ran before has to come back
            problem = await self._undo()
            raise SwapFailed("; ".join(filter(None, (_one_line(error), problem)))) from None
        self._service.take(self._new)
        return "swapped", "; ".join(notes)

    async def clean_up(self) -> None:
        """Let the replies end that are open on what was there before, for a bounded time; then close what nobody asks
        any more."""
        for lineup in self._past:
            if lineup is not self._service.lineup:
                await lineup.drained(self.patience_s)
        for place in _without(self._leaving, self._service.lineup.everything):
            await self._service.end(place)

    # before

    def _require_usable(self) -> None:
        """An entry that is off for the same reason as before is no part of this change."""
        known = [(place.entry, place.link.status.reason) for place in self._old.everything if not place.usable]
        for place in self._fresh:
            status = place.link.status
            if not place.usable and not _off_by_choice(place) and (place.entry, status.reason) not in known:
                raise SwapFailed(f"chain entry {status.name} ({status.model}): {status.reason}")
        if _answering(self._old) and not _answering(self._new):
            raise SwapFailed("no entry of the new [[chain]] could answer; to go on without any model, start anew")
        if self._new.problem and self._new.problem != self._old.problem:
            raise SwapFailed(f"filter.judge: {self._new.problem}")

    def _same(self) -> bool:
        old, new = self._old, self._new
        alike = [_alike(one, other) for one, other in zip(old.rows, new.rows, strict=False)]
        return (
            len(old.rows) == len(new.rows)
            and all(alike)
            and old.more == new.more
            and _about_replies(old.settings) == _about_replies(new.settings)
        )

    async def _must_make_way(self) -> bool:
        """Whether the old local models have to go before the new ones can come."""
        coming = [place for place in self._fresh if place.usable and _here(place.entry)]
        going = [place for place in self._leaving if place.usable and _here(place.entry)]
        if not coming or not going:
            return False
        self._say("looking whether both fit")
        entries = [place.entry for place in coming if _weighable(place.entry)]
        if len(entries) < len(coming) or ports(entries) & ports(p.entry for p in going if _weighable(p.entry)):
            return True
        settings = self._new.settings
        return not await asyncio.to_thread(self._workshop.fits_beside, entries, settings, self._cards)

    # the way over

    async def _make_way(self) -> None:
        """Close the local places that go. The rest of the old chain answers from now on."""
        closing = [place for place in self._leaving if place.usable and _here(place.entry)]
        self._say(f"both do not fit: closing {_names(closing)}")
        interim = self._over_old(dict.fromkeys(closing), marks=(SWAPPING,))
        self._past.append(interim)
        self._service.take(interim)
        await self._old.drained(self.patience_s)
        for place in closing:
            self._closed.append(place)
            await self._service.end(place)

    async def _warmed(self, place: Place) -> str:
        """Begin a new place and have it show that it can answer. Returns a note, "" for none."""
        status, settings = place.link.status, self._new.settings
        self._say(f"loading {status.name} ({status.model})")
        try:
            await self._service.begin(place)
            await load(place)
            if not place.answers or place.link.backend is None:
                return ""
            self._say(f"checking {status.name} ({status.model})")
            names = frozenset() if place.approved else frozenset((status.name,))
            took_s = await protocol_check(
                place.link.backend,
                lambda backend: self._workshop.responder(settings, [backend], unapproved=names, patience=PATIENCE),
            )
        except WarmUpFailed as error:
            raise SwapFailed(f"chain entry {status.name} ({status.model}): {error}") from None
        limit_s = settings.reply.first_text_s
        return "" if took_s <= limit_s else f"{status.name} took {took_s:.1f} s to its first text; allowed: {limit_s:g}"

    async def _undo(self) -> str:
        """End what is new, and load again what was closed for it. Returns what is wrong even then, "" for nothing."""
        for place in self._fresh:
            await self._service.end(place)
        self._service.take(self._old)
        if not self._closed:
            return ""
        self._say(f"loading {_names(self._closed)} again")
        again = {place: await asyncio.to_thread(self._again, place) for place in self._closed}
        self._service.take(self._over_old(again))
        return "; ".join([problem for place in again.values() if (problem := await self._back(place))])

    async def _back(self, place: Place) -> str:
        try:
            await self._service.begin(place)
            await load(place)
        except WarmUpFailed as error:
            return f"{place.entry.name} did not come back: {error}"
        return ""

    def _again(self, place: Place) -> Place:
        settings = self._old.settings
        return self._workshop.place(place.entry, settings, self._workshop.cards(settings), answers=place.answers)

    def _over_old(self, instead: Mapping[Place, Place | None], marks: Sequence[str] = ()) -> Lineup:
        """The old lineup with other places (or none) in the place of some."""
        rows: list[Row] = []
        for row in self._old.rows:
            put = instead.get(row, row) if isinstance(row, Place) else row
            rows += [] if put is None else [put]
        guards = [put for guard in self._old.more if (put := instead.get(guard, guard)) is not None]
        settings = self._old.settings
        cards = self._workshop.cards(settings)
        return self._workshop.lineup(settings, cards, rows, guard=guards[0] if guards else None, marks=marks)


def _cards(workshop: Workshop, settings: Settings) -> Catalogue:
    """Strictly: a catalogue that cannot be used is a change that cannot be made."""
    try:
        return workshop.catalogue or Catalogue.load(settings.catalogue)
    except ModelError as error:
        raise SwapFailed(str(error)) from None


def _lined_up(workshop: Workshop, settings: Settings, cards: Catalogue, keeping: Sequence[Place]) -> Lineup:
    places = workshop.places(settings, cards, keeping)
    return workshop.lineup(settings, cards, places, guard=workshop.guard(settings, cards, keeping))


def _answering(lineup: Lineup) -> bool:
    return any(place.usable for place in lineup.places)


def _without(places: Sequence[Place], others: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(place for place in places if place not in others)


def _alike(one: Row, other: Row) -> bool:
    """The same place, or one that was off and still is for the same reason."""
    if one is other:
        return True
    both_off = isinstance(one, Place) and isinstance(other, Place) and not one.usable and not other.usable
    return both_off and one.entry == other.entry and one.link.status == other.link.status  # type: ignore[union-attr]


def _about_replies(settings: Settings) -> dict[str, object]:
    """What a swap can change: everything but where the service listens and how much it logs."""
    return {name: value for name, value in settings if name not in AT_START}


def _off_by_choice(place: Place) -> bool:
    return isinstance(place.entry, ClaudeEntry) and not place.entry.enabled


def _here(entry: ChainEntry) -> bool:
    """Whether its model takes memory of this machine, in a process that we start."""
    reached = isinstance(entry, LlamaServerEntry) and entry.url is not None
    return not isinstance(entry, _ELSEWHERE) and not reached


def _weighable(entry: ChainEntry) -> TypeGuard[GgufEntry]:
    return isinstance(entry, LlamaEntry | LlamaServerEntry)


def _names(places: Sequence[Place]) -> str:
    return ", ".join(place.entry.name for place in places)


def _one_line(error: Exception) -> str:
    told = isinstance(error, SwapFailed | ModelError)
    return " ".join(str(error).split()) if told else f"the change itself broke with {type(error).__name__}"
