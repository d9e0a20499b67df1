"""Makes the backend of each chain entry: the only module that knows every engine's class.

An entry that cannot be used (a refused or unapproved model, missing weights, no key, a missing extra) becomes a link
without a backend, with the reason.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from models.catalogue import Catalogue, ModelCard, ModelError, ModelNotAllowed, require_allowed
from models.weights import locate, verify
from serving import fit
from serving.backend import Backend, BackendMisconfigured
from serving.backends.claude import ClaudeBackend
from serving.backends.led import LedBackend
from serving.backends.ollama_chat import OllamaBackend
from serving.backends.ollama_request import OllamaSettings
from serving.backends.openai_chat import OpenAIBackend
from serving.backends.openai_request import OpenAISettings
from serving.backends.reported import Refusals
from serving.backends.wire import checked_url
from serving.circuit import Circuit
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.llama_server.binary import find_binary
from serving.llama_server.settings import Launch, LlamaServerSettings, Reach
from serving.settings import (
    ChainEntry,
    ClaudeEntry,
    LlamaEntry,
    LlamaServerEntry,
    LocalEntry,
    OllamaEntry,
    OpenAIEntry,
    RemoteEntry,
    Settings,
    SettingsError,
    TransformersEntry,
    cache_folder,
    weights_dir,
)
from serving.status import LinkStatus
from serving.supervision import Engine
from serving.transformers import folder, packages
from serving.transformers.engine import TransformersEngine
from serving.transformers.settings import TransformersSettings


@dataclass(frozen=True, slots=True)
class Link:
    """A chain entry as it came out: its backend, or None with the reason why it is not asked.

    circuit: whether the backend is asked at the moment. It lives as long as the backend does, over swaps too.
    """

    status: LinkStatus
    backend: Backend | None
    engine: Engine | None = None
    circuit: Circuit = field(default_factory=Circuit)


def make_link(entry: ChainEntry, settings: Settings, cards: Catalogue) -> Link:
    """The link of one chain entry. Never fails."""
    status = LinkStatus(entry.name, entry.engine, entry.model, "off", "")
    try:
        if isinstance(entry, ClaudeEntry):
            return _claude(entry, settings, status)
        card = cards.get(entry.model)
        require_allowed(card, allow_unapproved=settings.allow_unapproved)
        engine = _engine(entry, card, settings, cards)
        status = replace(status, notes=_fit(entry, card, settings))
    except (ModelError, BackendMisconfigured, SettingsError) as error:
        return Link(status.because(str(error)), None)
    return Link(status, engine if card.status == "approved" else LedBackend(engine), engine)


def make_guard(entry: LocalEntry, settings: Settings, cards: Catalogue) -> Link:
    """The link of `[filter.guard]`: a model that judges texts and never answers anybody. Never fails."""
    status = LinkStatus(entry.name, entry.engine, entry.model, "off", "")
    try:
        card = cards.get(entry.model)
        if card.purpose != "guard" or card.status == "refused":
            raise ModelNotAllowed(f"{card.name} is no guard model; crisis models list shows them")
        engine = _engine(entry, card, settings, cards)
    except (ModelError, BackendMisconfigured, SettingsError) as error:
        return Link(status.because(str(error)), None)
    return Link(status, engine, engine)


def _fit(entry: LocalEntry, card: ModelCard, settings: Settings) -> tuple[str, ...]:
    """Whether what we load ourselves fits, said before it is loaded."""
    if not isinstance(entry, LlamaEntry | LlamaServerEntry) or (isinstance(entry, LlamaServerEntry) and entry.url):
        return ()
    return fit.notes(entry, card, locate(card, weights_dir=weights_dir(settings), path=entry.path))


def _engine(entry: LocalEntry, card: ModelCard, settings: Settings, cards: Catalogue) -> Engine:
    match entry:
        case LlamaEntry():
            path = _weights(entry.path, card, settings)
            return LlamaEngine(name=entry.name, model=card.name, settings=_llama(entry, card, path))
        case LlamaServerEntry():
            return _llama_server(entry, card, settings, Refusals.of(cards))
        case TransformersEntry():
            held = _transformers(entry, card, settings, Refusals.of(cards))
            return TransformersEngine(name=entry.name, model=card.name, settings=held)
        case OpenAIEntry():
            made = _openai(entry, card)
            return OpenAIBackend(name=entry.name, model=card.name, settings=made, refusals=Refusals.of(cards))
        case OllamaEntry():
            asked = _ollama(entry, card)
            return OllamaBackend(name=entry.name, model=card.name, settings=asked, refusals=Refusals.of(cards))


def _weights(named: Path | None, card: ModelCard, settings: Settings) -> Path:
    path = locate(card, weights_dir=weights_dir(settings), path=named)
    verify(path, card, named=named is not None)
    return path


def _llama(entry: LlamaEntry, card: ModelCard, path: Path) -> LlamaSettings:
    return LlamaSettings(
        model_path=path,
        context=entry.context,
        threads=entry.threads,
        gpu_layers=entry.gpu_layers,
        flash_attention=entry.flash_attention,
        type_k=entry.kv_type,
        type_v=entry.kv_type,
        batch=entry.batch,
        queue=entry.queue,
        system_role=card.system_role,
        stop=card.stop,
        sampling=sampling_of(card),
        start_timeout_s=entry.start_timeout_s,
        stall_s=entry.stall_s,
        memory_limit_bytes=entry.memory_limit_mib * 2**20 if entry.memory_limit_mib else None,
    )


def _llama_server(entry: LlamaServerEntry, card: ModelCard, settings: Settings, refusals: Refusals) -> Engine:
    try:
        from serving.llama_server.engine import LlamaServerEngine
    except ImportError:
        raise BackendMisconfigured("this engine needs: pip install 'crisis-support[llama-server]'") from None
    chosen = LlamaServerSettings(
        site=_reach(entry, entry.url) if entry.url else _launch(entry, _weights(entry.path, card, settings)),
        context=entry.context,
        parallel=entry.parallel,
        queue=entry.queue,
        system_role=card.system_role,
        sampling=sampling_of(card),
        stop=card.stop,
        start_timeout_s=entry.start_timeout_s,
        stall_s=entry.stall_s,
    )
    return LlamaServerEngine(name=entry.name, model=card.name, settings=chosen, refuse=refusals.why)


def _launch(entry: LlamaServerEntry, path: Path) -> Launch:
    return Launch(
        binary=find_binary(entry.binary, cache_folder()),
        model_path=path,
        port=entry.port,
        threads=entry.threads,
        gpu_layers=entry.gpu_layers,
        batch=entry.batch,
        flash_attention=entry.flash_attention,
        type_k=entry.kv_type,
        type_v=entry.kv_type,
    )


def _transformers(
    entry: TransformersEntry, card: ModelCard, settings: Settings, refusals: Refusals
) -> TransformersSettings:
    if (wrong := packages.problem(entry.load)) is not None:
        raise BackendMisconfigured(wrong)
    found = folder.look(folder.find(card, weights_dir=weights_dir(settings), named=entry.path))
    if (why := refusals.why(found.names, found.template, who=str(found.path))) is not None:
        raise BackendMisconfigured(why)
    folder.require_same(found, card)
    return TransformersSettings(
        folder=found.path,
        load=entry.load,
        device=entry.device,
        context=entry.context,
        threads=entry.threads,
        batch=entry.batch,
        queue=entry.queue,
        system_role=card.system_role,
        stop=card.stop,
        sampling=sampling_of(card),
        start_timeout_s=entry.start_timeout_s,
        stall_s=entry.stall_s,
        memory_limit_bytes=entry.memory_limit_mib * 2**20 if entry.memory_limit_mib else None,
    )


def _reach(entry: RemoteEntry, url: str) -> Reach:
    return Reach(_url(entry, url), entry.key(), entry.connect_timeout_s)


def _openai(entry: OpenAIEntry, card: ModelCard) -> OpenAISettings:
    return OpenAISettings(
        url=_url(entry, entry.url),
        served_as=entry.served_as or entry.model,
        key=entry.key(),
        context=entry.context,
        parallel=entry.parallel,
        prefill=entry.prefill,
        system_role=card.system_role,
        sampling=sampling_of(card),
        stop=card.stop,
        extra=entry.extra,
        connect_s=entry.connect_timeout_s,
        read_timeout_s=entry.read_timeout_s,
    )


def _ollama(entry: OllamaEntry, card: ModelCard) -> OllamaSettings:
    return OllamaSettings(
        url=_url(entry, entry.url),
        served_as=entry.served_as,
        key=entry.key(),
        context=entry.context,
        parallel=entry.parallel,
        keep_alive=entry.keep_alive,
        prefill=entry.prefill,
        system_role=card.system_role,
        sampling=sampling_of(card),
        stop=card.stop,
        connect_s=entry.connect_timeout_s,
        load_timeout_s=entry.load_timeout_s,
        read_timeout_s=entry.read_timeout_s,
    )


def _url(entry: RemoteEntry, url: str) -> str:
    return checked_url(url, option="url", remote=entry.remote, plain_http=entry.plain_http)


def sampling_of(card: ModelCard) -> Sampling:
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
