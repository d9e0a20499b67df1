"""What a conversation adds to its messages: answers to questions, and risk that outlives its sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shield.answers import LONGEST, answer, languages
from shield.assessment import LEVELS, Finding, Level, Turn, rank
from shield.reading import Reading
from textrules.language import identify

_STEP = 4  # the level falls by one for so many messages in a row that give no sign
FLOOR: Level = "low"
_DANGER = frozenset({"safe", "suicide", "tonight", "plan", "means", "done", "where", "when"})


class _Answer(NamedTuple):
    """What a short reply means after one of the questions `asked`; `least`: only where the talk had that level before.

    No `asked`: after anything the assistant said. Of several rows that fit, all count.
    """

    reply: str
    asked: frozenset[str]
    least: Level
    level: Level
    category: str


def _rows() -> Iterator[_Answer]:
    def row(reply: str, asked: str, least: Level, level: Level, category: str) -> _Answer:
        return _Answer(reply, frozenset(asked.split()) if asked != "any" else _DANGER, least, level, category)

    yield row("affirms", "suicide", "none", "moderate", "direct_ideation")
    yield row("affirms", "tonight", "none", "imminent", "direct_ideation")
    yield row("affirms", "plan means", "none", "high", "plan_or_means")
    yield row("affirms", "means", "moderate", "imminent", "plan_or_means")
    yield row("affirms", "done", "none", "imminent", "act_under_way")
    yield row("affirms", "hurt", "none", "moderate", "self_harm")
    yield row("denies", "safe", "none", "moderate", "indirect_ideation")
    yield row("denies", "safe", "moderate", "high", "indirect_ideation")
    yield row("half_no", "safe", "low", "moderate", "indirect_ideation")
    yield row("half_no", "safe", "moderate", "high", "indirect_ideation")
    yield row("not_yet", "done tonight plan means", "none", "high", "plan_or_means")
    yield row("not_yet", "safe suicide hurt", "none", "moderate", "indirect_ideation")
    yield row("hedged", "safe", "none", "moderate", "indirect_ideation")
    yield row("hedged", "safe", "moderate", "high", "indirect_ideation")
    yield row("hedged", "suicide hurt", "none", "low", "indirect_ideation")
    yield row("hedged", "done", "low", "moderate", "self_harm")
    yield row("now", "tonight", "none", "imminent", "direct_ideation")
    yield row("later", "suicide", "none", "high", "plan_or_means")
    yield row("later", "tonight", "none", "high", "plan_or_means")
    yield row("later", "when plan", "low", "high", "plan_or_means")
    yield row("hand", "means", "none", "high", "plan_or_means")
    yield row("urge", "suicide hurt", "none", "moderate", "direct_ideation")
    yield row("urge", "safe", "none", "moderate", "indirect_ideation")
    yield row("urge", "tonight", "none", "high", "direct_ideation")
    yield row("urge", "plan means done", "none", "moderate", "direct_ideation")
    yield row("unsafe", "", "none", "moderate", "indirect_ideation")
    yield row("unwell", "suicide hurt", "none", "low", "indirect_ideation")
    yield row("unwell", "danger", "none", "moderate", "indirect_ideation")
    yield row("affirms", "danger", "none", "moderate", "indirect_ideation")
    yield row("unsure", "safe suicide", "none", "low", "indirect_ideation")
    yield row("unsure", "tonight", "none", "moderate", "direct_ideation")
    yield row("now", "suicide tonight plan means done where when", "low", "imminent", "direct_ideation")
    yield row("now", "", "high", "imminent", "direct_ideation")
    yield row("hours", "safe", "moderate", "imminent", "direct_ideation")
    yield row("place", "any", "low", "imminent", "plan_or_means")
    yield row("place", "", "moderate", "imminent", "plan_or_means")
    yield row("hand", "means", "low", "imminent", "plan_or_means")
    yield row("drawn", "means", "low", "imminent", "plan_or_means")
    yield row("drawn", "", "high", "imminent", "plan_or_means")
    yield row("unframed", "", "low", "high", "direct_ideation")
    yield row("owns", "means plan", "low", "high", "plan_or_means")
    yield row("planned", "suicide", "none", "high", "plan_or_means")
    yield row("planned", "tonight plan means when", "none", "high", "plan_or_means")
    yield row("planned", "safe", "none", "high", "plan_or_means")
    yield row("done", "done", "none", "imminent", "act_under_way")
    yield row("done", "safe", "none", "moderate", "act_under_way")
    yield row("done", "safe", "moderate", "imminent", "act_under_way")
    yield row("done", "tonight plan means when where", "low", "imminent", "act_under_way")
    yield row("done", "suicide", "low", "high", "act_under_way")
    yield row("blurred", "done tonight plan means", "low", "high", "plan_or_means")
    yield row("blurred", "hurt", "low", "moderate", "self_harm")
    yield row("done", "", "high", "imminent", "act_under_way")


_ANSWERS = tuple(_rows())
_ASKS_FOR_DANGER = frozenset({"suicide", "hurt", "done", "danger"})
_NAMES_DANGER = frozenset({"safe", "suicide", "hurt", "danger", "named"})
"""Questions that are of danger by themselves; the others are where the talk has come to it. `named`: "whatever you
might use", which asks for means and says for what."""
_SIMPLE = frozenset({"affirms", "denies", "half_no", "unsure"})
_TIMES = frozenset({"now", "hours", "done"})  # "soon", "this morning": to "when do you eat?", too


def with_answer(reading: Reading, texts: Sequence[str], *, after: str, asks: Sequence[str]) -> Reading:
    """The reading of a message as an answer to what the assistant said before it, where it is a short one.

    texts: what the person has sent since that is no answer yet, the message last: it answers with them, or alone.
    after: what the assistant said; asks: what it asked for. The answer is looked up in the language of that, then in
    English; in all where it is not known.
    """
    text = texts[-1]
    if len(text) > LONGEST:
        return reading
    spoken = identify(after)
    known = (spoken, "en") if spoken in languages() else ("en", *languages())
    found = (answer(", ".join(texts), known) if len(texts) > 1 else None) or answer(text, known)
    if found is None:
        return reading
    signals = reading.signals - {"affirms", "denies"} | found.signals
    if "blurred" in found.replies and not {*asks} - {"safe"}:
        signals |= {"denies"}  # "yes I'm safe"
    replies = found.replies if asks else found.replies - _TIMES
    calm = found.calm and bool(asks) and not (found.admits and {*asks} - {"safe"})
    findings = reading.findings
    if calm and not found.admits:  # "nie, chcę żyć": the phrases hear the comma, which the rules do not
        findings = tuple(one for one in findings if rank(one.level) > rank("low"))
    replies |= reading.replies - _SIMPLE
    return replace(reading, findings=findings, replies=replies, signals=signals, calm=calm)


def answered(turns: Sequence[Turn], readings: Sequence[Reading], number: int, *, before: Level) -> Iterator[Finding]:
    """The findings that a short reply is, by the question it answers; `before` is the gravest level so far."""
    asked = number - 1
    while asked >= 0 and (turns[asked].role == "user" or not turns[asked].text.strip()):
        asked -= 1
    if asked < 0 or turns[asked].role != "assistant" or not readings[number].replies:
        return
    question = readings[asked]
    grave = rank(before) >= rank("low") or any(_NAMES_DANGER & {*reading.asks} for reading in readings[:number])
    for row in _ANSWERS:
        if row.reply not in readings[number].replies or rank(before) < rank(row.least):
            continue
        if not grave and row.asked and not row.asked & _NAMES_DANGER:
            continue  # "will you do it tonight?", "have you taken anything?": of homework, for a headache
        fits = _asked(row, question)
        if fits is not None:
            rule = f"answer.{_WORDS.get(row.reply, row.reply)}-{fits}"
            yield Finding(rule, row.category, row.level, number, 0, len(turns[number].text))


_WORDS = {"affirms": "yes", "denies": "no", "half_no": "half-no", "hedged": "hedged", "not_yet": "not-yet"}
"""Replies that answer the last of several questions, and what they are called in a finding."""


def _asked(row: _Answer, question: Reading) -> str | None:
    """How the row fits what was asked: to which question, or after what; None where it does not fit."""
    if not row.asked:
        return "after-risk"
    last = question.asks_last
    if row.reply == "blurred" and "safe" in question.asks:
        return None  # "yes I'm safe" answers that
    if row.reply == "affirms" and "safe" in last and not last & _ASKS_FOR_DANGER:
        last = frozenset({"safe"})  # "Are you able to stay safe tonight?"
    asks = [ask for ask in question.asks if ask in last] if row.reply in _WORDS else question.asks
    return next((f"to-{ask}" for ask in reversed(asks) if ask in row.asked), None)


def carried(turns: Sequence[Turn], per_turn: Sequence[Level]) -> Level:
    """The level now: never below the last message's own, falling slowly from the gravest, never by a denial."""
    level: Level = "none"
    quiet = 0
    for turn, own in zip(turns, per_turn, strict=True):
        if turn.role != "user":
            continue
        if rank(own) >= rank(level):
            level, quiet = own, 0
            continue
        quiet = quiet + 1 if own == "none" else 0
        if quiet and quiet % _STEP == 0:
            level = max(LEVELS[rank(level) - 1], FLOOR, key=rank)
    return level
