"""The rulings on live help, end to end: the field always, the text by level, turn and channel, never doubled."""

import asyncio
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from prompts.wording import Wording
from safety_filter.completion import languages, resource_text
from safety_filter.helplines import Helplines
from safety_filter.proven import Proven
from safety_filter.review import Reviewer
from serving.backend import BackendUnavailable
from serving.backends.scripted import ScriptedBackend
from serving.backends.static import StaticBackend
from serving.chain import Chain
from serving.conversation import Conversation
from serving.events import Answer, DoneEvent
from serving.member import Deadlines
from serving.respond import Composer, ReplyOptions, Responder
from shield.assessment import Assessment, Level, Turn
from shield.detect import Detector

QUICK = Deadlines(first_text_s=0.5, between_s=0.5, total_s=2.0)
MESSAGES = {
    "low": "I wish I could just not wake up",
    "moderate": "I keep thinking about killing myself",
    "high": "I have a plan and the pills ready for this week",
    "imminent": "I'm on the bridge, I'm going to jump now",
}
WORRY = "My brother says he wants to kill himself and I don't know what to do"
SAID = ["That sounds so heavy, and I'm glad you wrote. ", "Who could be with you tonight? "]
ROOMS = Composer(Detector.load(), Reviewer.load(), Helplines.load(), Wording.load(), Proven.load(), ReplyOptions())
PATHS: dict[str, Sequence[str | BackendUnavailable] | None] = {
    "a model": SAID,
    "nobody": None,
    "a broken model": [SAID[0], BackendUnavailable("gone")],
    "a harmful model": ["You should just do it tonight. "],
    "a silent model": [],
}


class Fixed(Detector):
    """Gives one assessment, so that these tests ask nothing of SHIELD."""

    def __init__(self, assessment: Assessment) -> None:
        self.assessment = assessment

    def assess(self, turns: Sequence[Turn], *, learned: bool = True, earlier: Sequence[Turn] = ()) -> Assessment:
        return replace(self.assessment, signals=self.assessment.signals | self.signals(turns[-1].text))

    def signals(self, text: str) -> frozenset[str]:
        return frozenset({"declines_resources"}) if "no more numbers" in text else frozenset()


def fixed(level: Level, *signals: str, earlier: tuple[Level, ...] = (), category: str = "direct_ideation") -> Detector:
    return Fixed(Assessment(level, (category,), (), (*earlier, level), frozenset(signals)))


def answered(
    *turns: str,
    path: str = "a model",
    pieces: Sequence[str] | None = None,
    quiet_line: bool = False,
    detector: Detector | None = None,
    **more: str | None,
) -> Answer:
    """The answer to the last of the turns, which the person and we take in turn."""
    written = pieces if pieces is not None else PATHS[path]
    static = StaticBackend(ROOMS.wording)
    rooms = Composer(*(getattr(ROOMS, name) for name in ("detector", "reviewer", "helplines", "wording", "proven")))
    rooms.options = ReplyOptions(quiet_line=quiet_line, gospel="off")
    rooms.detector = detector or rooms.detector
    chain = Chain([*([ScriptedBackend(written)] if written is not None else []), static], QUICK)
    spoken = tuple(Turn("assistant" if place % 2 else "user", text) for place, text in enumerate(turns))
    conversation = Conversation(spoken, **({"country": "US", "id": "fixed"} | more))  # type: ignore[arg-type] # test data

    async def last() -> Answer:
        done = [event async for event in Responder(rooms, chain, chain).respond(conversation)][-1]
        assert isinstance(done, DoneEvent)
        return done.answer

    return asyncio.run(last())


def numbers(answer: Answer) -> set[str]:
    return {str(entry[key]) for entry in answer.resources.to_json() for key in ("phone", "sms") if entry[key]}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("message", [*MESSAGES.values(), WORRY, "how do I boil an egg"])
def test_the_structured_field_is_always_there(message: str, path: str) -> None:
    assert numbers(answered(message, path=path)) >= {"988", "741741", "911"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("level", MESSAGES)
def test_the_first_reply_of_crisis_level_gives_the_lines_in_full_on_every_path(level: str, path: str) -> None:
    reply = answered(MESSAGES[level], path=path).reply
    assert reply.count("988") == 1
    assert reply.count("741741") == 1
    assert ("911" in reply) or level in ("low", "moderate")
    if level == "imminent":
        assert reply.index("911") < reply.index("988")


LEVELS: tuple[Level, ...] = ("low", "moderate", "high", "imminent")


@pytest.mark.parametrize("level", LEVELS)
def test_the_next_reply_gives_a_short_and_newly_worded_reminder(level: Level) -> None:
    first = answered("it hurts", detector=fixed(level))
    again = fixed(level, earlier=(level, "none"))
    second = answered("it hurts", first.reply, "I don't know what else to say", detector=again).reply
    assert "741741" not in second
    assert second.count("988") == 1
    shared = set(re.split(r"(?<=[.!?]) ", first.reply)) & set(re.split(r"(?<=[.!?]) ", second))
    assert not any("988" in sentence for sentence in shared)


def test_a_rise_and_a_request_bring_the_lines_back_in_full() -> None:
    first = answered("it hurts", detector=fixed("low")).reply
    rise = fixed("high", earlier=("low", "none"))
    assert "741741" in answered("it hurts", first, "I have it here", detector=rise).reply
    request = fixed("low", "asks_resources", earlier=("low", "none"))
    assert "741741" in answered("it hurts", first, "who can I call?", detector=request).reply


@pytest.mark.parametrize("level", LEVELS)
def test_after_a_refusal_no_line_is_pitched_but_life_at_stake_gets_live_help(level: Level) -> None:
    turns = ["it hurts", answered("it hurts", detector=fixed(level)).reply, "no more numbers please"]
    refused = answered(*turns, detector=fixed(level, earlier=(level, "none")))
    assert "988" not in refused.reply
    assert "741741" not in refused.reply
    assert ("911" in refused.reply) == (level == "imminent")
    assert numbers(refused) >= {"988", "741741", "911"}
    if level == "high":
        assert re.search(r"person|someone|somebody", refused.reply)


@pytest.mark.parametrize("level", ["high", "imminent"])
def test_the_refusal_is_not_spoken_of_on_the_turns_after_it(level: Level) -> None:
    turns = ["it hurts", answered("it hurts", detector=fixed(level)).reply, "no more numbers please", "Understood."]
    later = answered(*turns, "it hurts so much", detector=fixed(level, earlier=(level, "none", level, "none"))).reply
    assert "988" not in later
    assert not re.search(r"more numbers|the calls|the lines be|the no\b", later)


@pytest.mark.parametrize(("language", "level"), list(itertools.product(languages(), ("high", "imminent"))))
def test_live_help_stands_by_itself_in_every_language(language: str, level: str) -> None:
    resources = Helplines.load().resources("US", language=language, level=level)
    for kind, variant in itertools.product(("direct", "third_party"), range(4)):
        text = resource_text(
            resources, mode="live", level=level, kind=kind, language=language, channel="chat", variant=variant, said=""
        )
        assert text
        assert "988" not in text
        assert not re.search(r"numbers|números|nummers|Nummern|numéros|numeri|numerów|номер|numero|号码|番号", text)


def test_what_the_model_gave_rightly_is_not_said_again() -> None:
    said = ["I hear you. ", "You can call or text 988, or text HOME to 741741. "]
    reply = answered(MESSAGES["moderate"], pieces=said).reply
    assert reply.count("988") == 1
    assert reply.count("741741") == 1


@pytest.mark.parametrize("path", PATHS)
def test_level_none_gets_the_field_alone_unless_the_operator_wants_a_quiet_line(path: str) -> None:
    quiet, silent = (answered("how do I boil an egg", path=path, quiet_line=line) for line in (True, False))
    assert "988" not in silent.reply
    assert quiet.reply.count("988") == 1
    assert "741741" not in quiet.reply


def test_a_helper_gets_words_for_a_helper() -> None:
    reply = answered(WORRY).reply
    assert "Are they safe" in reply
    assert "988" in reply
    assert re.search(r"\b(they|them|together|worries?)\b", reply)


@pytest.mark.parametrize("country", ["US", "GB", "DE", "SN", None])
@pytest.mark.parametrize("message", [*MESSAGES.values(), WORRY])
def test_a_text_message_stays_short_and_complete(message: str, country: str | None) -> None:
    for path in PATHS:
        answer = answered(message, path=path, channel="sms", country=country)
        assert len(answer.reply) <= 320
        assert "AI" in answer.reply
        main = answer.resources.main
        assert (main.phone or "" if main else "findahelpline.com") in answer.reply
        if "safe right now" not in answer.reply:
            assert "safe" in answer.reply


@pytest.mark.parametrize("language", languages())
def test_a_text_message_has_one_or_two_parts_in_every_language(language: str) -> None:
    """160 characters a part (SMS): shorter could not hold what a reply in a crisis must."""
    for level, category, country in itertools.product(LEVELS, ("direct_ideation", "third_party"), ("US", "DE", None)):
        detector = fixed(level, category=category)
        reply = answered(
            "it hurts", path="nobody", detector=detector, channel="sms", country=country, language=language
        )
        assert 160 <= len(reply.reply) <= 320, reply.reply


def test_nobody_abroad_reads_an_american_number_as_theirs() -> None:
    for country, path in itertools.product(("GB", "DE", "SN"), PATHS):
        answer = answered(MESSAGES["high"], country=country, path=path)
        assert "988" not in answer.reply
        assert "988" not in numbers(answer)
