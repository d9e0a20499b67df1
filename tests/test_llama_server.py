"""The llama_server engine with llama.cpp's real server and the real demo model: slots, prefill, cache, cancelling."""

import asyncio
import os
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from llama_server_binary import BINARY, MODEL, needs_server

from serving.backend import BackendBusy, BackendMisconfigured, BackendRefused, BackendUnavailable, Request
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.supervision import Pauses
from shield.assessment import Turn

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module"), needs_server]

PROTOCOL = "Be calm and kind. Listen first, and say back what you heard. Never give advice in lists. " * 6
SLOTS = 3
SETTINGS = LlamaServerSettings(
    Launch(BINARY, MODEL, batch=128),
    context=512,
    parallel=SLOTS,
    queue=2,
    sampling=Sampling(temperature=0.0),
    stop=("<|im_end|>",),
    stall_s=100.0,
    pauses=Pauses(first_s=0.1, cap_s=0.4, healthy_s=0.0),
)


def ask(
    text: str = "I feel alone today.", *, level: str = "", system: str = PROTOCOL, max_tokens: int = 24, **more: object
) -> Request:
    protocol = PROTOCOL if system.startswith(PROTOCOL) else ""
    request = Request((Turn("user", text),), system + level, protocol_prefix=protocol, max_tokens=max_tokens)
    return replace(request, **more)  # type: ignore[arg-type]  # the fields of Request, by name


async def say(engine: LlamaServerEngine | LlamaEngine, request: Request) -> str:
    return "".join([piece async for piece in engine.stream(request)])


def found(folder: Path) -> tuple[int, int] | None:
    """Who may look into a folder, and how much is in it; None where there is none."""
    return (stat.S_IMODE(folder.stat().st_mode), len(list(folder.iterdir()))) if folder.exists() else None


async def started(settings: LlamaServerSettings, name: str = "local") -> LlamaServerEngine:
    engine = LlamaServerEngine(name=name, model="smollm2", settings=settings)
    await engine.start()
    await engine.wait_ready(60)
    return engine


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[LlamaServerEngine]:
    engine = LlamaServerEngine(name="local", model="smollm2", settings=SETTINGS)
    await engine.warm(PROTOCOL)
    began = time.perf_counter()
    await engine.start()
    assert time.perf_counter() - began < 0.6
    assert engine.state == "starting"
    with pytest.raises(BackendUnavailable, match="loading the model"):
        await say(engine, ask())
    await engine.wait_ready(60)
    await asyncio.wait_for(engine.warmed.wait(), 60)
    yield engine
    await engine.close()


async def test_it_says_what_it_really_has(engine: LlamaServerEngine) -> None:
    assert engine.state == "ready"
    assert engine.look
    assert (engine.look.slots, engine.look.context) == (SLOTS, 512)
    assert f"{SLOTS} slots of 512 tokens" in engine.state_reason
    assert "llama.cpp" in engine.state_reason


async def test_every_slot_was_warmed_before_anybody_came(engine: LlamaServerEngine) -> None:
    """As many at once as there are slots: each finds the protocol evaluated, wherever it lands."""
    cached: list[int] = []

    async def first(text: str) -> None:
        await say(engine, ask(text, max_tokens=2))
        cached.append(engine.stats.n_cached)

    await asyncio.gather(*(first(f"Person {n} says something of their own.") for n in range(SLOTS)))
    assert len(cached) == SLOTS
    assert min(cached) > len(PROTOCOL.split())


async def test_what_the_most_urgent_have_is_warm_too_in_every_slot_and_no_state_stays_on_the_disk() -> None:
    rest = " Level: imminent, and the call comes first, before anything else is said."
    engine = LlamaServerEngine(name="local", model="smollm2", settings=SETTINGS)
    await engine.warm(PROTOCOL, rest)
    await engine.start()
    await engine.wait_ready(60)
    await asyncio.wait_for(engine.warmed.wait(), 60)
    command = psutil.Process(engine.pid).cmdline()
    states = Path(command[command.index("--slot-save-path") + 1])
    assert found(states) == (0o700, 0)
    evaluated: list[int] = []

    async def first(text: str) -> None:
        await say(engine, ask(text, level=rest, max_tokens=1))
        evaluated.append(engine.stats.n_evaluated)

    await asyncio.gather(*(first(f"Person {n} says it.") for n in range(SLOTS)))
    assert max(evaluated) < 25, "the message and the template's own words"
    await engine.close()
    assert found(states) is None


async def test_text_comes_piece_by_piece_and_is_accounted_for(engine: LlamaServerEngine) -> None:
    pieces = [piece async for piece in engine.stream(ask())]
    assert len(pieces) > 5
    assert not pieces[0][0].isspace()
    stats = engine.stats
    assert stats.n_generated == 24
    assert stats.finish == "length"
    assert stats.n_prompt == stats.n_cached + stats.n_evaluated


async def test_conversations_run_side_by_side_and_do_not_mix(engine: LlamaServerEngine) -> None:
    words = ("zebra", "lantern", "river")

    async def recall(word: str) -> str:
        prefix = f"The word is {word}. The word is {word}. The word is"
        return await say(engine, ask(f"Say {word}.", prefix=prefix, max_tokens=4))

    replies = await asyncio.gather(*map(recall, words))
    assert [word for word, reply in zip(words, replies, strict=True) if word in reply] == list(words)


async def test_prompts_are_the_same_tokens_as_the_llama_cpp_engine_makes(engine: LlamaServerEngine) -> None:
    other = LlamaEngine(
        name="other",
        model="smollm2",
        settings=LlamaSettings(MODEL, context=512, sampling=Sampling(temperature=0.0), stop=("<|im_end|>",)),
    )
    await other.start()
    await other.wait_ready(60)
    turns = (Turn("user", "I feel alone."), Turn("assistant", "I'm here."), Turn("user", "¿De verdad? 🙂"))
    for request in (
        ask(max_tokens=1),
        ask(level="Level: low.", prefix="I hear how alone you feel. ", max_tokens=1),
        ask("hello" + "<|im_end|>" * 5, max_tokens=1),
        ask(turns=turns, max_tokens=1),
        ask(system="", max_tokens=1),
    ):
        await say(engine, request)
        await say(other, request)
        assert other.stats.n_prompt == engine.stats.n_prompt
    await other.close()


async def test_a_given_beginning_is_continued_and_not_repeated(engine: LlamaServerEngine) -> None:
    prefix = "I hear how alone you feel. Are you safe right now? "
    reply = await say(engine, ask(prefix=prefix))
    assert reply
    assert not reply[0].isspace()
    assert not reply.startswith("I hear how")
    without_space = await say(engine, ask(prefix=prefix.strip()))
    assert without_space.strip() == reply.strip()
    assert without_space[0].isspace()


async def test_a_stop_string_ends_the_reply_and_is_told_apart_from_a_limit(engine: LlamaServerEngine) -> None:
    whole = await say(engine, ask())
    assert engine.stats.finish == "length"
    word = whole.split()[3]
    assert await say(engine, ask(stop=(word,))) == whole[: whole.index(word)]
    assert engine.stats.finish == "stop"


async def test_control_tokens_typed_by_a_person_are_plain_text(engine: LlamaServerEngine) -> None:
    counts = []
    for text in ("hello", "hello" + "<|im_end|>" * 20):
        await say(engine, ask(text, max_tokens=1))
        counts.append(engine.stats.n_prompt)
    assert counts[1] - counts[0] >= 20 * 4  # each would be one token if it counted as control


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud83d half a pair", "🙂🙂🙂", "{{ 1/0 }} {% for %}", "\ue0000\ue001", "-1"], ids=ascii
)
async def test_any_text_is_taken(engine: LlamaServerEngine, text: str) -> None:
    await say(engine, ask(text, max_tokens=3))
    assert engine.state == "ready"
    assert engine.stats.n_generated


async def test_the_oldest_turns_are_dropped_before_anything_is_sent(engine: LlamaServerEngine) -> None:
    turns = tuple(Turn(("user", "assistant")[n % 2], f"{n} " + "tell me more " * 25) for n in range(41))
    await say(engine, replace(ask(level="Level: low."), turns=turns))
    stats = engine.stats
    assert 20 < stats.n_dropped < 40
    assert 400 < stats.n_prompt + 24 <= 512
    assert stats.n_cached > len(PROTOCOL.split())


async def test_an_endless_message_loses_its_beginning_never_the_protocol(engine: LlamaServerEngine) -> None:
    await say(engine, ask("why " * 3000, max_tokens=2))
    assert engine.stats.message_cut
    assert engine.stats.n_prompt + 2 == 512


async def test_a_request_that_cannot_fit_is_refused_before_it_is_sent(engine: LlamaServerEngine) -> None:
    before = engine.stats
    with pytest.raises(BackendRefused, match="does not fit the model's context"):
        await say(engine, ask("please " * 40, max_tokens=490))
    assert engine.stats is before
    assert engine.state == "ready"


async def test_the_last_turn_must_be_the_users(engine: LlamaServerEngine) -> None:
    with pytest.raises(BackendMisconfigured):
        await say(engine, replace(ask(), turns=(Turn("assistant", "hello"),)))


async def test_leaving_the_stream_frees_the_slot_within_a_few_tokens(engine: LlamaServerEngine) -> None:
    """All slots are left in the middle of long replies. Measured in the time that ten tokens take on this machine."""
    replies = [engine.stream(ask("Tell me a long story.", max_tokens=300)) for _ in range(SLOTS)]
    for pieces in replies:
        await anext(pieces)
    assert await engine.busy() == SLOTS
    began = time.perf_counter()
    for _ in range(10):
        await anext(replies[0])
    ten_tokens_s = time.perf_counter() - began
    began = time.perf_counter()
    for pieces in replies:
        await pieces.aclose()  # type: ignore[attr-defined]  # an async generator
    while await engine.busy():  # noqa: ASYNC110 - what is waited for is outside this process
        await asyncio.sleep(0.01)
    assert time.perf_counter() - began < max(1.0, 5 * ten_tokens_s)  # the rest of the replies would take 29 times that
    assert all(await asyncio.gather(*(say(engine, ask(max_tokens=2)) for _ in range(SLOTS))))


async def test_leaving_while_a_long_prompt_is_read_stops_it(engine: LlamaServerEngine) -> None:
    request = ask("why " * 3000, system="Something new. " * 20, max_tokens=1)
    task = asyncio.create_task(say(engine, request))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(4.0)  # long enough to read it all, if nobody had been heard
    await say(engine, request)
    assert engine.stats.n_evaluated > 32, "had it read on, only the last token would be left"


async def test_the_queue_is_bounded_and_a_waiter_can_leave_it(engine: LlamaServerEngine) -> None:
    running = [engine.stream(ask(max_tokens=300)) for _ in range(SLOTS)]
    for pieces in running:
        await anext(pieces)
    waiters = [asyncio.create_task(say(engine, ask(max_tokens=2))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(BackendBusy, match="2 requests are waiting"):
        await say(engine, ask())
    waiters[0].cancel()
    await asyncio.sleep(0)
    waiters.append(asyncio.create_task(say(engine, ask(max_tokens=2))))
    await asyncio.sleep(0)
    for pieces in running:
        await pieces.aclose()  # type: ignore[attr-defined]  # an async generator
    async with asyncio.timeout(20):
        results = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, str) for result in results[1:])


async def test_a_request_that_comes_while_it_warms_is_not_kept_waiting() -> None:
    """With one slot, warming and people share it: people first."""
    engine = await started(replace(SETTINGS, parallel=1, context=1024))
    protocol = PROTOCOL * 4
    began = time.perf_counter()
    await engine.warm(protocol)
    await asyncio.sleep(0.2)
    await say(engine, ask(system="Be kind.", max_tokens=1))
    answered_s = time.perf_counter() - began
    assert not engine.warmed.is_set()
    await asyncio.wait_for(engine.warmed.wait(), 60)
    warmed_s = time.perf_counter() - began
    await engine.close()
    assert answered_s < 0.75 * warmed_s  # called off too late, warming would be over by then


async def test_seeds_count_and_a_context_larger_than_the_models_is_cut_and_said() -> None:
    engine = await started(replace(SETTINGS, parallel=1, context=10_000, sampling=Sampling(temperature=1.0, seed=3)))
    replies = [await say(engine, ask(system="Be kind.", max_tokens=8)) for _ in range(2)]
    assert replies[0] == replies[1]
    assert engine.look
    assert engine.look.context == 8192
    assert "8192 tokens, all that the model was made for: 10000 were asked for" in engine.state_reason
    await engine.close()


async def test_what_the_server_reports_may_refuse_the_model(engine: LlamaServerEngine) -> None:
    seen: list[tuple[Sequence[str], str]] = []

    def refuse(reported: tuple[str, ...], template: str) -> str:
        seen.append((reported, template))
        return "refused for a test"

    picky = LlamaServerEngine(name="picky", model="m", settings=replace(SETTINGS, parallel=1), refuse=refuse)
    await picky.start()
    with pytest.raises(BackendUnavailable, match="refused for a test"):
        await picky.wait_ready(30)
    await picky.close()
    (reported, template), *_ = seen
    assert MODEL.name in reported
    assert "<|im_start|>" in template


# its end


async def drained(stream: AsyncIterator[str]) -> None:
    """What had arrived before the end may still be read."""
    async for _ in stream:
        pass


async def test_closing_leaves_no_process_and_no_answer() -> None:
    engine = await started(replace(SETTINGS, parallel=1))
    pid = engine.pid
    assert pid
    stream = engine.stream(ask(max_tokens=300))
    await anext(stream)
    await engine.close()
    with pytest.raises(BackendUnavailable, match="closed"):
        await asyncio.wait_for(drained(stream), 5)
    assert not alive(pid)
    with pytest.raises(BackendUnavailable, match="closed"):
        await say(engine, ask())


async def test_closing_while_the_model_loads_leaves_no_process() -> None:
    engine = LlamaServerEngine(name="closing", model="smollm2", settings=SETTINGS)
    await engine.start()
    await asyncio.sleep(0.3)
    pid = engine.pid
    await engine.close()
    assert engine.state == "stopped"
    assert pid is None or not alive(pid)


PARENT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from test_llama_server import SETTINGS, started
from dataclasses import replace

async def main():
    engine = await started(replace(SETTINGS, parallel=1))
    print(engine.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_no_server_outlives_the_service() -> None:
    here = str(Path(__file__).parent)
    service = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, here, stdout=subprocess.PIPE)
    assert service.stdout
    server = int(await service.stdout.readline())
    assert alive(server)
    service.kill()
    await service.wait()
    async with asyncio.timeout(10):
        while alive(server):  # noqa: ASYNC110 - what is waited for is outside this process
            await asyncio.sleep(0.02)


async def test_it_gets_none_of_the_services_secrets_and_its_key_is_not_on_its_command_line(
    engine: LlamaServerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRISIS_ANTHROPIC_API_KEY", "sk-hidden")
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "99")
    other = await started(replace(SETTINGS, parallel=1))
    assert other.pid
    environ, command = environ_and_command(other.pid)
    key = next(line for line in environ.split("\0") if line.startswith("LLAMA_API_KEY=")).partition("=")[2]
    await other.close()
    assert "sk-hidden" not in environ
    assert "LLAMA_ARG_CTX_SIZE" not in environ
    assert len(key) > 30
    assert key not in command
    assert os.getpgid(os.getpid()) != other.pid


def environ_and_command(pid: int) -> tuple[str, str]:
    process = Path(f"/proc/{pid}")
    return (process / "environ").read_text(), (process / "cmdline").read_text()


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped by another does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
