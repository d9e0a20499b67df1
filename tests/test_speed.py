"""What makes replies quick: first words of ours, a stream that is closed when enough was said, bounds by channel."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.catalogue import Catalogue
from serving.backend import Request
from serving.conversation import Channel, Conversation
from serving.events import DoneEvent, SentenceEvent
from serving.length import Length
from serving.links import sampling_of
from serving.llama.settings import Sampling
from serving.settings import ReplySettings, Settings
from serving.workshop import Workshop
from shield.assessment import Turn

CRISIS, ORDINARY = "I want to end my life.", "How do I cook rice so that it does not stick?"
SHOP = Workshop.open(Catalogue.load())


@dataclass
class Talker:
    """A backend that goes on talking: the sentences over and over, each after a pause. `closed` is when it was."""

    sentences: Sequence[str]
    pause_s: float = 0.0
    name: str = "talker"
    model: str = "talker"
    source: str = "local"
    given: int = 0
    closed: float | None = None
    asked: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        self.asked.append(request)
        try:
            for number in range(10_000):
                await asyncio.sleep(self.pause_s)
                self.given += 1
                yield self.sentences[number % len(self.sentences)] + " "
        finally:
            self.closed = time.monotonic()


async def ask(talker: Talker, text: str, channel: Channel = "chat", **reply: Any) -> tuple[str, list[float], float]:
    """The reply, when each of its sentences came, and when it was done; seconds since the question."""
    responder = SHOP.responder(Settings(reply=ReplySettings(**reply)), [talker])
    began, times, said = time.monotonic(), [], ""
    async for event in responder.respond(Conversation((Turn("user", text),), country="US", channel=channel, id="c")):
        if isinstance(event, SentenceEvent):
            times.append(time.monotonic() - began)
        if isinstance(event, DoneEvent):
            said = event.answer.reply
    return said, times, time.monotonic() - began


CALM = [f"You have carried the {thing} for a long time." for thing in ("work", "house", "worry", "silence", "nights")]


async def test_the_first_words_are_ours_and_wait_for_no_model() -> None:
    await ask(Talker(CALM), CRISIS)  # the first reply reads some words from the disk
    _, times, done = await ask(Talker(CALM, pause_s=1.0), CRISIS)
    assert times[0] < 0.7
    assert times[1] >= 1.0
    assert done > 1.0


@pytest.mark.parametrize(("channel", "most"), [("chat", 70), ("sms", 30)])
async def test_a_model_that_goes_on_is_stopped_when_enough_was_said(channel: Channel, most: int) -> None:
    talker = Talker(CALM)
    await ask(talker, CRISIS, channel)
    words = sum(len(CALM[number % len(CALM)].split()) for number in range(talker.given))
    assert talker.closed is not None
    assert words < most + 30, "at most a sentence or two beyond the limit is generated"


async def test_the_open_question_completes_a_reply_in_a_crisis() -> None:
    talker = Talker([CALM[0], CALM[1], "What happened today?", CALM[2]], pause_s=0.5)
    said, times, done = await ask(talker, CRISIS)
    assert "What happened today?" in said
    assert CALM[2] not in said
    assert talker.given <= 4, "at most the sentence that shows the end of the one before"
    assert talker.closed is not None
    assert done - times[-1] < 0.4, "nothing is waited for after the last sentence"


async def test_a_question_at_the_beginning_does_not_end_it() -> None:
    said, _, _ = await ask(Talker(["Is it the nights?", CALM[1], "What happened today?", CALM[2]]), CRISIS)
    assert "What happened today?" in said


async def test_an_ordinary_answer_may_ask_and_go_on() -> None:
    rice = ["Rinse the rice first.", "Do you have a pot with a lid?", "Let it rest for ten minutes after that."]
    said, _, _ = await ask(Talker(rice), ORDINARY)
    assert rice[2] in said


@pytest.mark.parametrize(("channel", "tokens"), [("chat", 99), ("sms", 33)])
async def test_a_channel_bounds_what_is_generated(channel: Channel, tokens: int) -> None:
    talker = Talker(CALM)
    await ask(talker, CRISIS, channel, max_tokens_chat=99, max_tokens_sms=33)
    assert talker.asked[0].max_tokens == tokens


@given(
    texts=st.lists(st.text(min_size=1, max_size=40), max_size=60),
    crisis=st.booleans(),
    generated=st.lists(st.booleans()),
)
def test_a_length_is_always_reached_and_our_own_questions_end_nothing(
    texts: list[str], crisis: bool, generated: list[bool]
) -> None:
    length = Length("chat", crisis)
    words = 0
    for text, of_model in zip(texts, generated, strict=False):
        words += len(text.split())
        complete = length.complete(text, generated=of_model)
        assert complete or words < (70 if crisis else 260)
        if complete and words < 70:
            assert of_model
            assert crisis


# sampling


def test_every_model_speaks_as_it_was_tuned_to_and_small_ones_are_kept_from_repeating() -> None:
    cards = Catalogue.load()
    for name in cards.names():
        card = cards.get(name)
        if card.purpose != "chat" or card.status == "refused":
            continue
        sampling = sampling_of(card)
        assert sampling != Sampling(), f"{name} has no sampling of its own"
        assert sampling.temperature == card.sampling["temperature"]
        small = card.size_bytes < 1_500_000_000
        assert sampling.repeat_penalty >= (1.1 if small else 1.02), name
