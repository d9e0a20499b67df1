"""The crisis command as its users meet it: contracts, help, wrong use in one line, streams of every kind."""

import hashlib
import io
import json
import os
import pty
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli import doctor
from cli.console import Failure
from cli.lines import each, json_line
from cli.main import COMMANDS, run
from cli.progress import Progress

ROOT = Path(__file__).parent.parent
CRISIS = "I want to kill myself"


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Crisis = Callable[..., Ran]


@pytest.fixture
def crisis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Crisis:
    """Runs the command in an empty folder, without settings of this machine, with nothing on standard input."""
    for name in [name for name in os.environ if name.startswith("CRISIS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)

    def ran(*arguments: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = run(arguments)
        return Ran(status, *capsys.readouterr())

    return ran


def start(*arguments: str, env: dict[str, str] | None = None, **more: Any) -> "subprocess.Popen[bytes]":
    """The real command in a process of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CRISIS_")}
    return subprocess.Popen([sys.executable, "-m", "cli", *arguments], cwd=ROOT, env={**clean, **(env or {})}, **more)


def jsonl(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


# help


GROUPED = (
    *(["models", name] for name in ("list", "show", "plan", "pull", "verify", "use")),
    *(["eval", name] for name in ("run", "judge", "report", "gate", "compare", "export", "import")),
    *(["config", name] for name in ("check", "show", "key")),
    *(["keys", name] for name in ("add", "rotate", "revoke", "list")),
)


@pytest.mark.parametrize("command", [*([name] for name in COMMANDS), *GROUPED], ids=" ".join)
def test_every_command_explains_itself_and_is_documented(crisis: Crisis, command: list[str]) -> None:
    helped = crisis(*command, "--help")
    assert helped.status == 0
    manual = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"crisis {' '.join(command)}" in manual
    for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", helped.out, re.MULTILINE):
        assert option in manual or option.replace("--", "--[no-]", 1) in manual, (
            f"{option} of crisis {' '.join(command)} is missing in docs/cli.md"
        )
    if command not in (["models"], ["config"], ["eval"], ["keys"]):
        assert re.search(rf"^ +.*crisis {' '.join(command)}", helped.out.split("Examples:")[1], re.MULTILINE)


def test_examples_can_be_used_as_they_stand(crisis: Crisis) -> None:
    for command in COMMANDS.values():
        for example in command.examples:
            _, name, *arguments = shlex.split(example.split(" <")[0])
            assert crisis(name, *arguments, "--help").status == 0, example


def test_the_list_of_commands_fits_a_terminal_and_nothing_heavy_is_loaded_for_it() -> None:
    code = "import sys; from cli.main import run; run(['--help']); print(sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    helped, loaded = out.rsplit("[", 1)
    assert all(f"  {name} " in helped and len(command.help) <= 62 for name, command in COMMANDS.items())
    assert not any(
        f"'{heavy}'" in loaded for heavy in ("fastapi", "pydantic", "hyperscan", "phonenumbers", "anthropic")
    )


def test_the_version_is_told(crisis: Crisis) -> None:
    assert re.fullmatch(r"crisis \d+\.\d+\.\d+\n", crisis("--version").out)


# wrong use


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["assess", "--jsnl", "x"], "no such option: --jsnl"),
        (["assess", "I", "want", "to"], "quotes"),
        (["assess"], "crisis assess --help"),
        (["assess", "  "], "nothing to read"),
        (["assess", "x", "--out", "y"], "--out needs --jsonl"),
        (["assess", "x", "--jsonl", "y"], "not both"),
        (["assess", "--jsonl", "missing.jsonl"], "missing.jsonl: cannot be read: No such file"),
        (["assess", "--jsonl", "."], "cannot be read: Is a directory"),
        (["filter", "--user", "x"], "nothing to read"),
        (["filter", "--reply", "x", "--jsonl", "y"], "not both"),
        (["asses"], "did you mean 'assess'?"),
        (["models", "shw"], "did you mean 'show'?"),
        (["models", "show"], "missing argument 'NAME'"),
        (["models", "show", "gpt"], "no model is called 'gpt'"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--host", "0.0.0.0"], "crisis config key"),  # noqa: S104 - that it is refused is the point
        (["serve", "--config", "none.toml"], "none.toml: no such settings file"),
        (["config", "key", "--bytes", "1"], "--bytes"),
    ],
)
def test_wrong_use_is_one_line_that_says_how_to_mend_it(crisis: Crisis, arguments: list[str], says: str) -> None:
    ran = crisis(*arguments)
    assert (ran.status, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("crisis: ")
    assert says in line


CLOSED = (
    ["assess"],
    ["assess", "-"],
    ["assess", "--jsonl", "-"],
    ["filter", "--reply", "-"],
    ["filter", "--jsonl", "-"],
    ["chat"],
)


@pytest.mark.parametrize("arguments", CLOSED, ids=" ".join)
def test_a_closed_standard_input_is_one_line_and_no_wait(arguments: list[str]) -> None:
    closing = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "cli", *arguments]
    ran = subprocess.run(closing, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.fullmatch(r"crisis: standard input is closed: .*\n", ran.stderr)


@pytest.mark.parametrize("arguments", [["assess", "-"], ["filter", "--reply", "-"], ["chat"]], ids=" ".join)
def test_a_standard_input_that_cannot_be_read_ends_the_command(arguments: list[str], tmp_path: Path) -> None:
    with (tmp_path / "written").open("wb") as unreadable:
        ran = subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=ROOT,
            stdin=unreadable,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (0 if arguments == ["chat"] else 2)


def test_words_typed_without_a_command_are_not_repeated(crisis: Crisis) -> None:
    ran = crisis("I want to die zwiebel")
    assert ran.status == 2
    assert "zwiebel" not in ran.err


@pytest.mark.parametrize("nothing", [[], ["models"], ["config"]], ids=["crisis", "models", "config"])
def test_nothing_asked_shows_what_can_be(crisis: Crisis, nothing: list[str]) -> None:
    ran = crisis(*nothing)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: crisis")


def test_each_mistake_in_the_settings_is_a_line(crisis: Crisis, tmp_path: Path) -> None:
    (tmp_path / "crisis.toml").write_text("[reply]\ngospel = 'loud'\nvolume = 3\n", encoding="utf-8")
    ran = crisis("config", "check")
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 2
    assert all(line.startswith("crisis: crisis.toml: reply.") for line in ran.err.splitlines())


def test_a_variable_that_cannot_be_read_is_one_line(crisis: Crisis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRISIS_CHAIN", "[{")
    ran = crisis("config", "check")
    assert ran.status == 2
    assert 'field "chain"' in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_port_in_use_is_one_line(crisis: Crisis) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = crisis("serve", "--port", str(taken.getsockname()[1]))
    assert ran.status == 1
    assert "Address already in use; choose another with --port" in ran.err


# assess


def test_assess_gives_the_contract_line_by_line(crisis: Crisis, tmp_path: Path) -> None:
    turns = [
        {"role": "user", "text": "hello"},
        {"role": "assistant", "text": "Hi. How are you?"},
        {"role": "user", "text": CRISIS},
    ]
    ran = crisis("assess", "--jsonl", jsonl(tmp_path / "in", {"id": 7, "text": "hello"}, {"id": "b", "turns": turns}))
    assert ran.status == 0
    one, two = ran.lines
    for line in (one, two):
        assert list(line) == ["id", "level", "crisis", "categories", "findings", "per_turn"]
    assert one == {"id": 7, "level": "none", "crisis": False, "categories": [], "findings": [], "per_turn": ["none"]}
    assert two["id"] == "b"
    assert two["crisis"]
    assert two["per_turn"][:2] == ["none", "none"]
    found = two["findings"][0]
    assert {"rule", "turn", "start", "end"} <= set(found)
    assert found["turn"] == 2
    assert CRISIS[found["start"] : found["end"]]


def test_one_text_is_explained_or_given_as_json(crisis: Crisis) -> None:
    told = crisis("assess", CRISIS)
    assert told.out.startswith("level       ")
    assert "direct_ideation" in told.out
    assert "\x1b" not in told.out
    asked = crisis("assess", "--json", "-", stdin=CRISIS).json
    assert list(asked) == ["level", "crisis", "categories", "findings", "per_turn"]
    assert asked["crisis"]


def test_a_bad_line_costs_no_other_and_is_named(crisis: Crisis, tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    bad = [
        '{"id": "zwiebel"',
        "[1]",
        '{"id": 1}',
        '{"id": 2, "text": 5}',
        '{"id": 3, "turns": []}',
        '{"id": 4, "turns": [7]}',
    ]
    bad += [
        '{"id": 5, "turns": [{"role": "system", "text": "zwiebel"}]}',
        "1" * 5000,
        "[" * 100_000,
        '"' + "x" * 1_100_000,
    ]
    good = ['{"id": "first", "text": "hello"}', '{"id": "last", "text": "hello"}']
    source.write_text("\n".join([good[0], "", *bad, good[1]]), encoding="utf-8")
    ran = crisis("assess", "--jsonl", str(source), "--out", str(out))
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err == (
        f"crisis: {source}: 10 lines of 12 could not be used (lines 3, 4, 5, 6, 7 …); the output says why\n"
    )
    answers = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [answer["id"] for answer in answers] == ["first", None, None, 1, 2, 3, 4, 5, None, None, None, "last"]
    assert [answer["error"].split(":")[0] for answer in answers[1:-1]] == [f"line {n}" for n in range(3, 13)]
    assert "zwiebel" not in out.read_text(encoding="utf-8")


def test_a_crash_over_one_line_costs_no_other_and_quotes_nothing(tmp_path: Path) -> None:
    def answer(record: dict[str, Any]) -> dict[str, Any]:
        return {"id": record["id"], "answer": 1 / (record["id"] - 2)}

    source, out = jsonl(tmp_path / "in", *({"id": n} for n in (1, 2, 3))), tmp_path / "out"
    with pytest.raises(Failure, match="1 line of 3 could not be used"):
        each(Path(source), out, lambda: answer)
    _, broken, last = (json.loads(line) for line in out.read_text().splitlines())
    assert broken == {"id": 2, "error": "line 2: the check itself broke (ZeroDivisionError); please report it"}
    assert last["answer"] == 1


def test_the_input_is_never_overwritten(crisis: Crisis, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in", {"id": 1, "text": "hello"})
    before = Path(source).read_text(encoding="utf-8")
    (tmp_path / "link").symlink_to(source)
    ran = crisis("assess", "--jsonl", source, "--out", str(tmp_path / "link"))
    assert ran.status == 2
    assert Path(source).read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("out", "status", "says"),
    [("no/such/folder", 2, "No such file"), (".", 2, "directory"), ("/dev/full", 1, "No space")],
)
def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path, out: str, status: int, says: str) -> None:
    source = jsonl(tmp_path / "in", {"id": 1, "text": "x"})
    with pytest.raises(Failure, match=says) as failed:
        each(Path(source), Path(out), lambda: dict)
    assert failed.value.status == status
    assert "\n" not in str(failed.value)


def test_files_of_other_systems_are_read(crisis: Crisis, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(
        b'\xef\xbb\xbf{"id": "bom", "text": "hello"}\r\n'
        b'{"id": "\xff", "text": "caf\xe9"}\r\n'
        b'{"id": "\\ud800", "text": "hi"}'
    )
    ran = crisis("assess", "--jsonl", str(source))
    assert ran.status == 0
    assert [line["id"] for line in ran.lines] == ["bom", "\ufffd", "\ud800"]
    assert json_line({"id": "é"}) == '{"id": "é"}\n'


# filter


def test_filter_gives_the_contract_line_by_line(crisis: Crisis, tmp_path: Path) -> None:
    good = "I'm glad you told me. You can call or text 988 at any hour. Are you safe right now?"
    wrong = "I'm listening. Please call Janet on 1-800-555-0199. What happened today?"
    rows = [
        {"id": 1, "user": CRISIS, "reply": good},
        {"id": 2, "user": CRISIS, "reply": "Then do it. Nobody is stopping you."},
        {"id": 3, "user": CRISIS, "reply": wrong},
        {"id": 4, "user": CRISIS, "reply": good, "country": "GB"},
        {"id": 5, "user": None, "reply": "Water boils at a lower temperature up there."},
        {"id": 6, "user": "x"},
        {"id": 7, "user": 3, "reply": "x"},
        {"id": 8, "reply": "x", "country": 4},
    ]
    ran = crisis("filter", "--jsonl", jsonl(tmp_path / "in", *rows))
    assert ran.status == 2
    answers = {line["id"]: line for line in ran.lines}
    for number in range(1, 6):
        assert list(answers[number]) == ["id", "verdict", "violations", "text"]
    assert answers[1]["verdict"] == "pass"
    assert answers[2]["verdict"] == "block"
    assert "988" in answers[2]["text"]
    assert "Nobody is stopping" not in answers[2]["text"]
    assert answers[3]["verdict"] != "pass"
    assert {"rule", "category", "severity"} == set(answers[3]["violations"][0])
    assert "555" not in answers[3]["text"]
    assert "988" not in answers[4]["text"], "another country's line must not be shown to somebody in Britain"
    assert answers[5]["verdict"] == "pass"
    assert all(list(answers[number]) == ["id", "error"] for number in (6, 7, 8))


def test_one_reply_is_judged_and_a_block_is_an_answer(crisis: Crisis) -> None:
    said = crisis("filter", "--user", CRISIS, "--reply", "-", stdin="Then do it. Nobody is stopping you.")
    assert said.status == 0
    assert said.out.startswith("block  (")


# models, config, doctor


def test_models_are_listed_and_shown(crisis: Crisis) -> None:
    listed = {row["name"]: row for row in crisis("models", "list", "--json").json}
    assert listed["qwen2.5-7b-instruct-q4_k_m"]["status"] == "approved"
    assert [name for name, row in listed.items() if row["status"] == "refused"] == ["mistral-7b-instruct-q4_k_m"]
    table = crisis("models", "list").out
    assert all(name in table for name in listed)
    shown = crisis("models", "show", "smollm2-135m-instruct-q4_1", "--json").json
    assert shown["status"] == "demo"
    assert re.fullmatch("[0-9a-f]{64}", shown["sha256"])


def test_settings_are_shown_without_secrets(crisis: Crisis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CRISIS_ANTHROPIC_API_KEY", "sk-hidden")
    file = tmp_path / "crisis.toml"
    file.write_text("[[chain]]\nengine = 'claude'\nmodel = 'm'\napi_key = 'sk-hidden-too'\n", encoding="utf-8")
    shown = crisis("config", "show")
    assert shown.json["server"]["port"] == 8600
    assert "sk-hidden" not in shown.out
    assert crisis("config", "check").out == "ok: crisis.toml\n"


def test_a_key_comes_with_its_hash(crisis: Crisis) -> None:
    made = dict(line.split() for line in crisis("config", "key").out.splitlines())
    assert hashlib.sha256(made["key"].encode()).hexdigest() == made["hash"]


CHAIN = """
allow_unapproved = true
[[chain]]
engine = "llama_cpp"
model = "{model}"
[[chain]]
engine = "claude"
model = "m"
enabled = {enabled}
"""


def test_the_doctor_judges_every_chain_entry(crisis: Crisis, tmp_path: Path) -> None:
    demo = CHAIN.format(model="smollm2-135m-instruct-q4_1", enabled="false")
    (tmp_path / "crisis.toml").write_text(demo, encoding="utf-8")
    ran = crisis("doctor", "--json")
    assert ran.status == 0
    assert [check["outcome"] for check in ran.json if check["name"].startswith("chain")] == ["warn", "pass"]


def test_the_doctor_goes_on_past_what_is_broken(
    crisis: Crisis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ValueError("rule x: no examples\nat all")

    monkeypatch.setattr(doctor, "load_rules", broken)
    refused = CHAIN.format(model="mistral-7b-instruct-q4_k_m", enabled="true")
    (tmp_path / "crisis.toml").write_text(refused, encoding="utf-8")
    ran = crisis("doctor")
    assert ran.status == 1
    assert "fail   filter: ValueError: rule x: no examples at all" in ran.out
    assert "mistral-7b-instruct-q4_k_m is refused" in ran.out
    assert "no key: set CRISIS_ANTHROPIC_API_KEY" in ran.out


def test_the_doctor_says_what_is_wrong_with_the_settings(crisis: Crisis) -> None:
    ran = crisis("doctor", "--config", "none.toml")
    assert ran.status == 1
    assert ran.out.startswith("fail   settings: none.toml: no such settings file")


# progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "watched", "says"), [(Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False)]
)
def test_progress_is_for_terminals_only(stream: io.StringIO, watched: bool, says: bool) -> None:
    with Progress(watched=watched, stream=stream) as progress:
        progress.step()
    assert ("1 lines" in stream.getvalue()) is says


# real processes


def test_answers_stream_and_leave_nothing_behind(tmp_path: Path) -> None:
    """An agent may keep the command open as a coprocess; what it sent is in no file afterwards."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # holds compiled rules
    env = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": cache}
    process = start("assess", "--jsonl", "-", env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(3):
        process.stdin.write(json_line({"id": number, "text": f"{CRISIS} zwiebel ñ"}).encode())
        assert json.loads(process.stdout.readline())["id"] == number
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()
    assert all(b"zwiebel" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_reader_who_has_read_enough_is_no_failure(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in", *({"id": n, "text": "hello"} for n in range(4000)))
    process = start("assess", "--jsonl", source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(20), said) == (0, b"")


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}], ids=["colour", "NO_COLOR"])
def test_colour_is_for_terminals_that_want_it(env: dict[str, str]) -> None:
    leader, follower = pty.openpty()
    process = start("models", "list", env={"TERM": "xterm", **env}, stdout=follower)
    os.close(follower)
    assert process.wait(20) == 0
    out = os.read(leader, 100_000)
    os.close(leader)
    assert b"qwen2.5-7b" in out
    assert (b"\x1b[32m" in out) == (not env)


def test_chat_answers_every_line_in_any_locale_and_ends_with_an_empty_one(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path), "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = start(
        "chat", "--country", "US", env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = process.communicate("Ya no quiero vivir más 😢\nno\n\nnever read\n".encode(), timeout=60)
    assert process.returncode == 0
    assert out.decode().count(" ms\n") == 2
    assert "988" in out.decode()
    assert "¿" in out.decode()
    assert b"static replies only" in err
    assert b"Traceback" not in err


def test_a_report_of_counts_that_are_not_there_says_where_it_looked(
    crisis: Crisis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ran = crisis("report", "--year", "2027", "--json")
    assert ran.json["referrals"] == 0
    assert str(tmp_path) in ran.err
    assert "XDG_STATE_HOME" in ran.err
