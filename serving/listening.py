"""Lets an evaluation hear what a backend writes before the gate, in its own process and its own task; off otherwise.

The chain hands every backend's text through `heard`. Nothing gets past the gate this way: the listener passes the
pieces on, and only those are judged and shown.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from serving.backend import Backend

Listener = Callable[[Backend, AsyncIterator[str]], AsyncIterator[str]]
"""Given a backend and what it writes; yields the same pieces."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hears every request that is made of a backend in this task (and in tasks begun by it) until the block ends."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def heard(backend: Backend, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    """The pieces, through the listener where there is one."""
    listener = _listener.get()
    return pieces if listener is None else listener(backend, pieces)
