"""WorkerEngine: the backend that has a model generate in a process of its own, and keeps that process alive.

starting -> ready -> restarting -> ready …      it died or hung; started again after a pause that doubles up to a cap
         -> failed -> ready …                   it could not load; tried again in the same way, for files do get mended
                      -> stopped                close() was called

While it is not ready, stream() raises BackendUnavailable at once, so that the chain can move on.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from serving.backend import (
    BackendNotReady,
    BackendRefused,
    BackendUnavailable,
    Request,
)
from serving.classification import Classification, classified
from serving.places import Places
from serving.supervision import State, StateLog
from serving.worker.jobs import job_of
from serving.worker.link import Link
from serving.worker.protocol import Info, Job, Message, Usage
from serving.worker.settings import WorkerSettings

SettingsT = TypeVar("SettingsT", bound=WorkerSettings)
_LATE_S = 1.0


class WorkerEngine(Generic[SettingsT]):
    """One model, one worker, one reply at a time; further requests wait in a bounded queue.

    worker: the module that the process runs, set by each kind of engine.
    """

    worker: ClassVar[str]

    def __init__(self, *, name: str, model: str, settings: SettingsT, source: str = "local") -> None:
        self.name = name
        self.model = model
        self.source = source
        self.settings = settings
        self.state: State = "stopped"
        self.state_reason = "not started"
        self.info: Info | None = None
        self.stats = Usage()
        self.restarts = 0
        self.warmed = asyncio.Event()
        self._loaded = asyncio.Event()
        self._settled = asyncio.Event()
        self._log = StateLog(name)
        self._turn = Places(1, queue=settings.queue, who=name)
        self._last_id = 0
        self._prefix = ("", "")
        self._link: Link | None = None  # the worker to ask; _opened is the last one started, for closing
        self._opened: Link | None = None
        self._load_failure: str | None = None
        self._inboxes: dict[int, asyncio.Queue[Message]] = {}
        self._in_flight: set[int] = set()
        self._heard = self._moved = 0.0
        self._supervisor: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process id; None when there is none."""
        return self._link.pid if self._link else None

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return self._turn.waiting

    async def start(self) -> None:
        """Begin loading in the background; returns at once."""
        if self._supervisor is None:
            self._enter("starting", "loading the model")
            self._supervisor = asyncio.get_running_loop().create_task(
                self._supervise(), name=f"supervisor of {self.name}"
            )

    async def wait_ready(self, timeout_s: float) -> None:
        """Return once it is ready. Raises BackendUnavailable when loading failed, or is not done in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._settled.wait()
        self._ready_link()

    async def warm(self, prefix: str, rest: str = "") -> None:
        """Keep this beginning of the system text evaluated from now on, over restarts too; returns at once.

        prefix: what every request has; rest: what the one has, after it, that must not wait. The worker does it when
        nobody waits; `warmed` is set once it is done.
        """
        self._prefix = (prefix, rest)
        self._send_warm()

    async def close(self) -> None:
        """End the worker; returns when its process is gone."""
        if self._supervisor is None:
            return
        self._enter("stopped", "closed")
        self._supervisor.cancel()
        with suppress(asyncio.CancelledError):
            await self._supervisor
        self._supervisor = None
        if self._opened:  # the cancellation may have come in the middle of its own closing
            await self._opened.close(self.settings.stop_timeout_s)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Pieces of the reply after request.prefix. Closing the iterator stops the model within a token."""
        await self._become_ready()
        async with self._turn.taken(request.level, patience_s=request.patience_s):
            with self._posted(self._job(request)) as inbox:
                while (frame := await inbox.get())["e"] == "t":
                    yield frame["s"]
                self._conclude(frame)
                request.cost(self.stats.n_prompt, self.stats.n_generated)

    async def classify(self, request: Request, labels: Sequence[str]) -> Classification:
        """Which of the labels the model would answer with. Waits for its turn as a reply does."""
        await self._become_ready()
        async with self._turn.taken(request.level, patience_s=request.patience_s):
            with self._posted(replace(self._job(request), labels=tuple(labels))) as inbox:
                frame = await inbox.get()
        if "chances" not in frame:
            self._conclude(frame)
            raise BackendUnavailable(f"{self.name}: the question was called off")
        return classified(frame["chances"], who=self.name)

    # one request

    async def _become_ready(self) -> Link:
        if self._link is None and self.settings.ready_wait_s > 0:
            await self.wait_ready(self.settings.ready_wait_s)
        return self._ready_link()

    def _ready_link(self) -> Link:
        if self._link is None or self.state != "ready":
            raise BackendNotReady(f"{self.name}: {self.state_reason}")
        return self._link

    def _job(self, request: Request) -> Job:
        self._last_id += 1
        return job_of(request, self._last_id, who=self.name)

    @contextmanager
    def _posted(self, job: Job) -> Iterator[asyncio.Queue[Message]]:
        """The job's frames, as they come; leaving before its end calls the job off."""
        link = self._ready_link()  # the wait for a turn may have been long
        inbox = self._inboxes[job.id] = asyncio.Queue()
        if not self._in_flight:  # else a hung engine would look alive for as long as people keep asking
            self._moved = time.monotonic()
        self._in_flight.add(job.id)
        link.send(job.to_message())
        try:
            yield inbox
        finally:
            del self._inboxes[job.id]
            if job.id in self._in_flight:
                link.send({"op": "cancel", "id": job.id})

    def _conclude(self, frame: Message) -> None:
        if frame["e"] == "lost":
            raise BackendUnavailable(f"{self.name}: {self.state_reason}")
        match frame["usage"]:
            case {"finish": "refused"}:
                raise BackendRefused(f"{self.name}: {frame['reason']}")
            case {"finish": "error"}:
                raise BackendUnavailable(f"{self.name}: {frame['reason']}")
            case {"n_generated": 0}:
                raise BackendRefused(f"{self.name}: an empty reply")

    # frames

    def _on_frame(self, frame: Message) -> None:
        self._heard = time.monotonic()
        match frame["e"]:
            case "t":
                self._moved = self._heard
                self._deliver(frame)
            case "progress":
                self._moved = self._heard
            case "done":
                self._moved = self._heard
                self._in_flight.discard(frame["id"])
                self.stats = Usage(**frame["usage"])
                self._deliver(frame)
            case "warm":
                self.warmed.set()
            case "ready":
                self.info = Info(**frame["info"] | {"notes": tuple(frame["info"]["notes"])})
                self._loaded.set()
            case "failed":
                self._load_failure = frame["reason"]

    def _deliver(self, frame: Message) -> None:
        if inbox := self._inboxes.get(frame["id"]):
            inbox.put_nowait(frame)

    def _send_warm(self) -> None:
        self.warmed.clear()
        prefix, rest = self._prefix
        if prefix and self._link and self.state == "ready":
            self._link.send({"op": "warm", "prefix": prefix, "rest": rest})

    # supervision

    async def _supervise(self) -> None:
        pause_s = self.settings.backoff_s
        while True:
            healthy_s, reason = await self._run_worker()
            if healthy_s > 0 and healthy_s >= self.settings.healthy_s:
                pause_s = self.settings.backoff_s
            self._enter("restarting" if healthy_s else "failed", f"{reason}; tried again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, self.settings.backoff_cap_s)
            self.restarts += 1

    async def _run_worker(self) -> tuple[float, str]:
        """One life of a worker: how long it was ready (0: it never was), and why it ended."""
        self._loaded.clear()
        self._load_failure = None
        try:
            link = await Link.open(self.worker, self.settings.to_json(), self._on_frame)
        except OSError:
            return 0.0, "the system would not start another process"
        self._opened = self._link = link
        try:
            await self._await_load(link)
            began = time.monotonic()
            if self._loaded.is_set():
                self._enter("ready", "ready")
                self._send_warm()
                await self._watch(link)
            reason = self._load_failure or await link.reason()
            healthy_s = time.monotonic() - began if self._loaded.is_set() else 0.0
            self._enter("restarting" if healthy_s else "failed", reason)
        finally:
            self._link = None
            self._lose_requests()
            await link.close(self.settings.stop_timeout_s)
        return healthy_s, reason

    async def _await_load(self, link: Link) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (self._loaded, link.ended)]
        limit_s = self.settings.start_timeout_s
        try:
            done, _ = await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not done:
            link.kill(f"the model was not loaded within {limit_s:g} s")
            await link.ended.wait()

    async def _watch(self, link: Link) -> None:
        """Return when the worker has ended; kill it when it makes no move for stall_s."""
        tick_s = min(1.0, self.settings.stall_s / 4)
        self._heard = time.monotonic()
        while not link.ended.is_set():
            due = time.monotonic() + tick_s
            with suppress(TimeoutError):
                async with asyncio.timeout(tick_s):
                    await link.ended.wait()
            now = time.monotonic()
            if now - due > _LATE_S:  # this process itself was stopped: the silence may be ours
                self._heard = self._moved = now
            silent_since = min(self._heard, self._moved) if self._in_flight else self._heard
            if now - silent_since > self.settings.stall_s:
                link.kill(f"the engine made no move for {self.settings.stall_s:g} s")
                await link.ended.wait()
            elif now - self._heard > tick_s:
                link.send({"op": "ping"})

    def _lose_requests(self) -> None:
        self._in_flight.clear()
        for inbox in self._inboxes.values():
            inbox.put_nowait({"e": "lost"})

    def _enter(self, state: State, reason: str) -> None:
        self.state, self.state_reason = state, reason
        self._log.note(state, reason)
        if state in ("ready", "failed", "stopped"):
            self._settled.set()
        else:
            self._settled.clear()
