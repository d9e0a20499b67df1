"""Builds the service from settings, in one place: the only module that knows every concrete class.

A chain entry that cannot be used (a refused or unapproved model, missing weights, no key) is left out with its reason;
the rest of the chain answers, and in the end the static replies do.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.catalogue import Catalogue, ModelCard, ModelError, require_allowed
from models.weights import locate, verify
from prompts.protocol import protocol_prefix
from prompts.wording import Wording
from safety_filter.helplines import Helplines
from safety_filter.proven import Proven
from safety_filter.review import Reviewer
from serving.backend import Backend, BackendMisconfigured
from serving.backends.claude import ClaudeBackend
from serving.backends.led import LedBackend
from serving.backends.static import StaticBackend
from serving.chain import Chain, Deadlines
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.respond import Composer, ReplyOptions, Responder
from serving.service import Service
from serving.settings import ClaudeEntry, LlamaEntry, Settings, data_folder
from serving.status import LinkStatus
from shield.detect import Detector

DEMO_MODEL = "smollm2-135m-instruct-q4_1"


@dataclass(frozen=True, slots=True)
class Link:
    """A chain entry as it came out: its backend, or None with the reason why it is not asked."""

    status: LinkStatus
    backend: Backend | None
    engine: LlamaEngine | None = None


def build(settings: Settings, catalogue: Catalogue | None = None) -> Service:
    """The whole service, not yet started. Never fails for a chain entry that cannot be used."""
    cards = catalogue or Catalogue.load()
    links = [_link(entry, settings, cards) for entry in settings.chain]
    usable = [link.backend for link in links if link.backend is not None]
    unapproved = _unapproved(settings, cards, links)
    held = settings.reply.generated_text == "hold"
    return Service(
        responder=build_responder(settings, [] if held else usable, unapproved=unapproved),
        engines=tuple(link.engine for link in links if link.engine is not None),
        clients=tuple(link.backend for link in links if isinstance(link.backend, ClaudeBackend)),
        links=tuple(link.status for link in links),
        warm_prefix=protocol_prefix(),
        demo=bool(unapproved),
        default_country=settings.reply.default_country,
    )


def build_responder(
    settings: Settings, backends: Sequence[Backend] = (), *, unapproved: frozenset[str] = frozenset()
) -> Responder:
    """The respond pipeline over these backends, the static one last; without backends it needs no model at all."""
    wording = Wording.load()
    static = StaticBackend(wording)
    reply = settings.reply
    deadlines = Deadlines(reply.first_text_s, reply.between_s, reply.total_s)
    options = ReplyOptions(
        gospel=reply.gospel,
        quiet_line=reply.quiet_line,
        default_country=reply.default_country,
        default_language=reply.default_language,
        max_tokens_chat=reply.max_tokens_chat,
        max_tokens_sms=reply.max_tokens_sms,
        always_degraded=_always(settings, backends, demo=bool(unapproved)),
        unapproved=unapproved,
    )
    composer = Composer(Detector.load(), Reviewer.load(), Helplines.load(), wording, Proven.load(), options)
    return Responder(composer, Chain([*backends, static], deadlines), Chain([static], deadlines))


def demo_settings(settings: Settings) -> Settings:
    """The settings with the embedded demo model as the whole chain, and with time for a small machine to read."""
    entry = LlamaEntry(engine="llama_cpp", name="demo", model=DEMO_MODEL, context=4096)
    reply = settings.reply.model_copy(
        update={"first_text_s": max(8.0, settings.reply.first_text_s), "between_s": max(6.0, settings.reply.between_s)}
    )
    return settings.model_copy(update={"chain": (entry,), "allow_unapproved": True, "reply": reply})


def _always(settings: Settings, backends: Sequence[Backend], *, demo: bool) -> tuple[str, ...]:
    marks = ["demo-model"] if demo else []
    if settings.reply.generated_text == "hold":
        marks.append("generated-text-held")
    elif not backends:
        marks.append("no-model")
    return tuple(marks)


def _unapproved(settings: Settings, cards: Catalogue, links: Sequence[Link]) -> frozenset[str]:
    """The names of usable entries whose model nobody approved for people."""
    return frozenset(
        entry.name
        for entry, link in zip(settings.chain, links, strict=True)
        if link.backend is not None and isinstance(entry, LlamaEntry) and cards.get(entry.model).status != "approved"
    )


def _link(entry: LlamaEntry | ClaudeEntry, settings: Settings, cards: Catalogue) -> Link:
    status = LinkStatus(entry.name, entry.engine, entry.model, "off", "")
    try:
        if isinstance(entry, ClaudeEntry):
            return _claude(entry, settings, status)
        return _llama(entry, settings, cards, status)
    except (ModelError, BackendMisconfigured) as error:
        return Link(status.because(str(error)), None)


def _llama(entry: LlamaEntry, settings: Settings, cards: Catalogue, status: LinkStatus) -> Link:
    card = cards.get(entry.model)
    require_allowed(card, allow_unapproved=settings.allow_unapproved)
    path = locate(card, weights_dir=weights_dir(settings), path=entry.path)
    verify(path, card)
    engine = LlamaEngine(name=entry.name, model=card.name, settings=_llama_settings(entry, card, path))
    backend = engine if card.status == "approved" else LedBackend(engine)
    return Link(status, backend, engine)


def _llama_settings(entry: LlamaEntry, card: ModelCard, path: Path) -> LlamaSettings:
    return LlamaSettings(
        model_path=path,
        context=entry.context,
        threads=entry.threads,
        gpu_layers=entry.gpu_layers,
        flash_attention=entry.flash_attention,
        batch=entry.batch,
        queue=entry.queue,
        system_role=card.system_role,
        stop=card.stop,
        sampling=_sampling(card),
        start_timeout_s=entry.start_timeout_s,
        stall_s=entry.stall_s,
        memory_limit_bytes=entry.memory_limit_mib * 2**20 if entry.memory_limit_mib else None,
    )


def _sampling(card: ModelCard) -> Sampling:
    """The catalogue's sampling for this model over the defaults; whole numbers where they are counted."""
    plain: dict[str, Any] = asdict(Sampling())
    counted = ("top_k", "repeat_last", "seed")
    given = {name: int(value) if name in counted else value for name, value in card.sampling.items() if name in plain}
    return Sampling(**plain | given)


def _claude(entry: ClaudeEntry, settings: Settings, status: LinkStatus) -> Link:
    if not entry.enabled:
        return Link(status.because("enabled = false: it would send a person's words to Anthropic"), None)
    key = entry.api_key.get_secret_value() or settings.anthropic_api_key.get_secret_value()
    if not key:
        return Link(status.because("no key: set CRISIS_ANTHROPIC_API_KEY"), None)
    backend = ClaudeBackend(
        name=entry.name,
        model=entry.model,
        api_key=key,
        base_url=entry.base_url,
        connect_timeout_s=entry.connect_timeout_s,
    )
    return Link(status, backend)


def weights_dir(settings: Settings) -> Path:
    """Where weights are looked for."""
    return settings.weights_dir or data_folder() / "weights"
