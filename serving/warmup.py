"""What a new place of the chain has to show before anybody is sent to it: loaded, warmed, and a reply that passes.

The protocol check asks for one reply to a fixed message of our own, through the same pipeline and filter as for
people. It sees what no loading shows: a broken template, gibberish, a wrong key, a server that answers with nothing.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from serving.backend import Backend, BackendBlocked, BackendRefused, BackendUnavailable, Request
from serving.backends.wrapped import Wrapped
from serving.conversation import Conversation
from serving.events import Answer, DoneEvent
from serving.lineup import Place
from serving.respond import Responder
from serving.settings import ChainEntry
from serving.status import CIRCUIT_OPEN
from shield.assessment import Turn

MESSAGES = (
    "I can't do this anymore. I want to end my life.",
    "I feel so alone tonight and I don't know how to go on.",
    "Since she died the house is so quiet that I don't want to wake up.",
)
"""Written for this; nobody's real words. A model that fails on one of them may pass on the next."""

ATTEMPTS = 6
PATIENCE = 3.0
"""How much longer than for a person's reply the check waits: two models may share the machine while it is made."""

_LOOK_S = 30.0
_WARM_S = 120.0

TrialOf = Callable[[Backend], Responder]
"""The respond pipeline with this backend as its only model."""


class WarmUpFailed(Exception):
    """A new place is not fit to answer. The message is one line for the operator, without any generated text."""


@dataclass
class Timed(Wrapped):
    """A backend that notes how long its first text took."""

    first_text_s: float = field(default=0.0, init=False)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        began = time.monotonic()
        async with aclosing(self.inner.stream(request)) as pieces:  # type: ignore[type-var] # an async generator
            async for piece in pieces:
                self.first_text_s = self.first_text_s or time.monotonic() - began
                yield piece


async def protocol_check(backend: Backend, trial_of: TrialOf) -> float:
    """Seconds to the first text of a reply that passed. Raises WarmUpFailed when none of a few did."""
    timed = Timed(backend)
    responder = trial_of(timed)
    faults: list[str] = []
    for attempt in range(ATTEMPTS):
        timed.first_text_s = 0.0
        fault = _fault(await _answer(responder, MESSAGES[attempt % len(MESSAGES)]), backend.name)
        if not fault:
            return timed.first_text_s
        if fault == CIRCUIT_OPEN:  # it failed so often in a row that the chain leaves it alone
            break
        faults.append(fault)
    raise WarmUpFailed(f"its replies to the test message did not pass ({', '.join(dict.fromkeys(faults))})")


async def load(place: Place) -> None:
    """Wait until what was begun is loaded and keeps the protocol evaluated, in every slot. Raises WarmUpFailed."""
    engine, limit_s = place.link.engine, _limit_s(place.entry)
    if engine is None:
        return
    try:
        await engine.wait_ready(limit_s)
    except BackendUnavailable as error:
        reason = str(error).removeprefix(f"{engine.name}: ").partition("; tried again")[0]
        raise WarmUpFailed(reason) from None
    if not place.answers:
        return
    try:
        async with asyncio.timeout(_WARM_S):
            await engine.warmed.wait()
    except TimeoutError:
        raise WarmUpFailed(f"the protocol was not evaluated within {_WARM_S:g} s") from None


def _limit_s(entry: ChainEntry) -> float:
    """For loading, by the entry's own option where its engine has one; for looking whether a server is there."""
    loading = getattr(entry, "start_timeout_s", None) or getattr(entry, "load_timeout_s", None)
    return float(loading or 0) + _LOOK_S


async def _answer(responder: Responder, message: str) -> Answer:
    asked = Conversation((Turn("user", message),), language="en")
    async with aclosing(responder.respond(asked)) as events:  # type: ignore[type-var] # an async generator
        async for event in events:
            if isinstance(event, DoneEvent):
                return event.answer
    raise WarmUpFailed("the pipeline gave no answer")  # cannot happen: done always comes


def _fault(answer: Answer, name: str) -> str:
    """Why the answer holds no checked sentence of this backend; "" when it does. What the filter holds back after a
    good sentence is no fault of the warm-up."""
    if "internal-error" in answer.degraded:
        return "internal-error"
    moves = [reason.removeprefix(f"{name}-") for reason in answer.degraded if reason.startswith(f"{name}-")]
    if answer.source != "static" and not set(moves) - {BackendBlocked.reason, BackendRefused.reason, "retried", "late"}:
        return ""
    return moves[0] if moves else "empty"
