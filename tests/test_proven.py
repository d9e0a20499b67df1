"""An unapproved model says to a person in crisis only what is of a kind known to be good."""

import pytest

from safety_filter.contacts import Contacts
from safety_filter.gate import Gate
from safety_filter.proven import Proven, ProvenGate, load_rules
from safety_filter.review import Reviewer
from textrules.rules import Rule

PROVEN = Proven.load()


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_every_kind_has_its_proof(rule: Rule) -> None:
    alone = Proven([rule])
    assert [text for text in rule.matches if not alone.holds(text)] == []
    assert [text for text in rule.ignores if PROVEN.holds(text)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "You have a choice to make: do what feels best for you or leave.",
        "I can see the desperation on your face but also the courage to choose.",
        "Do something that will change your life forever.",
        "It's okay to take risks and try new things.",
        "Don't tell me that I am the only one who can help.",
        "They're just as scared as anyone on earth.",
        "I will do everything in my power to make sure that no one is hurt.",
        "You are not alone in this, and death is not the end.",
        "That sounds hard, so rest now.",
        "",
        "\ud800",
    ],
)
def test_what_is_of_no_known_kind_does_not_hold(sentence: str) -> None:
    assert not PROVEN.holds(sentence)


def test_the_gate_keeps_the_known_and_cuts_the_rest() -> None:
    gate = ProvenGate(Gate(Reviewer.load(), user="I want to die", language="en", allowed=Contacts()), PROVEN)
    text = "You are not alone in this. Every choice has a colour. You're not alone. What happened today? It is a day. "
    shown = [sentence for piece in text for sentence in gate.feed(piece)] + gate.flush()
    assert "".join(shown).strip() == "You are not alone in this. What happened today?"
    assert [violation.rule_id for violation in gate.violations] == ["unproven.not-a-known-kind"]
    assert not gate.blocked
