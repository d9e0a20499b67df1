"""What an operator can set: one TOML file, overridden by CRISIS_… variables. Only this module reads the environment.

crisis.example.toml documents every option; a test fails on one it lacks. Errors: SettingsError, one line a problem.
"""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariable

FILE_NAME = "crisis.toml"
_LOOPBACK = ("127.", "::1", "localhost")

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]


class SettingsError(ValueError):
    """The settings cannot be used: says which file or variable, what is wrong, and how to mend it."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Part):
    """Where the service listens and what it takes. api_keys are SHA-256 hashes in hexadecimal, never the keys."""

    host: str = "127.0.0.1"
    port: int = Field(8600, ge=0, le=65535)
    api_keys: tuple[Sha256, ...] = ()
    max_body_bytes: int = Field(262_144, ge=1024, le=8_388_608)
    max_concurrent: int = Field(64, ge=1, le=10_000)
    cors_origins: tuple[str, ...] = ()
    shutdown_s: float = Field(15.0, gt=0, le=120)


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


class LlamaEntry(Part):
    """A model on this machine, through llama.cpp in a process of its own. `model` is its name in the catalogue."""

    engine: Literal["llama_cpp"]
    name: str = "local"
    model: str
    path: Path | None = None
    context: int = Field(4096, ge=512, le=131_072)
    threads: int = Field(0, ge=0, le=512)
    gpu_layers: int = Field(0, ge=-1, le=1000)
    flash_attention: Literal["auto", "on", "off"] = "auto"
    batch: int = Field(256, ge=16, le=4096)
    queue: int = Field(8, ge=1, le=1024)
    start_timeout_s: float = Field(120.0, gt=0, le=3600)
    stall_s: float = Field(30.0, gt=0, le=600)
    memory_limit_mib: int | None = Field(None, ge=64)


class ClaudeEntry(Part):
    """Claude through Anthropic's API. Off unless `enabled`, since it sends a person's words to a third party."""

    engine: Literal["claude"]
    name: str = "claude"
    model: str
    enabled: bool = False
    api_key: SecretStr = SecretStr("")
    base_url: str | None = None
    connect_timeout_s: float = Field(3.0, gt=0, le=60)


ChainEntry = Annotated[LlamaEntry | ClaudeEntry, Field(discriminator="engine")]


class Settings(BaseSettings):
    """Everything that an operator can set. The static backend always ends the chain and needs no entry."""

    model_config = SettingsConfigDict(
        env_prefix="CRISIS_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )
    file: ClassVar[Path | None] = None

    server: ServerSettings = ServerSettings()
    reply: ReplySettings = ReplySettings()
    chain: tuple[ChainEntry, ...] = ()
    allow_unapproved: bool = False
    weights_dir: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    anthropic_api_key: SecretStr = SecretStr("")

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
        if not chosen.is_file():
            raise SettingsError(f"{chosen}: no such settings file; copy crisis.example.toml there or name another one")
        return chosen
    home = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return next((path for path in (Path(FILE_NAME), home / "crisis" / FILE_NAME) if path.is_file()), None)


def data_folder(environ: dict[str, str] | None = None) -> Path:
    """Where the service keeps what is large, by the XDG convention: $XDG_DATA_HOME/crisis."""
    env = os.environ if environ is None else environ
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "crisis"


def load(file: Path | None = None) -> Settings:
    """The settings of a file (see find_file) and the environment. Raises SettingsError."""
    path = find_file(file)
    table: dict[str, Any] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error
    try:
        settings = Settings(**table)
    except ValidationError as error:
        raise SettingsError("\n".join(_problems(error, path))) from None
    except UnreadableVariable as error:
        raise SettingsError(f"CRISIS_… variables: {error}; lists and tables are written as JSON") from None
    check_open(settings)
    return settings


def check_open(settings: Settings) -> None:
    """Refuses to listen beyond this machine without keys: the service never starts open."""
    host = settings.server.host
    if not host.startswith(_LOOPBACK) and not settings.server.api_keys:
        raise SettingsError(
            f"server.host = {host!r} can be reached from other machines, so server.api_keys must hold at least "
            "one hash; make one with: crisis config key"
        )


def _problems(error: ValidationError, path: Path | None) -> list[str]:
    where = path or "CRISIS_… variables"
    lines = []
    for problem in error.errors(include_input=False, include_url=False, include_context=False):
        option = ".".join(str(part) for part in problem["loc"]) or "(top level)"
        hint = "; see crisis.example.toml for every option" if problem["type"] == "extra_forbidden" else ""
        lines.append(f"{where}: {option}: {problem['msg']}{hint}")
    return lines
