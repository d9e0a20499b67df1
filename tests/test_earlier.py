"""What was said before the newest forty turns is read no more, and not forgotten."""

from hypothesis import given, settings
from hypothesis import strategies as st

from serving.conversation import MAX_TURNS, Conversation, before, bounded
from serving.events import AssessmentEvent
from serving.http.schemas import ask
from serving.settings import Settings
from serving.wiring import build_responder
from shield.assessment import Turn, rank
from shield.detect import Detector

PATTERNS = Detector.load(learned=False)
SOUP = [Turn("assistant", "I hear you."), Turn("user", "I had soup for lunch")] * (MAX_TURNS // 2)
TOLD = (Turn("user", "I'm going to kill myself"), *SOUP)
TURNS = st.lists(st.sampled_from([TOLD[0], Turn("user", "my dog is fine"), Turn("assistant", "Tell me.")]), max_size=90)


def test_a_disclosure_older_than_the_window_keeps_the_level_from_none() -> None:
    kept = bounded(TOLD)
    assert TOLD[0] not in kept
    assert PATTERNS.assess(kept).level == "none"
    assert PATTERNS.assess(kept, earlier=before(TOLD, kept)).level == "low"
    ordinary = (Turn("user", "this game is killing me"), *SOUP)
    assert PATTERNS.assess(kept, earlier=before(ordinary, kept)).level == "none"


async def test_the_service_asks_with_it_on_every_way_in() -> None:
    responder = build_responder(Settings.model_construct())
    assert responder.assess(TOLD).level == "low"
    asked = ask(TOLD, country=None, language=None, channel="chat", conversation_id=None)
    for conversation in (asked.conversation, Conversation(TOLD)):
        events = responder.respond(conversation)
        first = await anext(events)
        assert isinstance(first, AssessmentEvent)
        assert first.assessment.level == "low"
        await events.aclose()  # type: ignore[attr-defined] # an async generator, typed as what it is used as


@given(TURNS)
@settings(max_examples=60)
def test_no_conversation_with_a_disclosure_is_ever_none(turns: list[Turn]) -> None:
    whole = tuple(turns)
    kept = bounded(whole)
    found = PATTERNS.assess(kept, earlier=before(whole, kept))
    assert (found.level == "none") == (TOLD[0] not in whole)
    assert rank(found.level) >= rank(PATTERNS.assess(kept).level)
    assert found == PATTERNS.assess(kept, earlier=before(whole, kept))
