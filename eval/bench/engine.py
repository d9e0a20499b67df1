"""What the whole path costs over the bare engine, and what the cached protocol saves. Uses the demo model for real."""

import asyncio
import contextlib
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import uvicorn

from eval.bench.client import stream_events
from eval.bench.figures import percentile, summary
from eval.bench.sample import PROMPTS
from models.catalogue import Catalogue
from prompts.protocol import protocol_prefix, system_prompt
from serving.backend import Request
from serving.http.app import create_app
from serving.http.server import server_config
from serving.http.service import HttpOptions
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings, Sampling
from serving.service import Service
from serving.settings import Settings
from serving.supervision import Engine
from serving.wiring import DEMO_MODEL, build, demo_settings
from shield.assessment import Turn

_COLD_ROUNDS = 3
_PATH_ROUNDS = 3
_RESOURCE_REQUESTS = 60
_BARE_WAIT_S = 60.0


def as_if_approved() -> Catalogue:
    """The catalogue with the demo model as an approved one: one request to the engine for each reply."""
    cards = Catalogue.load()
    return Catalogue([replace(cards.get(DEMO_MODEL), status="approved")])


def measure_first_token() -> dict[str, Any]:
    """Time to the engine's first text: a fresh engine that never saw the protocol, then with it in the cache."""
    cold: list[float] = []
    cached: list[float] = []
    for _ in range(_COLD_ROUNDS):
        for position, seconds in enumerate(asyncio.run(_fresh_engine())):
            (cached if position else cold).append(seconds * 1000)
    ratio = summary(cached)["median"] / summary(cold)["median"]
    return {
        "cold_ms": summary(cold, 1),
        "prefix_cached_ms": summary(cached, 1),
        "ratio": round(ratio, 3),
        "aim": "ratio at most 0.3",
        "met": ratio <= 0.3,
    }


async def _fresh_engine() -> list[float]:
    (engine,) = build(demo_settings(Settings()), as_if_approved()).engines
    await engine.start()
    try:
        await engine.wait_ready(120)
        return [await _first_text(engine, prompt) for prompt in PROMPTS[:5]]
    finally:
        await engine.close()


async def _first_text(engine: Engine, prompt: str) -> float:
    system = system_prompt(
        level="high", kind="direct", language="en", channel="chat", gospel="off", signals=frozenset()
    )
    request = Request((Turn("user", prompt),), system=system, protocol_prefix=protocol_prefix(), max_tokens=4)
    began = time.perf_counter()
    async with contextlib.aclosing(engine.stream(request)) as pieces:  # type: ignore[type-var] # an async generator
        async for _ in pieces:
            return time.perf_counter() - began
    return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Cost:
    """One reply: seconds it took over HTTP, and what the engine did for it."""

    seconds: float
    n_prompt: int
    n_cached: int
    n_generated: int


def measure_path() -> dict[str, Any]:
    """Replies over HTTP, each beside the bare engine doing the same number of tokens in a process of its own."""
    ratios: list[float] = []
    ours = bare = 0.0
    tokens = 0
    with _served() as (port, engine), _bare_engine(engine.settings) as ask:
        resources = [_event_ms(port, prompt, "resources") for prompt in PROMPTS * (_RESOURCE_REQUESTS // len(PROMPTS))]
        first = [_event_ms(port, prompt, "sentence") for prompt in PROMPTS]
        for _ in range(_PATH_ROUNDS):
            for prompt in PROMPTS:
                cost = _reply(port, engine, prompt)
                seconds = ask(cost)
                ratios.append(cost.seconds / seconds)
                ours, bare, tokens = ours + cost.seconds, bare + seconds, tokens + cost.n_generated
    overhead = ours / bare - 1
    return {
        "resources_event_ms": {
            **summary(resources, 2),
            "aim": "p95 under 10 ms",
            "met": percentile(resources, 0.95) < 10,
        },
        "first_sentence_ms": summary(first, 2),
        "overhead": {
            "replies": len(ratios),
            "tokens": tokens,
            "whole_path_s": round(ours, 3),
            "bare_engine_s": round(bare, 3),
            "overhead": round(overhead, 4),
            "ratio_per_reply": summary(ratios),
            "aim": "overhead at most 0.03",
            "met": overhead <= 0.03,
        },
    }


def _event_ms(port: int, prompt: str, wanted: str) -> float:
    with contextlib.closing(stream_events(port, {"message": prompt, "country": "US"})) as events:
        return next((seconds * 1000 for name, _, seconds in events if name == wanted), 0.0)


def _reply(port: int, engine: Engine, prompt: str) -> Cost:
    seconds = 0.0
    for name, _, at in stream_events(port, {"message": prompt, "country": "US"}):
        if name == "done":
            seconds = at
    time.sleep(0.05)  # a cancelled reply's usage arrives just after the answer
    stats = engine.stats
    return Cost(seconds, stats.n_prompt, stats.n_cached, stats.n_generated)


@contextlib.contextmanager
def _served() -> Iterator[tuple[int, LlamaEngine]]:
    """The real service with the demo model, in a thread of this process, so that the engine's counts can be read."""
    service: Service = build(demo_settings(Settings()), as_if_approved())
    (engine,) = service.engines
    if not isinstance(engine, LlamaEngine):
        raise TypeError("the demo is run by llama.cpp in a process of its own")
    app = create_app(service, HttpOptions(), on_start=service.start, on_stop=service.stop)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(app, log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        ends = time.monotonic() + 120
        while not engine.warmed.is_set() and time.monotonic() < ends:
            time.sleep(0.05)
        yield int(listener.getsockname()[1]), engine
    finally:
        server.should_exit = True
        thread.join(20)


@contextlib.contextmanager
def _bare_engine(settings: LlamaSettings) -> Iterator[Any]:
    """llama.cpp in a process of its own without a pipe per token, a gate, or HTTP; asked for so many tokens."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_bare, args=(settings, there), daemon=True)
    process.start()

    def ask(cost: Cost) -> float:
        here.send((cost.n_prompt, cost.n_cached, cost.n_generated))
        if not here.poll(_BARE_WAIT_S):
            raise RuntimeError("the bare engine does not answer")
        return float(here.recv())

    try:
        if not here.poll(_BARE_WAIT_S):
            raise RuntimeError("the bare engine did not start")
        here.recv()
        yield ask
    finally:
        here.send(None)
        process.join(10)


def _bare(settings: LlamaSettings, pipe: Connection) -> None:
    from serving.llama.runtime import Runtime
    from serving.worker.cores import available, plan

    runtime = Runtime(settings, plan(available(), generate=settings.threads, prompt=settings.prompt_threads))
    pipe.send("ready")
    while (job := pipe.recv()) is not None:
        n_prompt, n_cached, n_generated = job
        text = [100 + n % 1000 for n in range(n_prompt)]
        runtime.begin([*text[:n_cached], 5], room=n_generated)
        runtime.evaluate(text[runtime.evaluated() : n_cached])
        began = time.perf_counter()
        with runtime.sampler([], Sampling(temperature=0.7)) as sampler:
            runtime.evaluate(text[n_cached:])
            for step in range(n_generated):
                token = sampler.next()
                runtime.piece(token)
                if step + 1 < n_generated:
                    runtime.evaluate([token])
        pipe.send(time.perf_counter() - began)
