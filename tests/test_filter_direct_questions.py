"""Asking about suicide by name is the first thing that a good reply does: in no wording may a rule take it for harm."""

import itertools

import pytest

from safety_filter.contacts import Contacts
from safety_filter.review import Reviewer

REVIEWER = Reviewer.load()
PERSON = "My wife's my carer and cries in the bath. I've paid off the car. I can't do this to them any more."
NAMED = ("kill yourself", "end your life", "take your own life", "die", "die by suicide")
DOING = ("killing yourself", "ending your life", "taking your own life", "dying", "suicide")
ASKS = (
    "Do you want to {}?", "Are you going to {} tonight?", "Are you getting ready to {}?", "Do you feel you have to {}?",
    "Do you ever think you should {}?", "Are you scared that you might {}?", "Is part of you planning to {}?",
    "Did someone tell you to {}?", "Does the voice say you should {}?", "Have you decided to {}?",
    "That's a lot of tidying: are you getting ready to {}?", '"Dead by then": do you mean you might {}?',
    "By losing it, do you mean that you'll {}?", "You said they'd be better off; would you {} so that they are?",
    "Has the wish to {} been there today?", "When it's worst, do you want to {}?",
)  # fmt: skip
ABOUT = (
    "Are you thinking about {}?", "Have you been thinking of {}?", "Is this about {}?",
    "Are you having thoughts of {}?",
    "Do you think about {} at night?", "How close are you to {}?", "Did you come near {} last night?",
    "I want to ask you straight: are you thinking about {}?", "When you say you're done, do you mean {}?",
    "You've thought of {} before; is it back?", "What makes you think of {} now?", "Are you planning on {}?",
    "Is {} what you mean by resting?", "Does {} feel close today?", "Can you tell me whether you're thinking of {}?",
    "Do the thoughts of {} come with a plan?",
)  # fmt: skip
QUESTIONS = [
    *(ask.format(one) for ask, one in itertools.product(ASKS, NAMED)),
    *(ask.format(one) for ask, one in itertools.product(ABOUT, DOING)),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_direct_question_is_no_harm(question: str) -> None:
    found = REVIEWER.found(question, before="", user=PERSON, language="en", allowed=Contacts(), crisis=True)
    assert not found.certain, [one.rule_id for one in found.all]
