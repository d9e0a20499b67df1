"""Settings: file under variables, one clear line for each mistake, never open, never a secret on a screen."""

import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from serving import settings as module
from serving.settings import (
    ClaudeEntry,
    LlamaEntry,
    LlamaServerEntry,
    OllamaEntry,
    OpenAIEntry,
    Settings,
    SettingsError,
    load,
)

EXAMPLE = Path(__file__).parent.parent / "crisis.example.toml"
HASH = "a" * 64


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(module.os.environ):
        if name.startswith("CRISIS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "crisis.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_stand() -> None:
    assert load().server.host == "127.0.0.1"
    assert load().chain == ()
    assert not load().allow_unapproved


def test_a_variable_wins_over_the_file_and_leaves_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, '[reply]\ngospel = "off"\ntotal_s = 9.0\n')
    monkeypatch.setenv("CRISIS_REPLY__GOSPEL", "invited")
    assert load().reply.gospel == "invited"
    assert load().reply.total_s == 9.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[reply]\ngospel = 'loud'", "reply.gospel"),
        ("[reply]\nvolume = 3", "reply.volume"),
        ("[server]\nport = 99999", "server.port"),
        ("[server]\napi_keys = ['my-secret-key']", "server.api_keys"),
        ("[[chain]]\nengine = 'abacus'", "chain"),
        ("[[chain]]\nengine = 'llama_cpp'", "model"),
        ("[[chain]]\nengine = 'llama_cpp'\nmodel = 'x'\ngpu_layers = -7", "gpu_layers"),
        ("reply = [", "TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_option(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SettingsError) as raised:
        load(path)
    assert says in str(raised.value)
    assert str(path) in str(raised.value)
    assert "my-secret-key" not in str(raised.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no such settings file"):
        load(tmp_path / "elsewhere.toml")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])  # noqa: S104 - that it is refused is the point
def test_the_service_refuses_to_start_open(tmp_path: Path, host: str) -> None:
    with pytest.raises(SettingsError, match="api_keys"):
        load(write(tmp_path, f"[server]\nhost = '{host}'"))
    assert load(write(tmp_path, f"[server]\nhost = '{host}'\napi_keys = ['{HASH}']")).server.host == host


def test_no_secret_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRISIS_ANTHROPIC_API_KEY", "sk-hidden-1")
    chosen = load(write(tmp_path, "[[chain]]\nengine = 'claude'\nmodel = 'x'\napi_key = 'sk-hidden-2'"))
    shown = repr(chosen) + str(chosen.model_dump(mode="json"))
    assert "sk-hidden" not in shown
    assert isinstance(chosen.chain[0], ClaudeEntry)
    assert chosen.chain[0].api_key.get_secret_value() == "sk-hidden-2"


def test_the_example_can_be_used_as_it_stands() -> None:
    assert [entry.engine for entry in load(EXAMPLE).chain] == ["llama_cpp", "claude"]


def test_every_option_is_documented_in_the_example_with_its_default() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    uncommented = "\n".join(line.removeprefix("# ") if " = " in line[:40] else line for line in text.splitlines())
    for section, model in (
        ("", Settings),
        ("[server]", module.ServerSettings),
        ("[reply]", module.ReplySettings),
        ("[shield]", module.ShieldSettings),
        ("[filter]", module.FilterSettings),
        ("[records]", module.RecordsSettings),
        ("[telemetry]", module.TelemetrySettings),
    ):
        _assert_documented(model, uncommented, section)


@pytest.mark.parametrize("entry", [LlamaEntry, LlamaServerEntry, OpenAIEntry, OllamaEntry, ClaudeEntry])
def test_every_engine_is_shown_with_all_its_options_in_a_block_that_can_be_used(entry: type[BaseModel]) -> None:
    engine = entry.model_fields["engine"].annotation
    _, *blocks = EXAMPLE.read_text(encoding="utf-8").split("[[chain]]\n")
    tables = [tomllib.loads("\n".join(_options(block))) for block in blocks]
    table = next(table for table in tables if engine == Literal[table["engine"]])  # type: ignore[valid-type]  # a value
    assert set(table) == set(entry.model_fields)
    entry(**table)


@pytest.mark.parametrize("engine", module.ENGINES)
def test_every_engine_has_its_row_and_its_section_in_the_manual(engine: str) -> None:
    manual = (EXAMPLE.parent / "docs" / "engine.md").read_text(encoding="utf-8")
    assert f"\n| `{engine}` |" in manual
    assert f"\n## {engine}\n" in manual or "docs/claude.md" in manual.split(f"| `{engine}` |")[1].split("\n")[0]


def _options(block: str) -> list[str]:
    """The options of one [[chain]] block, those too that stand behind a "#"."""
    lines = [line.removeprefix("# ") for line in block.splitlines()]
    return [line for line in lines if re.match(r"\w+ = ", line)]


def test_the_example_shows_the_true_defaults() -> None:
    table = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    for section, model in (("server", module.ServerSettings()), ("reply", module.ReplySettings())):
        true: dict[str, Any] = model.model_dump(mode="json")
        assert table[section] == {key: true[key] for key in table[section]}


def _assert_documented(model: type[BaseModel], text: str, section: str) -> None:
    for option in model.model_fields:
        if option in ("server", "reply", "shield", "filter", "records", "telemetry", "chain", "guard"):
            assert f"{option}]" in text
        else:
            assert f"\n{option} = " in text, f"{section} {option} is missing in crisis.example.toml"


def test_entries_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two models of one engine, neither of them named, are the client's own chain."""
    entry = '[[chain]]\nengine = "llama_cpp"\nmodel = "{}"\n'
    names = ("qwen2.5-7b-instruct-q4_k_m", "gemma-2-9b-it-q4_k_m", "smollm2-135m-instruct-q4_1")
    told = load(write(tmp_path, "".join(map(entry.format, names))))
    assert [one.name for one in told.chain] == ["local", "local-2", "local-3"]
    assert [one.model for one in told.chain] == list(names)
