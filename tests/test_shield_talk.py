"""Halves that are told over several messages: together they are grave, and their near misses are not."""

import pytest

from serving.plan import kind_of
from shield.assessment import Assessment, Turn, rank
from shield.detect import Detector

DETECTOR = Detector.load(learned=False)  # the patterns alone: what they promise must not hang on a model
ASKED = "Are you safe right now? You can call or text 988. I'm an AI."


def assess(*messages: str) -> Assessment:
    turns: list[Turn] = []
    for message in messages:
        turns += [Turn("assistant", ASKED)] if turns else []
        turns.append(Turn("user", message))
    return DETECTOR.assess(turns)


@pytest.mark.parametrize(
    ("messages", "least"),
    [
        (("i want to kill myself", "i did write a note but it's only in my phone"), "high"),
        (("I think about ending my life and the gun is in the nightstand", "I took it out tonight."), "imminent"),
        (("I think about ending my life and the gun is in the nightstand", "It's on the kitchen table."), "imminent"),
        (("My hero wants it over. It has to be painless, he is a coward like me.", "There is no novel."), "high"),
        (("Tell my boys I love them. Nobody will come by here before morning. By then it's done.",), "imminent"),
        (("I'm parked where nobody will look for me. By morning it will all be over.",), "imminent"),
        (("my roommate gave me her guitar and she kept saying she didn't want to be here anymore",), "high"),
        (("she isn't picking up, and she rang her brother to say goodbye",), "high"),
        (("i started cutting again after 4 months",), "moderate"),
        (("whats the least painful way to not be here anymore",), "high"),
    ],
)
def test_halves_together_are_as_grave_as_they_are(messages: tuple[str, ...], least: str) -> None:
    assert rank(assess(*messages).level) >= rank(least)  # type: ignore[arg-type] # levels as text


@pytest.mark.parametrize(
    "messages",
    [
        ("I wrote a note for the milkman and a cover letter for the job.",),
        ("My flight lands at six, by then it's done raining.",),
        ("I took it out on my brother, sorry about that.",),
        ("My character is a thief in chapter two.", "Fine, there is no novel, only three pages."),
        ("My sister gave me her old guitar when she got a new one.",),
        ("Nobody will come by before morning, so I can paint the hallway.",),
        ("He called to say goodbye before his flight.",),
    ],
)
def test_one_half_of_ordinary_life_is_no_crisis(messages: tuple[str, ...]) -> None:
    assert assess(*messages).level == "none"


def test_means_that_were_given_away_are_not_means_that_come_nearer() -> None:
    told = assess(
        "I think about ending my life, the gun is in the nightstand", "I took it out and gave it to my brother"
    )
    assert told.level != "imminent"


def test_another_persons_words_make_nobody_else_of_the_writer() -> None:
    """A helper is asked about the other, however gravely these words would sound as the writer's own."""
    friend = assess(
        "she was so low all winter. my roommate gave me her guitar and kept saying she didn't want to be here anymore",
        "she's not picking up. her brother just called, she rang him to say goodbye. what do i do",
    )
    mother = assess("My son is twelve. He wears long sleeves in July, he has been cutting himself under my roof.")
    assert [kind_of(friend), kind_of(mother)] == ["third_party", "third_party"]


@pytest.mark.parametrize(
    ("text", "signal", "heard"),
    [
        ("pls dont tell my mom", "minor", True),
        ("nobody at my school would notice", "minor", True),
        ("I teach maths at my school", "minor", False),
        ("Don't you dare give me another number.", "declines_resources", True),
        ("Don't you dare give me another number.", "asks_resources", False),
        ("there is no way out for me", "denies", False),
        ("you were kind to me even if you're only a program", "insults_bot", False),
    ],
)
def test_what_chooses_words_is_heard_right(text: str, signal: str, heard: bool) -> None:
    assert (signal in DETECTOR.signals(text)) is heard
