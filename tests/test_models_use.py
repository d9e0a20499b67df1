"""`crisis models use` without a running service: what it changes in the file, what it leaves, and how it finds one."""

import os
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from commands import Ran, crisis
from hypothesis import given
from hypothesis import strategies as st

from cli.chain_file import put_model, write
from cli.console import Failure
from cli.presence import Presence, services
from models.catalogue import Catalogue
from models.weights import locate

DEMO = "smollm2-135m-instruct-q4_1"
EXAMPLE = Path(__file__).parent.parent / "crisis.example.toml"
LOCAL = '[[chain]]\nengine = "llama_cpp"  # here\nname = "a"\nmodel = "old"   # which\ncontext = 2048\n'
CLAUDE = '[[chain]]\nengine = "claude"\nmodel = "claude-haiku-4-5"\n'
OPENAI = '[[chain]]\nengine = "openai"\nname = "far"\nmodel = "old"\nurl = "http://127.0.0.1:9/v1"\n'
SERVER = '[[chain]]\nengine = "llama_server"\nname = "b"\nmodel = "old"\npath = "/old.gguf"  # mine\n'
REACHED = SERVER.replace('path = "/old.gguf"  # mine', 'url = "http://127.0.0.1:9"').replace('"b"', '"c"')


def put(text: str, *, entry: str | None = None, path: Path | None = None) -> str:
    return put_model(text, "new", entry=entry, path=path).text


# the file


def test_only_the_models_name_changes() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    before, after = text.splitlines(), put(text).splitlines()
    (changed,) = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed[1] == changed[0].replace("qwen2.5-7b-instruct-q4_k_m", "new")
    assert "# a name from" in changed[1]


def test_the_first_entry_with_weights_of_its_own_is_meant() -> None:
    assert put(CLAUDE + OPENAI + REACHED + SERVER + LOCAL).count('"new"') == 1
    table = tomllib.loads(put(CLAUDE + OPENAI + REACHED + SERVER + LOCAL))["chain"]
    assert [entry["model"] for entry in table] == ["claude-haiku-4-5", "old", "old", "new", "old"]


def test_another_entry_can_be_named() -> None:
    table = tomllib.loads(put(SERVER + LOCAL, entry="a"))["chain"]
    assert [entry["model"] for entry in table] == ["old", "new"]


@pytest.mark.parametrize(
    ("text", "entry", "says"),
    [
        (LOCAL, "b", "no chain entry is called 'b'; there are: a"),
        (OPENAI, "far", "edit it by hand"),
        (REACHED, "c", "edit it by hand"),
        ("", "a", "there are: none"),
        ("chain = [{engine = 'llama_cpp', model = 'old'}]", None, "write it as [[chain]] tables"),
        ("[[chain", None, "not TOML"),
    ],
)
def test_what_cannot_be_changed_is_said(text: str, entry: str | None, says: str) -> None:
    with pytest.raises(Failure) as raised:
        put(text, entry=entry)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_old_models_path_goes_and_a_new_one_stands_below_the_model() -> None:
    edit = put_model(SERVER, "new", entry=None, path=None)
    assert edit.old_path == "/old.gguf"
    assert "path" not in tomllib.loads(edit.text)["chain"][0]
    told = put(SERVER.replace("\n", "\r\n"), path=Path('/a "b"/c.gguf'))
    assert tomllib.loads(told)["chain"][0]["path"] == '/a "b"/c.gguf'
    lines = told.split("\r\n")
    assert lines[lines.index('model = "new"') + 1].startswith("path = ")


def test_the_same_model_again_changes_nothing_and_keeps_its_path() -> None:
    edit = put_model(SERVER, "old", entry=None, path=None)
    assert (edit.text, edit.path, edit.old_path) == (SERVER, "/old.gguf", "")


@pytest.mark.parametrize("text", ["", "# only a remark", '[reply]\ngospel = "off"', CLAUDE, CLAUDE + OPENAI, REACHED])
def test_without_a_local_entry_one_is_put_in_front(text: str) -> None:
    table = tomllib.loads(put(text))
    assert (table["chain"][0]["engine"], table["chain"][0]["model"]) == ("llama_cpp", "new")
    assert table["chain"][1:] == tomllib.loads(text).get("chain", [])
    assert {key: value for key, value in table.items() if key != "chain"} == {
        key: value for key, value in tomllib.loads(text).items() if key != "chain"
    }
    names = [entry["name"] for entry in table["chain"] if "name" in entry]
    assert len(names) == len(set(names))


remarks = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30)


@given(
    before=remarks, after=remarks, parts=st.permutations([LOCAL, CLAUDE, OPENAI, SERVER, "# x\n\n"]), crlf=st.booleans()
)
def test_every_remark_and_every_other_option_stays(before: str, after: str, parts: list[str], crlf: bool) -> None:
    text = f"# {before}\n[reply]\ntotal_s = 9.0 # {after}\n" + "".join(parts)
    text = text.replace("\n", "\r\n") if crlf else text
    told = put(text)
    gone = Counter(text.splitlines()) - Counter(told.splitlines())
    assert all(line.startswith(("model = ", "path = ")) for line in gone)
    assert 1 <= gone.total() <= 2
    assert Counter(told.splitlines()) - Counter(text.splitlines()) <= Counter(
        {'model = "new"': 1, 'model = "new"   # which': 1}
    )
    old, new = tomllib.loads(text)["chain"], tomllib.loads(told)["chain"]
    assert sum(one != other for one, other in zip(old, new, strict=True)) == 1


def test_the_file_is_replaced_whole_with_its_rights_and_through_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "crisis.toml"
    real.write_text("a = 1")
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, b"a = 2")
    assert (real.read_text(), real.stat().st_mode & 0o777, link.is_symlink()) == ("a = 2", 0o640, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crisis.toml", "real.toml"]


# the command


def run(folder: Path, *arguments: str, text: str = LOCAL, **env: str) -> Ran:
    (folder / "crisis.toml").write_text("allow_unapproved = true\n" + text)
    clean = {"XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": "none"}
    (ran,) = crisis(["models", "use", *arguments], env={**clean, **env}, cwd=folder)
    return ran


def test_without_a_service_the_file_is_changed_for_the_next_start(tmp_path: Path) -> None:
    ran = run(tmp_path, DEMO)
    assert ran.status == 0
    assert "no service runs with this file" in ran.out
    assert tomllib.loads((tmp_path / "crisis.toml").read_text())["chain"][0]["model"] == DEMO


def test_a_file_elsewhere_is_named_whole(tmp_path: Path) -> None:
    weights = locate(Catalogue.load().get(DEMO), weights_dir=None, path=None)
    (tmp_path / "here.gguf").symlink_to(weights)
    assert run(tmp_path, DEMO, "--path", "here.gguf").status == 0
    entry = tomllib.loads((tmp_path / "crisis.toml").read_text())["chain"][0]
    assert entry["path"] == str((tmp_path / "here.gguf").resolve())


@pytest.mark.parametrize(
    ("arguments", "env", "status", "says"),
    [
        ((DEMO, "--path", "none.gguf"), {}, 1, "none.gguf"),
        ((DEMO, "--path", "crisis.toml"), {}, 1, "is not a GGUF file; put a whole file there, or name another one"),
        ((DEMO,), {"CRISIS_ALLOW_UNAPPROVED": "false"}, 1, "is not approved to speak to people"),
        ((DEMO,), {"CRISIS_CHAIN": "[]"}, 2, "a CRISIS_… variable sets the chain"),
        ((DEMO, "--entry", "z"), {}, 2, "no chain entry is called 'z'"),
        ((DEMO, "--config", "other.toml"), {}, 2, "no such settings file"),
    ],
)
def test_a_refusal_changes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str], status: int, says: str
) -> None:
    ran = run(tmp_path, *arguments, **env)
    assert ran.status == status
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert (tmp_path / "crisis.toml").read_text() == "allow_unapproved = true\n" + LOCAL
    assert [path.name for path in tmp_path.iterdir()] == ["crisis.toml"]


def test_without_any_settings_file_it_says_how_to_get_one(tmp_path: Path) -> None:
    (ran,) = crisis(["models", "use", DEMO], env={"XDG_CONFIG_HOME": "none"}, cwd=tmp_path)
    assert ran.status == 2
    assert "copy crisis.example.toml" in ran.err


# finding a service

HOLDER = """
import sys, time
from pathlib import Path
from cli.presence import Presence
held = Presence.open(Path(sys.argv[1]), config=Path(sys.argv[2]), demo=False)
held.tell({"swaps": 3})
print("there", flush=True)
time.sleep(60)
"""


def test_a_service_is_found_while_it_lives_and_by_its_own_file_only(tmp_path: Path) -> None:
    config = tmp_path / "crisis.toml"
    command = [sys.executable, "-c", HOLDER, str(tmp_path), str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        (found,) = services(tmp_path, config)
        assert (found.pid, found.demo, found.swap()) == (process.pid, False, {"swaps": 3})
        assert list(services(tmp_path, tmp_path / "other.toml")) == []
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert found.swap() is None
        assert list(services(tmp_path, config)) == []
        assert list((tmp_path / "running").iterdir()) == [], "a left-over is cleared away"


def test_a_left_over_with_the_number_of_a_living_process_is_no_service(tmp_path: Path) -> None:
    (tmp_path / "running").mkdir()
    left = tmp_path / "running" / f"{os.getpid()}.json"
    left.write_text(f'{{"pid": {os.getpid()}, "config": "{tmp_path}/crisis.toml", "demo": false, "swap": {{}}}}')
    assert list(services(tmp_path, tmp_path / "crisis.toml")) == []


def test_a_folder_that_cannot_be_written_costs_only_being_found(tmp_path: Path) -> None:
    (tmp_path / "running").write_text("a file where a folder should be")
    assert Presence.open(tmp_path, config=None, demo=False) is None


def test_what_is_told_is_replaced_and_cleared_at_the_end(tmp_path: Path) -> None:
    held = Presence.open(tmp_path, config=tmp_path / "c.toml", demo=True)
    assert held is not None
    for swap in ({"state": "x" * 500}, {"state": "y"}):
        held.tell(swap)
        (found,) = services(tmp_path, tmp_path / "c.toml")
        assert found.swap() == swap
    held.close()
    assert list(services(tmp_path, tmp_path / "c.toml")) == []
