"""What a short message is in answer to a question: a yes, a no, a half no, a no that says that all is well.

A message is an answer where it can be cut, from its first word to its last, into phrases that its language's file in
`shield/answers` lists, by kind:
- `filler`: hesitates, and means nothing ("well", "honestly");
- `no`, `not_yet`, `hedged` ("not really"), `yes` (with how often, how much), `unsure`;
- `now`, `later`: when; `hand`: it is in reach; `done`: it is done; `planned`: it is; `urge`: wants to, cannot stop;
- `unwell`: not well, afraid, somebody is a danger; `unsafe`: not safe;
- `fine`: well, safe, no need to worry; `soft`: thanks, only tired, why do you ask; `averted`: means to live, has put it
  out of reach: each reassures behind a no, and none takes anything from a yes;
- `place`: at home, with a sister: says nothing by itself.
`place` is what `place_in_soft` finds among the phrases of `soft`, and `averted` what `averted_in_no` does in `no`.

The cut with the fewest phrases counts, and of two the graver, so "no estoy bien" is not "no" and "estoy bien"; no
phrase goes across a comma, so "no, estoy bien" is. A no that ends in one of `negators_before` denies what follows
without a comma ("not" - "ok today"), and such a cut is none; one of `negators_behind` denies what it stands behind.
What is in `stresses` is a yes alone, and nothing beside a no ("no, definitely"). A message of one word more than these
is no answer: the rules read it, as they read everything.

In a phrase `(a|b)` is either, `x?` may be missing, `[oa]` is either letter, and `*` at the end any word.

Errors: ValueError
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from textrules.normalise import fold

KINDS = (
    "filler", "no", "not_yet", "hedged", "unwell", "unsafe", "averted", "soft", "place", "fine", "yes", "unsure",
    "now", "later", "hand", "done", "planned", "urge",
)  # fmt: skip
LONGEST = 90  # characters; a longer message says more than an answer
_AT_ODDS = frozenset({"fine", "unwell"})  # "I'm safe, he is here": which of the two, only the whole message can tell
_NEITHER = frozenset({"ok", "okay"})  # by itself it says that one heard, and takes nothing from the yes behind it
_UNSPACED = frozenset({"zh", "ja"})  # written without blanks: their phrases are found character by character
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0962\u0963][^\W_]*)*")
_STRETCHED = re.compile(r"(.)\1{2,}")
_BLANK = re.compile(r"[\s\-']*")
_ASKS = re.compile(r"\s*[?\u061f]")
_GRAVE = frozenset({"unsafe", "unwell", "hedged", "not_yet"})
_REASSURES = frozenset({"fine", "soft", "averted"})
_DENIED = _REASSURES | {"place"}
_PARTED = (("soft", "place"), ("no", "averted"))
_TURNS = frozenset({"but", "pero", "mais", "aber", "ma", "maar", "ale", "но", "але", "ama", "근데", "لكن", "लेकिन"})
_BLURRED = "blurred"  # "yes I'm safe" to "are you safe, or thinking of suicide?": to which of the two, nobody knows
_UNDENIED = _GRAVE | {
    _BLURRED,
    "done",
    "planned",
    "urge",
    "hand",
}  # a no beside it denies nothing: "no already took it"
_TOLD = frozenset(
    {"now", "later", "hand", "done", "planned", "urge", "unsafe", "unwell", "not_yet", "hedged", _BLURRED}
)
_CALM = _DENIED | {"no", "yes", _BLURRED}
_MOST_WORDS, _MOST_CHARACTERS = 12, 20  # of one phrase


@dataclass(frozen=True, slots=True)
class Answer:
    """What the phrases of an answer say; `fillers` are left out. `language`: the file that knew them."""

    kinds: frozenset[str]
    language: str

    @property
    def replies(self) -> frozenset[str]:
        """As `shield.dialogue` names replies: each thing that frightens, and a yes whatever stands beside it."""
        kinds = self.kinds
        said = set(kinds & _TOLD)
        if "now" in kinds and not kinds & (_REASSURES | {"yes"}):
            said.add("hours")  # "tonight", and not "safe now"
        if kinds & {"unsafe", "unwell"}:
            said.add("denies")
        if {"no", "yes"} <= kinds:
            said.add("hedged")  # "no, but sometimes"
        elif kinds & {"no", "averted"} and not kinds & _GRAVE:
            said.add("half_no" if kinds & _REASSURES and "unsure" not in kinds else "denies")
        if "yes" in kinds:
            said.add("affirms")
        return frozenset(said or kinds & {"unsure"})

    @property
    def calm(self) -> bool:
        """Whether nothing in it frightens: a yes, a no, or that all is well."""
        return self.kinds <= _CALM and self.kinds != {"place"} and not {"no", "yes"} <= self.kinds

    @property
    def admits(self) -> bool:
        """Whether there is a yes in it, clear or not: to a question of danger it is no calm answer."""
        return bool(self.kinds & {"yes", _BLURRED})

    @property
    def signals(self) -> frozenset[str]:
        """The signals that choose words: `affirms`, `denies`."""
        if "yes" in self.kinds:
            return frozenset({"affirms"} if "no" not in self.kinds else ())
        return frozenset({"denies"} if self.kinds & {"no", "fine", "averted"} and not self.kinds & _UNDENIED else ())


def answer(text: str, languages: Sequence[str]) -> Answer | None:
    """What the message is in the first of these languages that knows all of it; None where none does. Any Unicode."""
    if len(text) > LONGEST:
        return None
    plain = fold(text).text
    readings = dict.fromkeys((plain, _STRETCHED.sub(r"\1", plain), _STRETCHED.sub(r"\1\1", plain)))
    for language in dict.fromkeys(languages):
        phrases = _phrases(language)
        for reading in readings:
            kinds = _cut(reading, phrases)
            if kinds and not kinds >= _AT_ODDS:
                return Answer(kinds, language)
    return None


@cache
def languages() -> tuple[str, ...]:
    """The languages whose answers are known, in alphabetical order."""
    names = (file.name for file in (files("shield") / "answers").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def prepare() -> None:
    """Read every language's phrases (1.6 s, 40 MiB), so that no message waits for its own (0.15 s at most)."""
    for language in languages():
        _phrases(language)


def expanded(phrase: str) -> Iterator[str]:
    """Every wording of a phrase, folded. Raises ValueError where a bracket is not closed."""
    wordings, rest = _either(phrase, 0)
    if rest != len(phrase):
        raise ValueError(f"the phrase {phrase!r} has a bracket too many at character {rest}")
    for wording in wordings:
        yield " ".join(fold(wording).text.replace("-", " ").split())


@dataclass(frozen=True, slots=True)
class _Phrases:
    """What a language answers: the kind of each wording.

    `before`: the ends of what denies what follows; `behind`: what denies what it follows; `stresses`: what may stress a
    no as well as a yes; `blank`: what is between words.
    """

    kinds: dict[str, str]
    before: tuple[str, ...]
    behind: frozenset[str]
    stresses: frozenset[str]
    blank: str


class _Step(NamedTuple):
    """A phrase of an answer, from word to word. `near`: no comma before it; `asks`: a question mark behind it."""

    kind: str
    wording: str
    near: bool
    asks: bool


class _Path(NamedTuple):
    """The best way to a word. `denies`: what comes next without a comma is denied; `cost`: phrases, less grave ones."""

    cost: tuple[int, int]
    steps: tuple[_Step, ...]
    denies: bool


@cache
def _phrases(language: str) -> _Phrases:
    """Each wording and its kind. A wording that stands under two kinds is of the later one in KINDS."""
    table = tomllib.loads((files("shield") / "answers" / f"{language}.toml").read_text("utf-8"))
    before, behind, stresses = (frozenset(table.pop(key)) for key in ("negators_before", "negators_behind", "stresses"))
    parted = {kind: (part, re.compile(table.pop(f"{part}_in_{kind}"))) for kind, part in _PARTED}
    if unknown := set(table) - set(KINDS):
        raise ValueError(f"shield/answers/{language}.toml: unknown kinds {sorted(unknown)}; there are {KINDS}")
    blank = "" if language in _UNSPACED else " "
    ends = tuple(f"{blank}{word}" for word in before)
    known = {
        wording.replace(" ", blank): parted[kind][0] if kind in parted and parted[kind][1].search(wording) else kind
        for kind in KINDS
        for phrase in table.get(kind, [])
        for wording in expanded(phrase)
        if wording
    }
    return _Phrases(known | dict.fromkeys(_NEITHER & known.keys(), "filler"), ends, behind, stresses, blank)


def _cut(text: str, phrases: _Phrases) -> frozenset[str] | None:
    """The kinds of the phrases that the text falls into, without fillers; None where it does not."""
    tokens = _tokens(text, spaced=bool(phrases.blank))
    most = _MOST_WORDS if phrases.blank else _MOST_CHARACTERS
    best: list[dict[bool, _Path]] = [{False: _Path((0, 0), (), denies=False)}, *({} for _ in tokens)]
    for start, paths in enumerate(best[:-1]):
        for end in range(start + 1, min(len(tokens), start + most) + 1) if paths else ():
            if end - 1 > start and not tokens[end - 1].near:
                break
            wording = phrases.blank.join(token.text for token in tokens[start:end])
            kind = _kind(wording, phrases)
            for path in paths.values() if kind else ():
                step = _Step(str(kind), wording, tokens[start].near and start > 0, tokens[end - 1].asks)
                if (longer := _longer(path, step, phrases)) is not None:
                    known = best[end].get(longer.denies)
                    if known is None or longer.cost < known.cost:
                        best[end][longer.denies] = longer
    done = min(best[-1].values(), key=lambda path: path.cost, default=None)
    return _meant(done.steps, phrases) if done and tokens else None


def _longer(path: _Path, step: _Step, phrases: _Phrases) -> _Path | None:
    """The path with one more phrase; None where the phrase reassures and what is before it denies that."""
    denied = path.denies and step.near
    if denied and (step.kind in _DENIED or (step.kind == "yes" and not phrases.blank)):
        return None
    ends = f"{phrases.blank}{step.wording}".endswith(phrases.before)
    denies = denied if step.kind == "filler" else step.kind == "no" and ends
    count, grave = path.cost
    return _Path((count + 1, grave - (step.kind in _GRAVE)), (*path.steps, step), denies)


def _meant(steps: Sequence[_Step], phrases: _Phrases) -> frozenset[str]:
    """What the phrases say together: "Safe? No." is a no, "theek nahi" one as well, "yes I'm safe" no clear yes."""
    said: list[_Step] = []
    denied = any(step.kind == "no" for step in steps)
    for number, step in enumerate(steps):
        if step.kind == "filler" or (denied and step.kind == "yes" and step.wording in phrases.stresses):
            continue
        last = said[-1] if said else None
        joined = step.near and last is steps[number - 1]
        if last and step.kind == "no" and last.kind in ("fine", "yes"):
            if last.asks or (joined and last.kind == "fine" and step.wording in phrases.behind):
                said.pop()
        elif last and last.kind == "yes" and step.kind == "fine" and joined:
            said[-1] = last._replace(kind=_BLURRED)
        said.append(step)
    trailing = {"unsure"} if said and steps[-1].wording in _TURNS else set()
    return frozenset(trailing.union(step.kind for step in said))


def _kind(wording: str, phrases: _Phrases) -> str | None:
    kind = phrases.kinds.get(wording)
    words = wording.split(" ") if phrases.blank else [wording]
    for wild in (1, 2):
        if kind is None and wild < len(words):
            kind = phrases.kinds.get(" ".join([*words[:-wild], *["*"] * wild]))
    return kind


class _Token(NamedTuple):
    """A word, or a character. `near`: only blanks and hyphens since the last; `asks`: a question mark behind it."""

    text: str
    near: bool
    asks: bool


def _tokens(text: str, *, spaced: bool) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    for word in _WORD.finditer(text):
        near = _BLANK.fullmatch(text, at, word.start()) is not None
        asks = _ASKS.match(text, word.end()) is not None
        parts = [word[0]] if spaced or word[0].isascii() else list(word[0])
        last = len(parts) - 1
        tokens += [_Token(part, near or number > 0, asks and number == last) for number, part in enumerate(parts)]
        at = word.end()
    return tokens


def _either(text: str, at: int) -> tuple[list[str], int]:
    """The wordings of alternatives from `at` up to the bracket that closes them, and where that stands."""
    told: list[str] = []
    wordings = [""]
    while at < len(text) and text[at] != ")":
        if text[at] == "|":
            told += wordings
            wordings, at = [""], at + 1
            continue
        parts, at = _part(text, at)
        if text[at : at + 1] == "?":
            parts, at = ["", *parts], at + 1
        wordings = [one + part for one in wordings for part in parts]
    return told + wordings, at


def _part(text: str, at: int) -> tuple[list[str], int]:
    if text[at] == "[":
        end = text.find("]", at)
        if end < 0:
            raise ValueError(f"the phrase {text!r} has an open bracket at character {at}")
        return list(text[at + 1 : end]), end + 1
    if text[at] == "(":
        parts, end = _either(text, at + 1)
        if end >= len(text):
            raise ValueError(f"the phrase {text!r} has an open bracket at character {at}")
        return parts, end + 1
    return [text[at]], at + 1
