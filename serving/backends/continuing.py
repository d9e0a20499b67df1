"""What goes on of a model's text: no more than was asked for, and nothing of the beginning that was already shown."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from serving.backend import BackendRefused, Request
from serving.backends.continuation import Continuation

CHARACTERS_PER_TOKEN = 8
"""A bound for servers that ignore max_tokens: no language needs more for each token on average."""


async def continuing(texts: AsyncGenerator[str, None], request: Request, *, name: str) -> AsyncGenerator[str, None]:
    """The texts as they continue request.prefix. Closes them at their end. Raises BackendRefused when none is left."""
    stage = Continuation(request.prefix)
    room, silent = request.max_tokens * CHARACTERS_PER_TOKEN, True
    async with aclosing(texts):
        async for text in texts:
            piece = stage.feed(text[:room])
            room -= len(text)
            if piece:
                silent = False
                yield piece
            if room <= 0:
                break
    if piece := stage.flush():
        silent = False
        yield piece
    if silent:
        raise BackendRefused(f"{name}: an empty reply")
