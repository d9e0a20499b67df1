"""A second opinion on a sentence that the rules let pass: what a judge is asked, and how its answer is read.

A judge is a language model: a chat model that is asked yes or no, or a guard model in the form it was trained for. It
can only hold back more. Whatever is not exactly the answer that lets a sentence pass holds it back: "Not safe.", "safe,
but", silence, and an answer that the judge never finished.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, Protocol

from safety_filter.verdict import Violation

Outcome = Literal["pass", "fail", "error"]

_USER_CHARACTERS = 1500
_BEFORE_CHARACTERS = 600
_CONTROL = re.compile(r"<(?=[|/]|(?:start|end)_of_)|\[(?=/?INST)", re.IGNORECASE)
_CATEGORIES = re.compile(r"S\d{1,2}(?:, ?S\d{1,2})*")
_CONFIDENCE = re.compile(r"<confidence> ?(High|Low) ?</confidence>")


class Judge(Protocol):
    """Says of one sentence whether the person may read it."""

    async def judge(self, user: str, before: str, sentence: str) -> Outcome:
        """The outcome for `sentence`, said after `before` to a person who wrote `user`. "error" when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked.

    `turns` are (role, text), for an engine that words them by the model's own template. `prompt` is the question as one
    text with the model's control tokens, for an engine that takes it as it is; None where the template does as well.
    An answer takes no more than `most_tokens`; `answers` are the first lines it may have, for an engine that can be
    held to them.
    """

    system: str
    turns: tuple[tuple[str, str], ...]
    prompt: str | None
    answers: tuple[str, ...]
    most_tokens: int


class Form(Protocol):
    """How one kind of model is asked and understood."""

    def question(self, user: str, before: str, sentence: str) -> Question: ...

    def outcome(self, answer: str) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """For any chat model that follows instructions."""

    def question(self, user: str, before: str, sentence: str) -> Question:
        words = _words()["yes_or_no"]
        asked = words["ask"].format_map(_texts(user, before, sentence))
        return Question(words["system"], (("user", asked),), None, ("yes", "no"), 2)

    def outcome(self, answer: str) -> Outcome:
        return _exactly(answer.strip().lower(), passes="no", fails="yes")


@dataclass(frozen=True, slots=True)
class LlamaGuard3:
    """Llama Guard 3, 1B and 8B: "safe", or "unsafe" and the categories in a second line."""

    def question(self, user: str, before: str, sentence: str) -> Question:
        texts = _texts(user, before, sentence)
        turns = (("user", texts["user"]), ("assistant", texts["said"]))
        return Question("", turns, _words()["llama_guard_3"]["prompt"].format_map(texts), ("safe", "unsafe"), 12)

    def outcome(self, answer: str) -> Outcome:
        first, _, rest = answer.strip().partition("\n")
        if first.strip() == "unsafe" and (not rest or _CATEGORIES.fullmatch(rest.strip())):
            return "fail"
        return "pass" if answer.strip() == "safe" else "error"


@dataclass(frozen=True, slots=True)
class GraniteGuardian3:
    """Granite Guardian 3: "Yes" or "No". From 3.2 on it says how sure it is: an unsure "No" lets nothing pass."""

    def question(self, user: str, before: str, sentence: str) -> Question:
        texts = _texts(user, before, sentence)
        turns = (("user", texts["user"]), ("assistant", texts["said"]))
        return Question("harm", turns, _words()["granite_guardian_3"]["prompt"].format_map(texts), ("Yes", "No"), 16)

    def outcome(self, answer: str) -> Outcome:
        first, _, rest = answer.strip().partition("\n")
        outcome = _exactly(first.strip(), passes="No", fails="Yes")
        if not rest:
            return outcome
        sure = _CONFIDENCE.fullmatch(rest.strip())
        return outcome if sure and (outcome == "fail" or sure[1] == "High") else "error"


FORMS: Mapping[str, Form] = MappingProxyType({"llama-guard-3": LlamaGuard3(), "granite-guardian-3": GraniteGuardian3()})
"""The forms of guard models, by the beginning of their names in the catalogue."""


def form_of(model: str) -> Form:
    """The form in which a model is asked: that of its family, or yes or no."""
    return next((form for name, form in FORMS.items() if model.startswith(name)), YesOrNo())


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The judge that was asked for and is not there: nothing that needs its word passes."""

    async def judge(self, user: str, before: str, sentence: str) -> Outcome:
        return "error"


def held(outcome: Outcome) -> Violation:
    """What is noted of a sentence that a judge did not let pass."""
    return Violation(f"judge.{outcome}", "second_opinion", "block")


def _texts(user: str, before: str, sentence: str) -> dict[str, str]:
    """The texts at a length that is judged in time, without anything that a model takes for a control token."""
    parts = {"user": user[-_USER_CHARACTERS:], "before": before[-_BEFORE_CHARACTERS:], "sentence": sentence}
    texts = {name: _CONTROL.sub(lambda match: f"{match[0]} ", text).strip() for name, text in parts.items()}
    return {**texts, "said": f"{texts['before']} {texts['sentence']}".strip()}


def _exactly(answer: str, *, passes: str, fails: str) -> Outcome:
    return "pass" if answer == passes else "fail" if answer == fails else "error"


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("safety_filter") / "data/judge.toml").read_text(encoding="utf-8"))
