"""Builds the service from settings, in one place.

A chain entry that cannot be used (links.py) is left out with its reason; the rest of the chain answers, and in the end
the static replies do.
"""

from collections.abc import Sequence

from models.catalogue import Catalogue
from prompts.protocol import protocol_prefix, urgent_notes
from serving.backend import Backend
from serving.respond import Responder
from serving.second_opinion import SecondOpinion
from serving.service import Service
from serving.settings import BrokenEntry, FilterSettings, LlamaEntry, Settings
from serving.workshop import Workshop, in_places

DEMO_MODEL = "smollm2-135m-instruct-q4_1"


def build(settings: Settings, catalogue: Catalogue | None = None, *, broken: Sequence[BrokenEntry] = ()) -> Service:
    """The whole service, not yet started. Never fails for a chain entry that cannot be used; `broken` are those that
    could not even be read, to be told of in their places."""
    return built_in(Workshop.open(catalogue), settings, broken)


def built_in(workshop: Workshop, settings: Settings, broken: Sequence[BrokenEntry] = ()) -> Service:
    """The same from a workshop that goes on to make lineups for this service (swap.py)."""
    cards = workshop.cards(settings)
    rows = in_places(workshop.places(settings, cards), broken)
    lineup = workshop.lineup(settings, cards, rows, guard=workshop.guard(settings, cards))
    notes = urgent_notes(language=settings.reply.default_language)
    return Service(lineup, warm_prefix=protocol_prefix(), warm_rest=notes)


def build_responder(
    settings: Settings,
    backends: Sequence[Backend] = (),
    *,
    unapproved: frozenset[str] = frozenset(),
    opinion: SecondOpinion | None = None,
) -> Responder:
    """The respond pipeline over these backends, the static one last; without backends it needs no model at all."""
    return Workshop.open().responder(settings, backends, unapproved=unapproved, opinion=opinion)


def demo_settings(settings: Settings) -> Settings:
    """The settings with the embedded demo model as the whole chain, and with time for a small machine to read."""
    entry = LlamaEntry(engine="llama_cpp", name="demo", model=DEMO_MODEL, context=4096)
    reply = settings.reply.model_copy(
        update={"first_text_s": max(8.0, settings.reply.first_text_s), "between_s": max(6.0, settings.reply.between_s)}
    )
    update = {"chain": (entry,), "allow_unapproved": True, "reply": reply, "filter": FilterSettings()}
    return settings.model_copy(update=update)
