"""Makes a lineup from settings: at the start, and again for each swap. Rules, words and helplines are read once."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from models.catalogue import Catalogue, ModelCard, ModelError
from models.weights import locate
from prompts.wording import Wording
from safety_filter.helplines import Helplines
from safety_filter.learned import LearnedJudge
from safety_filter.proven import Proven
from safety_filter.review import Reviewer
from serving.backend import Backend
from serving.backends.static import StaticBackend
from serving.beside import Load, fits_beside
from serving.chain import Chain
from serving.lineup import Lineup, Place, Row
from serving.links import make_guard, make_link
from serving.member import Deadlines, Member
from serving.model_stage import ModelStage, make_model_stage
from serving.respond import Composer, ReplyOptions, Responder
from serving.second_opinion import GUARD, SecondOpinion, make_second_opinion
from serving.settings import (
    BrokenEntry,
    ChainEntry,
    ClaudeEntry,
    LlamaEntry,
    LlamaServerEntry,
    LocalEntry,
    ReplySettings,
    Settings,
    TransformersEntry,
    weights_dir,
)
from serving.status import LinkStatus
from serving.transformers.folder import find
from shield.detect import Detector

_LOG = logging.getLogger("crisis")


@dataclass(frozen=True, slots=True)
class Workshop:
    """`rooms` are shared by every lineup; each has options and a judge of its own. catalogue: instead of the files'."""

    rooms: Composer
    catalogue: Catalogue | None = None

    @classmethod
    def open(cls, catalogue: Catalogue | None = None) -> Self:
        """Reads every rule and every word: some tenths of a second."""
        rooms = Composer(Detector.usable(_LOG.error), _reviewer(), Helplines.load(), Wording.load(), Proven.load())
        return cls(rooms, catalogue)

    def cards(self, settings: Settings) -> Catalogue:
        """The catalogue; an operator's own that cannot be used costs its own models only."""
        return self.catalogue or Catalogue.tolerant(settings.catalogue)

    def places(self, settings: Settings, cards: Catalogue, keeping: Sequence[Place] = ()) -> tuple[Place, ...]:
        """A place for each entry of the chain. Of `keeping`, those whose facts are the same go on as they are."""
        spare = [place for place in keeping if place.usable and place.answers]
        kept = [_kept(entry, settings, cards, spare) for entry in settings.chain]
        pairs = zip(settings.chain, kept, strict=True)
        return tuple(place or self.place(entry, settings, cards) for entry, place in pairs)

    def guard(self, settings: Settings, cards: Catalogue, keeping: Sequence[Place] = ()) -> Place | None:
        """The place of `[filter.guard]`, where the filter asks it."""
        entry = settings.filter.guard if settings.filter.judge == GUARD else None
        if entry is None:
            return None
        spare = [place for place in keeping if place.usable and not place.answers]
        return _kept(entry, settings, cards, spare) or self.place(entry, settings, cards, answers=False)

    def place(self, entry: ChainEntry, settings: Settings, cards: Catalogue, *, answers: bool = True) -> Place:
        """A new place for an entry; one that cannot be used has the reason in its link."""
        if answers or isinstance(entry, ClaudeEntry):
            link = make_link(entry, settings, cards)
        else:
            link = make_guard(entry, settings, cards)
        card, facts = card_of(entry, cards), _facts(entry, settings, cards)
        return Place(entry, facts, link, approved=card is None or card.status == "approved", answers=answers)

    def fits_beside(
        self, entries: Sequence[LlamaEntry | LlamaServerEntry], settings: Settings, cards: Catalogue
    ) -> bool:
        """Whether these models find room while everything that runs now goes on. What cannot be told counts as no."""
        try:
            known = [(entry, cards.get(entry.model)) for entry in entries]
            loads = [Load(entry, card, weights_of(entry, card, settings)) for entry, card in known]
        except ModelError:
            return False
        return fits_beside(loads)

    def lineup(
        self,
        settings: Settings,
        cards: Catalogue,
        rows: Sequence[Row],
        *,
        guard: Place | None = None,
        marks: Sequence[str] = (),
    ) -> Lineup:
        """The lineup over these rows. marks: what every reply says of itself in `degraded`."""
        places = [row for row in rows if isinstance(row, Place)]
        members = [member for place in places if (member := _member(place, settings.reply)) is not None]
        held = settings.reply.generated_text == "hold"
        opinion = make_second_opinion(settings, cards, [place.link for place in places], guard.link if guard else None)
        responder = self.responder(
            settings,
            [] if held else members,
            unapproved=frozenset(place.entry.name for place in places if place.usable and not place.approved),
            opinion=opinion,
            stage=make_model_stage(settings.shield, [place.link.engine for place in places if place.approved]),
            marks=marks,
        )
        more = () if guard is None else (guard,)
        return Lineup(responder, rows, more=more, settings=settings, problem=opinion.missing)

    def responder(
        self,
        settings: Settings,
        backends: Sequence[Backend | Member] = (),
        *,
        unapproved: frozenset[str] = frozenset(),
        opinion: SecondOpinion | None = None,
        stage: ModelStage | None = None,
        marks: Sequence[str] = (),
        patience: float = 1.0,
    ) -> Responder:
        """The respond pipeline over these backends, the static one last; without backends it needs no model at all.

        patience: how much longer than set a backend may take.
        """
        static, reply = StaticBackend(self.rooms.wording), settings.reply
        deadlines = Deadlines(*(patience * limit_s for limit_s in (reply.first_text_s, reply.between_s, reply.total_s)))
        missing = bool(opinion and opinion.missing)
        degraded = [*_always(settings, backends, demo=bool(unapproved), missing=missing), *marks]
        options = ReplyOptions(
            gospel=reply.gospel,
            quiet_line=reply.quiet_line,
            default_country=reply.default_country,
            default_language=reply.default_language,
            max_tokens_chat=reply.max_tokens_chat,
            max_tokens_sms=reply.max_tokens_sms,
            always_degraded=tuple(degraded),
            unapproved=unapproved,
        )
        judge = opinion.judge if opinion else None
        rooms = replace(self.rooms, options=options, judge=judge, model_stage=stage)
        return Responder(rooms, Chain([*backends, static], deadlines), Chain([static], deadlines))


def _member(place: Place, reply: ReplySettings) -> Member | None:
    """The place as the chain sees it; None where it has no backend. Its own deadlines go before those of [reply]."""
    if place.link.backend is None:
        return None
    own, limits = place.entry.deadlines, Deadlines(reply.first_text_s, reply.between_s, reply.total_s)
    return Member(place.link.backend, replace(limits, **own.model_dump(exclude_none=True)), place.link.circuit)


def in_places(places: Sequence[Place], broken: Sequence[BrokenEntry]) -> tuple[Row, ...]:
    """The rows of the chain with those that could not be read, each in its place."""
    rows: list[Row] = list(places)
    for entry in broken:  # in the order of their positions
        rows.insert(entry.position, LinkStatus(entry.name, entry.engine, entry.model, "off", entry.problem))
    return tuple(rows)


def _kept(entry: ChainEntry, settings: Settings, cards: Catalogue, spare: list[Place]) -> Place | None:
    """A place that runs already and would be made just so again; it is taken out of `spare`."""
    facts = _facts(entry, settings, cards)
    found = next((place for place in spare if place.entry == entry and place.facts == facts), None)
    if found is not None:
        spare.remove(found)
    return found


def _facts(entry: ChainEntry, settings: Settings, cards: Catalogue) -> tuple[object, ...]:
    """Everything beside the entry that a link is made from; a weights file by its size and time."""
    if isinstance(entry, ClaudeEntry):
        return (settings.anthropic_api_key,)
    card = card_of(entry, cards)
    return (card, settings.allow_unapproved, _file(entry, card, settings))


def _file(entry: LocalEntry, card: ModelCard | None, settings: Settings) -> tuple[object, ...] | None:
    try:
        path = weights_of(entry, card, settings) if card else None
        stat = path.stat() if path else None
    except (ModelError, OSError):
        return None
    return (path, stat.st_size, stat.st_mtime_ns) if stat else None


def weights_of(entry: LocalEntry, card: ModelCard, settings: Settings) -> Path:
    """The file, or the folder, of a local entry. Raises ModelError."""
    if isinstance(entry, TransformersEntry):
        return find(card, weights_dir=weights_dir(settings), named=entry.path)
    return locate(card, weights_dir=weights_dir(settings), path=getattr(entry, "path", None))


def card_of(entry: ChainEntry, cards: Catalogue) -> ModelCard | None:
    """What the catalogue knows of an entry's model; None for Claude, and for a name that it does not know."""
    if isinstance(entry, ClaudeEntry):
        return None
    try:
        return cards.get(entry.model)
    except ModelError:
        return None


def _always(settings: Settings, backends: Sequence[object], *, demo: bool, missing: bool) -> tuple[str, ...]:
    marks = (["demo-model"] if demo else []) + (["judge-missing"] if missing else [])
    if settings.reply.generated_text == "hold":
        marks.append("generated-text-held")
    elif not backends:
        marks.append("no-model")
    return tuple(marks)


def _reviewer() -> Reviewer:
    """The filter with its learned stage; with the rules alone where that cannot be had, said loudly."""
    try:
        return Reviewer.load(learned=LearnedJudge.load())
    except (ImportError, OSError, ValueError) as error:
        _LOG.error("the filter's learned stage cannot be used, the rules judge alone: %s", error)
        return Reviewer.load()
