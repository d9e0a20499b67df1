"""The llama.cpp engine with the real demo model: streaming, prefill, prefix cache, trimming, cancelling, queueing."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from models.catalogue import Catalogue
from models.weights import locate
from serving.backend import BackendBusy, BackendMisconfigured, BackendRefused, BackendUnavailable, Request
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.worker.protocol import Usage
from shield.assessment import Turn

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

MODEL = locate(Catalogue.load().get("smollm2-135m-instruct-q4_1"), weights_dir=None, path=None)
PROTOCOL = "Be calm and kind. Listen first, and say back what you heard. Never give advice in lists. " * 6
SETTINGS = LlamaSettings(
    MODEL,
    context=512,
    queue=2,
    batch=128,
    sampling=Sampling(temperature=0.0, repeat_penalty=1.1),
    stop=("<|im_end|>",),
)


def ask(
    text: str = "I feel alone today.", *, level: str = "", system: str = PROTOCOL, max_tokens: int = 24, **more: object
) -> Request:
    protocol = PROTOCOL if system.startswith(PROTOCOL) else ""
    request = Request((Turn("user", text),), system + level, protocol_prefix=protocol, max_tokens=max_tokens)
    return replace(request, **more)  # type: ignore[arg-type]  # the fields of Request, by name


async def say(engine: LlamaEngine, request: Request) -> str:
    return "".join([piece async for piece in engine.stream(request)])


async def until(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - what is waited for is outside this process
            await asyncio.sleep(0.01)


async def until_accounted(engine: LlamaEngine, before: Usage) -> None:
    """The worker's account of a cancelled request comes after its reader left."""
    await until(lambda: engine.stats is not before)
    assert engine.stats.finish == "cancelled"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[LlamaEngine]:
    engine = LlamaEngine(name="local", model="smollm2", settings=SETTINGS)
    await engine.warm(PROTOCOL)
    began = time.perf_counter()
    await engine.start()
    assert time.perf_counter() - began < 0.6
    assert engine.state == "starting"
    await engine.wait_ready(60)
    await asyncio.wait_for(engine.warmed.wait(), 60)
    yield engine
    await engine.close()


async def test_it_says_what_it_loaded(engine: LlamaEngine) -> None:
    assert engine.state == "ready"
    assert (engine.name, engine.model, engine.source) == ("local", "smollm2", "local")
    assert engine.info
    assert engine.info.context == 512
    assert engine.info.system_role
    assert 1 <= engine.info.threads <= len(os.sched_getaffinity(0))


async def test_text_comes_piece_by_piece(engine: LlamaEngine) -> None:
    pieces = [piece async for piece in engine.stream(ask())]
    assert len(pieces) > 5
    assert engine.stats.n_generated >= len(pieces)
    assert not "".join(pieces).startswith(" ")


async def test_the_first_request_after_a_start_finds_the_protocol_evaluated(engine: LlamaEngine) -> None:
    fresh = LlamaEngine(name="fresh", model="smollm2", settings=SETTINGS)
    await fresh.start()
    await fresh.wait_ready(60)
    await fresh.warm(PROTOCOL)
    await asyncio.wait_for(fresh.warmed.wait(), 60)
    await say(fresh, ask(max_tokens=1))
    await fresh.close()
    assert fresh.stats.n_cached > len(PROTOCOL.split())
    assert fresh.stats.n_evaluated < 40


async def test_the_protocol_is_not_paid_for_again_whatever_came_in_between(engine: LlamaEngine) -> None:
    await say(engine, ask(level="Level: low.", max_tokens=2))
    prefix = engine.stats.n_prompt - engine.stats.n_evaluated
    for request in (
        ask("Another thing.", level="Level: low.", max_tokens=2),
        ask(level="The person may be in danger now. Level: imminent.", max_tokens=2),
        ask(system="Something else altogether.", max_tokens=2),
        ask("And now?", level="Level: moderate.", max_tokens=2),
    ):
        await say(engine, request)
        expected = prefix if request.protocol_prefix else 0
        assert engine.stats.n_cached >= min(prefix, expected)
    assert prefix > len(PROTOCOL.split())
    assert engine.stats.n_evaluated < 40


async def test_what_the_most_urgent_have_stays_warm_whatever_came_in_between_and_costs_long_talks_no_room() -> None:
    rest = " Level: imminent, and the call comes first, before anything else is said."
    fresh = LlamaEngine(name="fresh", model="smollm2", settings=SETTINGS)
    await fresh.warm(PROTOCOL, rest)
    await fresh.start()
    await fresh.wait_ready(60)
    await asyncio.wait_for(fresh.warmed.wait(), 60)
    for level in (rest, " Level: low.", " Level: moderate.", rest):
        await say(fresh, ask("Someone says it.", level=level, max_tokens=1))
        if level == rest:
            assert fresh.stats.n_evaluated < 25
    long = "again and " * ((SETTINGS.context - fresh.stats.n_prompt) // 2 - 40)
    await say(fresh, ask(long, level=" Level: low.", max_tokens=SETTINGS.context // 8))
    assert fresh.stats.n_dropped == 0
    await say(fresh, ask(level=" Level: low.", max_tokens=1))
    assert fresh.stats.n_cached > len(PROTOCOL.split()), "what every request has is never pushed out"
    await fresh.close()


async def test_a_given_beginning_is_continued_and_not_repeated(engine: LlamaEngine) -> None:
    prefix = "I hear how alone you feel. Are you safe right now? "
    reply = await say(engine, ask(prefix=prefix))
    assert reply
    assert not reply[0].isspace()
    assert not reply.startswith("I hear how")
    without_space = await say(engine, ask(prefix=prefix.strip()))
    assert without_space.strip() == reply.strip()
    assert without_space[0].isspace()


async def test_a_stop_string_ends_the_reply_and_is_not_shown(engine: LlamaEngine) -> None:
    whole = await say(engine, ask())
    word = whole.split()[3]
    assert await say(engine, ask(stop=(word,))) == whole[: whole.index(word)]
    assert engine.stats.finish == "stop"


async def test_control_tokens_typed_by_a_person_are_plain_text(engine: LlamaEngine) -> None:
    counts = []
    for text in ("hello", "hello" + "<|im_end|>" * 20):
        await say(engine, ask(text, max_tokens=1))
        counts.append(engine.stats.n_prompt)
    assert counts[1] - counts[0] >= 20 * 4  # each would be one token if it counted as control


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ud83d half a pair", "🙂🙂🙂", "{{ 1/0 }} {% for %}", "\ue0000\ue001"], ids=ascii
)
async def test_any_text_is_taken(engine: LlamaEngine, text: str) -> None:
    await say(engine, ask(text, max_tokens=3))
    assert engine.state == "ready"
    assert engine.stats.n_generated


async def test_the_oldest_turns_are_dropped_before_the_context_overflows(engine: LlamaEngine) -> None:
    turns = tuple(Turn(("user", "assistant")[n % 2], f"{n} " + "tell me more " * 25) for n in range(41))
    await say(engine, replace(ask(level="Level: low."), turns=turns))
    stats = engine.stats
    assert 20 < stats.n_dropped < 40
    assert not stats.message_cut
    assert 400 < stats.n_prompt + 24 <= 512
    assert stats.n_cached > len(PROTOCOL.split())


async def test_an_endless_message_loses_its_beginning_never_the_protocol(engine: LlamaEngine) -> None:
    await say(engine, ask("why " * 3000, max_tokens=2))
    assert engine.stats.message_cut
    assert engine.stats.n_prompt + 2 == 512


async def test_a_request_that_cannot_fit_is_refused(engine: LlamaEngine) -> None:
    with pytest.raises(BackendRefused, match="does not fit the model's context"):
        await say(engine, ask("please " * 40, max_tokens=490))
    assert engine.state == "ready"


async def test_the_last_turn_must_be_the_users(engine: LlamaEngine) -> None:
    with pytest.raises(BackendMisconfigured):
        await say(engine, replace(ask(), turns=(Turn("assistant", "hello"),)))


async def test_leaving_the_stream_stops_the_model_within_a_token(engine: LlamaEngine) -> None:
    seen, before = 0, engine.stats
    async with aclosing(engine.stream(ask("Tell me a long story.", max_tokens=300))) as pieces:
        async for _ in pieces:
            seen += 1
            if seen == 5:
                break
    await until_accounted(engine, before)
    assert engine.stats.n_generated <= seen + 5  # the tokens that were on their way on a busy machine


async def test_leaving_while_a_long_prompt_is_read_stops_it_at_once(engine: LlamaEngine) -> None:
    before = engine.stats
    request = ask("why " * 3000, system="Something new. " * 20, max_tokens=5)
    task = asyncio.create_task(say(engine, request))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    began = time.perf_counter()
    await until_accounted(engine, before)
    assert time.perf_counter() - began < 1.5
    assert engine.stats.n_generated == 0
    assert engine.stats.n_cached + engine.stats.n_evaluated < engine.stats.n_prompt


async def test_the_queue_is_bounded_and_a_waiter_can_leave_it(engine: LlamaEngine) -> None:
    async with aclosing(engine.stream(ask(max_tokens=300))) as running:
        await anext(running)
        waiters = [asyncio.create_task(say(engine, ask(max_tokens=2))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(BackendBusy, match="2 requests are waiting"):
            await say(engine, ask())
        waiters[0].cancel()
        await asyncio.sleep(0)
        waiters.append(asyncio.create_task(say(engine, ask(max_tokens=2))))
        await asyncio.sleep(0)
    async with asyncio.timeout(20):
        results = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(result, str) for result in results[1:])


async def test_the_same_seed_gives_the_same_reply() -> None:
    replies = []
    sampled = replace(SETTINGS, context=512, sampling=Sampling(temperature=1.0, seed=3))
    for _ in range(2):
        engine = LlamaEngine(name="seeded", model="smollm2", settings=sampled)
        await engine.start()
        await engine.wait_ready(60)
        replies.append(await say(engine, ask(system="Be kind.", max_tokens=8)))
        await engine.close()
    assert replies[0] == replies[1]


async def test_wishes_that_cannot_be_met_are_noted_and_do_not_stop_it() -> None:
    wishes = replace(SETTINGS, context=100_000, threads=999, gpu_layers=-1)
    engine = LlamaEngine(name="wishes", model="smollm2", settings=wishes)
    await engine.start()
    await engine.wait_ready(60)
    info = engine.info
    await engine.close()
    assert info
    assert info.context == info.context_trained == 8192
    notes = " ".join(info.notes)
    assert "using the latter" in notes
    assert "cores this process may use" in notes
    assert info.gpu or "no GPU support" in notes


async def drained(stream: AsyncIterator[str]) -> None:
    """What had arrived before the end may still be read."""
    async for _ in stream:
        pass


async def test_closing_leaves_no_process_and_no_answer() -> None:
    engine = LlamaEngine(name="closing", model="smollm2", settings=SETTINGS)
    await engine.start()
    await engine.wait_ready(60)
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
    engine = LlamaEngine(name="closing", model="smollm2", settings=SETTINGS)
    await engine.start()
    await asyncio.sleep(0.15)
    pid = engine.pid
    await engine.close()
    assert engine.state == "stopped"
    assert pid is None or not alive(pid)


PARENT = """
import asyncio, sys
from pathlib import Path
from serving.llama.engine import LlamaEngine
from serving.worker.protocol import Usage
from serving.llama.settings import LlamaSettings

async def main():
    engine = LlamaEngine(name="x", model="x", settings=LlamaSettings(Path(sys.argv[1]), context=512))
    await engine.start()
    await engine.wait_ready(60)
    print(engine.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("stopped", [False, True])
async def test_no_worker_outlives_the_service(stopped: bool) -> None:
    service = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, str(MODEL), stdout=subprocess.PIPE)
    assert service.stdout
    worker = int(await service.stdout.readline())
    if stopped:  # it cannot see the closed pipe: the kernel must end it
        os.kill(worker, signal.SIGSTOP)
    service.kill()
    await service.wait()
    await until(lambda: not alive(worker))


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped by another does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
