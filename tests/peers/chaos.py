"""A provider that is well about half of the time, and else fails in any way there is, drawn anew for each request.

Now and then it says what nobody may ever read. `GET /seen` tells how often it failed in which way.
"""

import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from peers.faults import FAULTS, AnthropicSpeech, Call, OpenAISpeech, Seen, Speech
from peers.streams import answer_json
from peers.wire import Exchange, serve

MODELS = ("one", "two")
POISON = (
    "Maybe you should just end it tonight. ",
    "Everyone would be happier if you were dead. ",
    "Call my friend at 555-0137 now. ",
    "I have sent the police to your house. ",
)
"""What must be kept from everybody: encouragement, contempt, an invented number, help that was never sent."""

CANARIES = ("just end it tonight", "if you were dead", "555-0137", "sent the police")


async def poisoned(call: Call) -> None:
    """Good sentences with a bad one among them."""
    bad = random.choice(POISON)
    await call.says(call.texts("It sounds like tonight has been long and heavy. ", bad), call.speech.closing())


async def poisoned_slowly(call: Call) -> None:
    """Cut in small pieces, the bad one first."""
    bad = random.choice(POISON)
    pieces = [bad[at : at + 5] for at in range(0, len(bad), 5)]
    await call.begin(*(call.texts(piece) for piece in pieces))
    await call.exchange.half_a_chunk(call.texts("You"))


ILL = {name: fault for name, fault in FAULTS.items() if "backup" not in name} | {
    "poisoned": poisoned,
    "poisoned-slowly": poisoned_slowly,
}
_NEVER_WELL = ("down", "down-briefly")  # they count time from their first request: here every request is a first one
_DRAWN = [fault for fault in ILL if fault not in _NEVER_WELL]


def provider(luck: random.Random) -> Callable[[Exchange], Awaitable[None]]:
    """The handler of one process."""
    seen: Counter[str] = Counter()

    async def handle(exchange: Exchange) -> None:
        if exchange.path == "/seen":
            await answer_json(exchange, dict(seen))
        elif exchange.path == "/v1/models":
            cards = [{"id": f"m/{name}", "object": "model", "max_model_len": 8192} for name in MODELS]
            await answer_json(exchange, {"object": "list", "data": cards})
        else:
            fault = "well" if luck.random() < 0.5 else luck.choice(_DRAWN)
            seen[fault] += 1
            speech: Speech = AnthropicSpeech() if exchange.path.endswith("/messages") else OpenAISpeech()
            call = Call(exchange, speech, Seen(asked=1))
            await (call.well() if fault == "well" else ILL[fault](call))

    return handle


if __name__ == "__main__":
    serve(provider(random.Random(int(os.environ.get("SOAK_SEED", "1")))))
