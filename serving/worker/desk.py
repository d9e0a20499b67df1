"""The worker's two shared things: the way out for frames, and what is being worked on and what was called off."""

import queue
import threading
from typing import BinaryIO, Protocol

from serving.worker.protocol import Message, encode


class Interruptible(Protocol):
    """What can be stopped in the middle of its work, from another thread."""

    def abort(self) -> None: ...
    def proceed(self) -> None:
        """Allow work again after abort()."""
        ...


class Outlet:
    """Frames to the service, whole ones, from either thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        data = encode(message)
        with self._lock:
            self._stream.write(data)
            self._stream.flush()


class Desk:
    """What is being worked on, and what was called off: shared by both threads."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.runtime: Interruptible | None = None
        self._lock = threading.Lock()
        self._current = 0  # 0: idle or warming, which any request interrupts
        self._called_off: set[int] = set()

    def submit(self, message: Message) -> None:
        with self._lock:
            self.inbox.put(message)
            if self._current == 0:
                self._interrupt()

    def call_off(self, job_id: int) -> None:
        with self._lock:
            if job_id == self._current:
                self._interrupt()
            elif job_id > self._current:  # ids rise: anything lower is done
                self._called_off.add(job_id)

    def take(self, job_id: int) -> bool:
        """Begin with a job; False when it was called off while it waited."""
        with self._lock:
            self._current = job_id
            self._proceed()
            wanted = job_id not in self._called_off
            self._called_off.discard(job_id)
            return wanted

    def rest(self) -> bool:
        """No job in hand: True when idle work may begin."""
        with self._lock:
            self._current = 0
            self._proceed()
            return self.inbox.empty()

    def _interrupt(self) -> None:
        if self.runtime:
            self.runtime.abort()

    def _proceed(self) -> None:
        if self.runtime:
            self.runtime.proceed()
