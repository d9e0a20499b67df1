"""The parts that engines share: events, messages that fit, what servers report, remote prompts, lives that restart."""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.catalogue import Catalogue
from serving.backend import BackendMisconfigured, BackendRefused, BackendUnavailable, Request
from serving.backends.messages import EARLIER, WORDLESS, chat, estimate, fitted
from serving.backends.reported import Refusals
from serving.backends.sse import MAX_EVENT_CHARACTERS, BrokenEvents, EventData
from serving.llama_server.binary import find_binary
from serving.llama_server.process import PORT_TAKEN, Ticket, classify, environment
from serving.llama_server.prompts import RemotePrompts
from serving.llama_server.warming import Traffic, Warmer, warm_slots
from serving.settings import LlamaServerEntry, OllamaEntry, SettingsError
from serving.supervision import Pauses, StateLog, Supervisor
from serving.worker.environment import for_engine
from serving.worker.protocol import Job
from serving.worker.template import ChatTemplate
from shield.assessment import Turn

# server-sent events


def read(data: bytes, cuts: list[int] | None = None) -> list[str]:
    stage = EventData()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts or []), len(data)]
    chunks = [data[start:end] for start, end in itertools.pairwise(places)]
    return [event for chunk in chunks for event in stage.feed(chunk)] + stage.flush()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata:b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b": ping\n\nevent: x\nid: 7\nretry: 1\ndata:  a\n\n", [" a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"error: {}\n\n", ["{}"]),
        (b"data: a", ["a"]),
        (b"data\n\n", [""]),
        (b"\n\n\n", []),
        (b"", []),
        ("data: é…🙂\n\n".encode(), ["é…🙂"]),
    ],
)
def test_what_events_say(data: bytes, events: list[str]) -> None:
    found = read(data)
    assert [event for event in found if event] == [event for event in events if event]


@given(
    texts=st.lists(st.text(alphabet='aé🙂: {}"\\', max_size=8), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
def test_every_way_of_cutting_the_bytes_gives_the_same_events(texts: list[str], end: str, cuts: list[int]) -> None:
    data = "".join(f"data: {json.dumps(text)}{end}{end}" for text in texts).encode()
    assert [json.loads(event) for event in read(data, cuts)] == texts


@pytest.mark.parametrize("data", [b"data: \xff\n\n", b"data: \xc3", b"data: " + b"x" * (MAX_EVENT_CHARACTERS + 1)])
def test_what_is_no_event_is_an_error(data: bytes) -> None:
    with pytest.raises(BrokenEvents):
        read(data)


def test_an_event_without_end_is_given_up_before_it_fills_the_memory() -> None:
    stage, line = EventData(), b"data: " + b"x" * 1000 + b"\n"
    for _ in range(MAX_EVENT_CHARACTERS // 1000):
        stage.feed(line)
    with pytest.raises(BrokenEvents):
        stage.feed(line)


# messages


def asked(*turns: Turn, **more: object) -> Request:
    return Request(turns, **{"system": "Be kind.", "max_tokens": 50, **more})  # type: ignore[arg-type]  # its fields


def test_a_chat_has_the_protocol_first_and_the_beginning_last() -> None:
    messages = chat(asked(Turn("user", "hello"), prefix="I'm here. "), prefill=True)
    assert [(m["role"], m["content"]) for m in messages] == [
        ("system", "Be kind."),
        ("user", "hello"),
        ("assistant", "I'm here."),
    ]


def test_a_chat_for_a_model_without_a_system_role_folds_the_protocol_into_the_first_message() -> None:
    (only,) = chat(asked(Turn("user", "hello")), prefill=False, system_role=False)
    assert only == {"role": "user", "content": "Be kind.\n\nhello"}


def test_a_chat_takes_any_turns() -> None:
    turns = (Turn("assistant", "Hi."), Turn("user", " \n"), Turn("user", "\ud83d half"))
    contents = [message["content"] for message in chat(asked(*turns), prefill=False)]
    assert contents == ["Be kind.", EARLIER, "Hi.", f"{WORDLESS}\n\n? half"]


@given(
    lengths=st.lists(st.integers(0, 4000), min_size=1, max_size=12),
    context=st.integers(256, 4096),
    letter=st.sampled_from("aé字🙂"),
)
def test_what_is_sent_always_fits_and_always_ends_with_the_persons_last_words(
    lengths: list[int], context: int, letter: str
) -> None:
    roles = ("user", "assistant")
    turns = tuple(Turn(roles[(len(lengths) - n + 1) % 2], letter * length) for n, length in enumerate(lengths, 1))
    request = asked(*(Turn("user" if turn is turns[-1] else turn.role, turn.text) for turn in turns))
    try:
        made, dropped = fitted(request, context=context, name="x")
    except BackendRefused:
        assert estimate(request.turns[-1].text) > context - 50 - 200
        return
    assert dropped + len(made.turns) == len(turns)
    assert request.turns[-1].text.endswith(made.turns[-1].text)
    assert sum(estimate(m["content"]) for m in chat(made, prefill=False)) + 50 <= context


def test_a_request_must_end_with_the_person() -> None:
    with pytest.raises(BackendMisconfigured):
        fitted(asked(Turn("assistant", "hello")), context=4096, name="x")


# what servers report


@pytest.mark.parametrize(
    ("names", "template"),
    [
        (("mistral:latest",), ""),
        (("qwen", "/models/Mistral-7B-Instruct-v0.3"), ""),
        (("my-own-model", "mistral3"), ""),
        (("my-own-model",), "{{ bos_token }}[INST] {{ content }} [/INST]"),
    ],
)
def test_a_mistral_model_is_refused_whatever_it_is_called(names: tuple[str, ...], template: str) -> None:
    why = Refusals.of(Catalogue.load()).why(names, template)
    assert why is not None
    assert "refused: the client's ruling" in why


@pytest.mark.parametrize(
    ("names", "template"),
    [
        (("qwen2.5:7b", "qwen2", "Qwen2.5-7B-Instruct"), "<|im_start|>"),
        (("llama-2-chat",), "[INST] <<SYS>>\n{{ system }}"),
        (("gemma2", ""), ""),
        ((), ""),
    ],
)
def test_other_models_are_not(names: tuple[str, ...], template: str) -> None:
    assert Refusals.of(Catalogue.load()).why(names, template) is None


# prompts whose tokeniser is elsewhere


class Tokeniser:
    """A token is a character; keeps count of the round trips, and of what it was asked."""

    def __init__(self) -> None:
        self.trips: list[tuple[bool, list[str]]] = []

    async def __call__(self, texts: list[str], control: bool) -> list[list[int]]:
        self.trips.append((control, list(texts)))
        return [[ord(character) for character in text] for text in texts]


def prompts(tokeniser: Tokeniser, context: int = 400) -> RemotePrompts:
    template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>")
    return RemotePrompts(template, tokeniser, bos=None, context=context, who="x")


def job(*turns: tuple[str, str], prefix: str = "") -> Job:
    return Job(1, "Be kind. Level: low.", len("Be kind."), turns, prefix, 20, ())


def text_of(tokens: list[int]) -> str:
    return "".join(map(chr, tokens))


async def test_a_prompt_takes_two_round_trips_and_later_ones_one() -> None:
    tokeniser = Tokeniser()
    built = await prompts(tokeniser).build(job(("user", "hello"), prefix="I'm here. "))
    assert text_of(built.tokens) == "<system>Be kind. Level: low.<user>hello<assistant>I'm here."
    assert built.n_kept == len("<system>Be kind.")
    assert len(tokeniser.trips) == 2
    assert {control for control, _ in tokeniser.trips} == {True, False}
    same = prompts(tokeniser)
    await same.build(job(("user", "hello")))
    tokeniser.trips.clear()
    await same.build(job(("user", "and now?")))
    ((control, texts),) = tokeniser.trips
    assert not control
    assert "Be kind." not in texts, "the protocol is known by now"
    assert "and now?" in texts


async def test_what_people_say_is_never_remembered() -> None:
    tokeniser = Tokeniser()
    same = prompts(tokeniser)
    for _ in range(2):
        tokeniser.trips.clear()
        await same.build(job(("user", "my secret"), ("assistant", "yes"), ("user", "again")))
        asked_for = [text for _, texts in tokeniser.trips for text in texts]
        assert {"my secret", "yes", "again"} <= set(asked_for)


async def test_a_long_conversation_is_cut_as_the_llama_cpp_engine_cuts_it() -> None:
    turns = tuple((("user", "assistant")[n % 2], f"{n} " + "x" * 60) for n in range(21))
    built = await prompts(Tokeniser()).build(job(*turns))
    assert 10 < built.n_dropped < 20
    assert len(built.tokens) + 20 <= 400
    assert text_of(built.tokens).startswith("<system>Be kind. Level: low.<")
    with pytest.raises(BackendRefused, match="does not fit"):
        await prompts(Tokeniser(), context=60).build(job(*turns))


# lives


async def test_a_supervisor_tries_again_with_growing_pauses_and_ends_when_closed() -> None:
    seen: list[str] = []

    async def live() -> str:
        seen.append(supervisor.state)
        return "gone"

    supervisor = Supervisor("x", live, Pauses(first_s=0.01, cap_s=0.04, healthy_s=60))
    supervisor.start("beginning")
    assert (supervisor.state, supervisor.reason) == ("starting", "beginning")
    pauses: dict[str, None] = {}
    async with asyncio.timeout(5):
        while supervisor.restarts < 4:
            await asyncio.sleep(0.001)
            if "tried again" in supervisor.reason:
                pauses[supervisor.reason] = None
    assert [reason.rpartition(" in ")[2] for reason in pauses] == ["0.01 s", "0.02 s", "0.04 s"]
    await supervisor.close()
    assert supervisor.state == "stopped"
    before = len(seen)
    await asyncio.sleep(0.1)
    assert len(seen) == before


async def test_a_fault_of_our_own_is_a_life_that_ended_and_names_no_words() -> None:
    async def live() -> str:
        supervisor.ready("ready")
        raise ValueError("the words of a person")

    supervisor = Supervisor("x", live, Pauses(first_s=5.0))
    supervisor.start("beginning")
    async with asyncio.timeout(5):
        while supervisor.state != "restarting":  # noqa: ASYNC110 - it changes without an event
            await asyncio.sleep(0.001)
    assert "ValueError" in supervisor.reason
    assert "words" not in supervisor.reason
    with pytest.raises(BackendUnavailable):
        supervisor.require_ready()
    await supervisor.close()


async def test_warming_gives_way_to_people_and_is_finished_after_them() -> None:
    traffic, begun, done = Traffic(), list[int](), list[int]()

    async def warm(slot: int) -> None:
        begun.append(slot)
        await asyncio.sleep(0.05)
        done.append(slot)

    warming = asyncio.create_task(warm_slots(3, warm, traffic))
    await asyncio.sleep(0.02)
    with traffic.entered():
        await asyncio.sleep(0.15)
        assert (begun, done) == ([0], [])
    assert await warming
    assert done == [0, 1, 2]
    assert begun == [0, 0, 1, 2]


class Slots:
    """What a server does with its slots; `saved`: how many tokens it says that it saved."""

    def __init__(self, *, saved: int = 3) -> None:
        self.saved = saved
        self.did: list[str] = []

    async def warm(self, prefix: Sequence[int], slot: int, *, timeout_s: float) -> int:
        self.did.append(f"evaluated {slot}")
        return 0

    async def save(self, slot: int, name: str) -> int:
        if not self.saved:
            raise BackendUnavailable("no")
        self.did.append(f"saved {slot}")
        return self.saved

    async def restore(self, slot: int, name: str) -> int:
        self.did.append(f"restored {slot}")
        return 3


async def warmed(server: Slots, states: Path | None) -> list[str]:
    warmer = Warmer(server, [1, 2, 3], states, 1.0)  # type: ignore[arg-type] # only these three methods are asked
    assert await warm_slots(3, warmer.warm, Traffic())
    warmer.forget()
    assert not (states and (states / "protocol").exists())
    return server.did


async def test_the_protocol_is_evaluated_once_and_copied_into_the_other_slots(tmp_path: Path) -> None:
    (tmp_path / "protocol").write_bytes(b"a state")
    assert await warmed(Slots(), tmp_path) == ["evaluated 0", "saved 0", "restored 1", "restored 2"]


@pytest.mark.parametrize("saved", [0, 2, 900], ids=["it cannot", "less", "a conversation"])
async def test_a_state_that_is_not_the_protocols_is_never_copied(saved: int, tmp_path: Path) -> None:
    did = await warmed(Slots(saved=saved), tmp_path)
    assert [what for what in did if not what.startswith("saved")] == ["evaluated 0", "evaluated 1", "evaluated 2"]


async def test_without_a_folder_every_slot_evaluates() -> None:
    assert await warmed(Slots(), None) == ["evaluated 0", "evaluated 1", "evaluated 2"]


# starting a server of our own


def test_where_the_kernel_cannot_end_the_server_the_closed_pipe_does() -> None:
    script = "import sys; from serving.llama_server.guard import attend; sys.exit(attend(['sleep', '600']))"
    guard = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, cwd=Path(__file__).parent.parent)
    watched = psutil.Process(guard.pid)
    ends = time.monotonic() + 20
    while not (children := watched.children()):
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert guard.stdin is not None
    guard.stdin.close()
    assert guard.wait(20) != 0
    assert not psutil.wait_procs(children, timeout=20)[1]


def test_each_start_has_a_key_and_a_name_of_its_own_that_show_nowhere() -> None:
    one, other = Ticket.draw(0), Ticket.draw(0)
    assert one.key != other.key
    assert one.alias != other.alias
    assert one.key not in repr(one)
    assert Ticket.draw(8123).url == "http://127.0.0.1:8123"


def test_a_server_gets_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "CRISIS_X",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "VLLM_KEY",
        "PGPASSWORD",
        "my_token",
        "LLAMA_ARG_HOST",
    ):
        monkeypatch.setenv(name, "secret")
    env = environment("its-own")
    assert "secret" not in env.values()
    assert env["LLAMA_API_KEY"] == "its-own"
    monkeypatch.delenv("LLAMA_ARG_HOST")
    assert "secret" not in for_engine().values(), "nor does a worker"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("srv: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1", PORT_TAKEN),
        ("alloc: Failed to allocate CUDA0 buffer", "not enough memory for this model and context"),
        ("srv: all slots are idle", None),
    ],
)
def test_what_a_server_prints_becomes_a_fixed_reason(line: str, reason: str | None) -> None:
    assert classify(line) == reason


def test_a_key_comes_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = LlamaServerEntry(engine="llama_server", model="m", api_key_env="MY_KEY")
    monkeypatch.setenv("MY_KEY", " sk-1 ")
    assert entry.key() == "sk-1"
    assert "sk-1" not in repr(entry)
    for wrong in ("", "two words", "schlüssel"):
        monkeypatch.setenv("MY_KEY", wrong)
        with pytest.raises(SettingsError, match="MY_KEY"):
            entry.key()
    assert OllamaEntry(engine="ollama", model="m", served_as="x").key() == ""


def program(folder: Path) -> Path:
    path = folder / "llama-server"
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return path


def test_where_the_server_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(BackendMisconfigured, match="scripts/build-llama-server"):
        find_binary(None, tmp_path)
    (tmp_path / "bin").mkdir()
    on_path = program(tmp_path / "bin")
    assert find_binary(None, tmp_path) == on_path
    built = tmp_path / "llama-server" / "0.3-7"
    built.mkdir(parents=True)
    (tmp_path / "llama-server" / "current").symlink_to("0.3-7")
    made = program(built)
    assert find_binary(None, tmp_path) == made
    assert find_binary(on_path, tmp_path) == on_path
    on_path.unlink()
    with pytest.raises(BackendMisconfigured, match="is no file"):
        find_binary(on_path, tmp_path)


def test_the_log_says_once_for_each_reason_that_an_engine_is_off(caplog: pytest.LogCaptureFixture) -> None:
    log = StateLog("local")
    with caplog.at_level("INFO", logger="crisis"):
        log.note("starting", "loading")
        for pause_s in (1, 2, 4):
            log.note("failed", f"its port is taken; tried again in {pause_s} s")
        log.note("failed", "its file is damaged")
        log.note("ready", "ready")
        log.note("ready", "ready")
    assert [record.getMessage() for record in caplog.records] == [
        "local is off: its port is taken; tried again in 1 s",
        "local is off: its file is damaged",
        "local is back: ready",
    ]
