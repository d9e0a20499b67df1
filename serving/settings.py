"""What an operator can set: one TOML file, overridden by CRISIS_… variables. Only this module reads the environment.

crisis.example.toml documents every option; a test fails on one it lacks. Errors: SettingsError, one line a problem.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariable

from serving.llama.settings import KvType
from serving.settings_faults import Place, faults

FILE_NAME = "crisis.toml"
_LOOPBACK = ("127.", "::1", "localhost")

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]


class SettingsError(ValueError):
    """The settings cannot be used: says which file or variable, what is wrong, and how to mend it."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Part):
    """Where the service listens and what it takes. api_keys are SHA-256 hashes in hexadecimal, never the keys.

    allowed_hosts: names besides those of `names()` that a request may give as its Host; "*" for any.
    """

    host: str = "127.0.0.1"
    port: int = Field(8600, ge=0, le=65535)
    api_keys: tuple[Sha256, ...] = ()
    keys_file: Path | None = None
    per_minute: int = Field(600, ge=0, le=1_000_000)
    allowed_hosts: tuple[str, ...] = ()
    max_body_bytes: int = Field(262_144, ge=1024, le=8_388_608)
    max_concurrent: int = Field(64, ge=1, le=10_000)
    cors_origins: tuple[str, ...] = ()
    shutdown_s: float = Field(15.0, gt=0, le=120)

    @property
    def open(self) -> bool:
        """Whether everyone who can reach it is let in."""
        return not self.api_keys and self.keys_file is None

    def names(self) -> tuple[str, ...]:
        """The names it goes by, none for any. An open service on this machine is nobody's under another name: that is
        how a web page would reach it through a name of its own (DNS rebinding)."""
        if not self.open and not self.allowed_hosts:
            return ()
        here = ("localhost", "127.0.0.1", "::1", self.host)
        return (*here, *self.allowed_hosts)


class ReplySettings(Part):
    """How replies are written and how long they may take (seconds)."""

    gospel: Literal["always", "invited", "off"] = "always"
    generated_text: Literal["send", "hold"] = "send"
    quiet_line: bool = False
    default_country: Country | None = None
    default_language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")] = "en"
    first_text_s: float = Field(4.0, gt=0, le=60)
    between_s: float = Field(3.0, gt=0, le=60)
    total_s: float = Field(12.0, gt=0, le=120)
    max_tokens_chat: int = Field(140, ge=16, le=1024)
    max_tokens_sms: int = Field(60, ge=16, le=256)


class OwnDeadlines(Part):
    """Seconds that one entry may take, where they are not those of [reply]."""

    first_text_s: float | None = Field(None, gt=0, le=60)
    between_s: float | None = Field(None, gt=0, le=60)
    total_s: float | None = Field(None, gt=0, le=120)


class AnsweringEntry(Part):
    """What every entry has, whoever answers."""

    deadlines: OwnDeadlines = OwnDeadlines()


class LlamaEntry(AnsweringEntry):
    """A model on this machine, through llama.cpp in a process of its own. `model` is its name in the catalogue."""

    engine: Literal["llama_cpp"]
    name: str = "local"
    model: str
    path: Path | None = None
    context: int = Field(4096, ge=512, le=131_072)
    threads: int = Field(0, ge=0, le=512)
    gpu_layers: int = Field(0, ge=-1, le=1000)
    flash_attention: Literal["auto", "on", "off"] = "auto"
    kv_type: KvType = "f16"
    batch: int = Field(256, ge=16, le=4096)
    queue: int = Field(8, ge=1, le=1024)
    start_timeout_s: float = Field(120.0, gt=0, le=3600)
    stall_s: float = Field(30.0, gt=0, le=600)
    memory_limit_mib: int | None = Field(None, ge=64)


class TransformersEntry(AnsweringEntry):
    """A model on this machine, through torch and transformers in a process of its own. `path` is the model's folder."""

    engine: Literal["transformers"]
    name: str = "local"
    model: str
    path: Path | None = None
    load: Literal["nf4", "8bit", "none"] = "nf4"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    context: int = Field(4096, ge=256, le=131_072)
    threads: int = Field(0, ge=0, le=512)
    batch: int = Field(256, ge=16, le=4096)
    queue: int = Field(8, ge=0, le=1024)
    start_timeout_s: float = Field(600.0, gt=0, le=3600)
    stall_s: float = Field(60.0, gt=0, le=600)
    memory_limit_mib: int | None = Field(None, ge=64)


class RemoteEntry(AnsweringEntry):
    """What every engine at an address has. The key is read from the environment variable that api_key_env names."""

    api_key_env: str | None = None
    remote: bool = False
    plain_http: bool = False
    connect_timeout_s: float = Field(3.0, gt=0, le=60)

    def key(self) -> str:
        """Raises SettingsError when the variable that should hold it does not."""
        if self.api_key_env is None:
            return ""
        key = os.environ.get(self.api_key_env, "").strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise SettingsError(f"the variable {self.api_key_env} (api_key_env) holds no key")
        return key


class LlamaServerEntry(RemoteEntry):
    """A model through llama.cpp's own server, several conversations at once: ours, or reached by `url`."""

    engine: Literal["llama_server"]
    name: str = "local"
    model: str
    url: str | None = None
    path: Path | None = None
    binary: Path | None = None
    port: int = Field(0, ge=0, le=65535)
    context: int = Field(4096, ge=256, le=131_072)
    parallel: int = Field(4, ge=1, le=256)
    queue: int = Field(8, ge=0, le=1024)
    threads: int = Field(0, ge=0, le=512)
    gpu_layers: int = Field(0, ge=-1, le=1000)
    flash_attention: Literal["auto", "on", "off"] = "auto"
    kv_type: KvType = "f16"
    batch: int = Field(128, ge=16, le=4096)
    start_timeout_s: float = Field(120.0, gt=0, le=3600)
    stall_s: float = Field(30.0, gt=0, le=600)


class OpenAIEntry(RemoteEntry):
    """A model behind any server with OpenAI's chat interface. `served_as`: its name there, where it differs."""

    engine: Literal["openai"]
    name: str = "openai"
    model: str
    url: str
    served_as: str | None = None
    context: int = Field(4096, ge=256, le=1_048_576)
    parallel: int = Field(16, ge=1, le=1024)
    prefill: Literal["off", "assistant", "continue_final_message"] = "off"
    extra: dict[str, Any] = Field(default_factory=dict)
    read_timeout_s: float = Field(15.0, gt=0, le=600)


class OllamaEntry(RemoteEntry):
    """A model that an Ollama server runs. `served_as`: its name there."""

    engine: Literal["ollama"]
    name: str = "ollama"
    model: str
    url: str = "http://127.0.0.1:11434"
    served_as: str
    context: int = Field(4096, ge=256, le=131_072)
    parallel: int = Field(4, ge=1, le=256)
    keep_alive: Annotated[str, StringConstraints(pattern=r"^-?\d+(ms|s|m|h)$")] = "-1m"
    prefill: bool = False
    load_timeout_s: float = Field(120.0, gt=0, le=3600)
    read_timeout_s: float = Field(30.0, gt=0, le=600)


class ClaudeEntry(AnsweringEntry):
    """Claude through Anthropic's API. Off unless `enabled`, since it sends a person's words to a third party."""

    engine: Literal["claude"]
    name: str = "claude"
    model: str
    enabled: bool = False
    api_key: SecretStr = SecretStr("")
    base_url: str | None = None
    connect_timeout_s: float = Field(3.0, gt=0, le=60)


LocalEntry = LlamaEntry | LlamaServerEntry | TransformersEntry | OpenAIEntry | OllamaEntry
"""An entry whose model is one of the catalogue's."""


class ShieldSettings(Part):
    """SHIELD's third stage: whether the loaded model is asked where the first two are unsure, and how it is heard."""

    model_stage: bool = False
    model_s: float = Field(0.8, gt=0, le=10)
    model_between: tuple[Share, Share] = (0.3, 0.9)
    model_sure: float = Field(0.75, gt=0.5, le=1)


class FilterSettings(Part):
    """The filter's second opinion. `judge`: "" for none, "guard" for the model of `guard`, or a chain entry's name."""

    judge: str = ""
    judge_timeout_s: float = Field(2.0, gt=0, le=30)
    guard: Annotated[LocalEntry, Field(discriminator="engine")] | None = None


class RecordsSettings(Part):
    """What is written down: counts of referrals by day, and, where asked for, a line without text for each answer."""

    referrals: bool = True
    audit: bool = False
    folder: Path | None = None


class TelemetrySettings(Part):
    """Traces for an OpenTelemetry collector: `otlp_endpoint` is its address for OTLP over HTTP, "" for none."""

    otlp_endpoint: str = ""
    service_name: Annotated[str, StringConstraints(min_length=1, max_length=64)] = "crisis-support"


ENGINES: dict[str, type[AnsweringEntry]] = {
    "llama_cpp": LlamaEntry,
    "llama_server": LlamaServerEntry,
    "transformers": TransformersEntry,
    "openai": OpenAIEntry,
    "ollama": OllamaEntry,
    "claude": ClaudeEntry,
}
ChainEntry = Annotated[LocalEntry | ClaudeEntry, Field(discriminator="engine")]
_ENTRY: TypeAdapter[ChainEntry] = TypeAdapter(ChainEntry)


@dataclass(frozen=True, slots=True)
class BrokenEntry:
    """A chain entry that cannot be read, with the reason: the service starts without it."""

    position: int
    name: str
    engine: str
    model: str
    problem: str


class Settings(BaseSettings):
    """Everything that an operator can set. The static backend always ends the chain and needs no entry."""

    model_config = SettingsConfigDict(
        env_prefix="CRISIS_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )
    file: ClassVar[Path | None] = None

    server: ServerSettings = ServerSettings()
    reply: ReplySettings = ReplySettings()
    shield: ShieldSettings = ShieldSettings()
    filter: FilterSettings = FilterSettings()
    records: RecordsSettings = RecordsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    chain: tuple[ChainEntry, ...] = ()
    allow_unapproved: bool = False
    weights_dir: Path | None = None
    catalogue: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["text", "json"] = "text"
    anthropic_api_key: SecretStr = SecretStr("")

    @field_validator("chain")
    @classmethod
    def _names_differ(cls, chain: tuple[ChainEntry, ...]) -> tuple[ChainEntry, ...]:
        """Entries of one name are numbered (local, local-2): readiness, metrics and records tell them apart by it."""
        taken: set[str] = set()
        told = []
        for entry in chain:
            names = (entry.name, *(f"{entry.name}-{number}" for number in range(2, len(chain) + 2)))
            name = next(one for one in names if one not in taken)
            taken.add(name)
            told.append(entry if name == entry.name else entry.model_copy(update={"name": name}))
        return tuple(told)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def find_file(named: Path | None = None, environ: dict[str, str] | None = None) -> Path | None:
    """The settings file: the one named, else $CRISIS_CONFIG, ./crisis.toml, or crisis/crisis.toml in the XDG folder."""
    env = os.environ if environ is None else environ
    chosen = named or (Path(env["CRISIS_CONFIG"]) if env.get("CRISIS_CONFIG") else None)
    if chosen is not None:
        if chosen.is_dir():
            raise SettingsError(f"{chosen}: is a folder; name the settings file in it, such as {chosen / FILE_NAME}")
        if not chosen.is_file():
            raise SettingsError(f"{chosen}: no such settings file; copy crisis.example.toml there or name another one")
        return chosen
    home = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return next((path for path in (Path(FILE_NAME), home / "crisis" / FILE_NAME) if path.is_file()), None)


def data_folder(environ: dict[str, str] | None = None) -> Path:
    """Where the service keeps what is large, by the XDG convention: $XDG_DATA_HOME/crisis."""
    env = os.environ if environ is None else environ
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "crisis"


def weights_dir(settings: Settings) -> Path:
    """Where weights are looked for; `~` is the home of the user whom this process runs as."""
    return _at_home(settings.weights_dir) if settings.weights_dir else data_folder() / "weights"


def _at_home(path: Path) -> Path:
    """`~` and `~name` are a shell's: neither a settings file nor a service manager expands them."""
    return Path(os.path.expanduser(path))


def cache_folder(environ: dict[str, str] | None = None) -> Path:
    """Where what can be made again is kept, by the XDG convention: $XDG_CACHE_HOME/crisis."""
    env = os.environ if environ is None else environ
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crisis"


def state_folder(environ: dict[str, str] | None = None) -> Path:
    """Where a running service can be found by other commands, by the XDG convention: $XDG_STATE_HOME/crisis."""
    env = os.environ if environ is None else environ
    return Path(env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "crisis"


def records_folder(settings: Settings) -> Path:
    """Where counts and audit lines are kept."""
    return settings.records.folder or state_folder()


def load(file: Path | None = None) -> Settings:
    """The settings of a file (see find_file) and the environment. Raises SettingsError."""
    return _made(*_read(file))


def load_usable(file: Path | None = None) -> tuple[Settings, tuple[BrokenEntry, ...]]:
    """The same for a service that has to start: a chain entry that cannot be read is left out and told of.

    Raises SettingsError for every other mistake: where it listens and who may ask are not to be guessed.
    """
    table, path = _read(file)
    broken = tuple(_broken(table, path))
    positions = {entry.position for entry in broken}
    kept = [entry for position, entry in enumerate(table.get("chain", ())) if position not in positions]
    return _made(table | {"chain": kept} if broken else table, path), broken


def _read(file: Path | None) -> tuple[dict[str, Any], Path | None]:
    path = find_file(file)
    if path is None:
        return {}, None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), path
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error


def _made(table: dict[str, Any], path: Path | None) -> Settings:
    try:
        settings = Settings(**table)
    except ValidationError as error:
        raise SettingsError("\n".join(_problems(error, path, table))) from None
    except UnreadableVariable as error:
        raise SettingsError(f"CRISIS_… variables: {error}; lists and tables are written as JSON") from None
    check_open(settings)
    return settings


def _broken(table: dict[str, Any], path: Path | None) -> Iterator[BrokenEntry]:
    entries = table.get("chain")
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        try:
            _ENTRY.validate_python(entry)
        except ValidationError as error:
            told = entry if isinstance(entry, dict) else {}
            engine, model = str(told.get("engine", "?")), str(told.get("model", "?"))
            problem = "; ".join(_problems(error, path, table, ("chain", position)))
            yield BrokenEntry(position, str(told.get("name", engine)), engine, model, problem)


def check_open(settings: Settings) -> None:
    """Refuses to listen beyond this machine without keys: the service never starts open."""
    host = settings.server.host
    if not host.startswith(_LOOPBACK) and settings.server.open:
        raise SettingsError(
            f"server.host = {host!r} can be reached from other machines, so server.api_keys must hold at least "
            "one hash (crisis config key), or server.keys_file must name a file of keys (crisis keys add)"
        )


def _problems(error: ValidationError, path: Path | None, table: Any, at: Place = ()) -> list[str]:
    where = path or "CRISIS_… variables"
    return [f"{where}: {line}" for line in faults(error, Settings, ENGINES, table=table, at=at)]


def unknown_variables(settings: Settings, environ: Mapping[str, str] | None = None) -> list[str]:
    """A line for each CRISIS_… variable that sets nothing: a typo there would go unseen otherwise."""
    env = os.environ if environ is None else environ
    named = {entry.api_key_env for entry in (*settings.chain, settings.filter.guard) if isinstance(entry, RemoteEntry)}
    known = [f"CRISIS_{option.upper()}" for option in (*Settings.model_fields, "config")]
    lines = []
    for name in sorted(env):
        option = name.upper().partition("__")[0]
        if option.startswith("CRISIS_") and option not in known and name not in named and env[name]:
            close = difflib.get_close_matches(option, known, n=1)
            lines.append(f"{name}: no such setting, nothing was set{f'; did you mean {close[0]}?' if close else ''}")
    return lines
