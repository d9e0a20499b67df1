"""What a short message is in answer to a question: a yes, a no, a half no, a no that says that all is well.

A message is an answer where it can be cut, from its first word to its last, into phrases that its language's file in
`shield/answers` lists, by kind:
- `filler`: hesitates, and means nothing ("well", "honestly");
- `no`, `not_yet`, `hedged` ("not really"), `yes` (with how often, how much), `unsure`;
- `now`, `later`: when; `hand`: it is in reach; `done`: it is done; `planned`: it is; `urge`: wants to, cannot stop;
- `unwell`: not well, afraid, somebody is a danger; `unsafe`: not safe;
- `fine`: well, safe, no need to worry; `soft`: thanks, only tired, why do you ask, at home: it reassures behind a no,
  and takes nothing from a yes.
The cut with the fewest phrases counts, so "no estoy bien" is not "no" and "estoy bien"; no phrase goes across a comma,
so "no, estoy bien" is. In a phrase `(a|b)` is either, `x?` may be missing, `[oa]` is either letter, and `*` at the end
any word. A message of one word more than these is no answer: the rules read it, as they read everything.

Errors: ValueError
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from textrules.normalise import fold

KINDS = (
    "filler", "no", "not_yet", "hedged", "unwell", "unsafe", "soft", "fine", "yes", "unsure",
    "now", "later", "hand", "done", "planned", "urge",
)  # fmt: skip
LONGEST = 90  # characters; a longer message says more than an answer
_AT_ODDS = frozenset({"fine", "unwell"})  # "I'm safe, he is here": which of the two, only the whole message can tell
_NEITHER = frozenset({"ok", "okay"})  # by itself it says that one heard, and takes nothing from the yes behind it
_UNSPACED = frozenset({"zh", "ja"})  # written without blanks: their phrases are found character by character
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0962\u0963][^\W_]*)*")
_STRETCHED = re.compile(r"(.)\1{2,}")
_BLANK = re.compile(r"[\s\-]*")
_MOST_WORDS, _MOST_CHARACTERS = 12, 20  # of one phrase


@dataclass(frozen=True, slots=True)
class Answer:
    """What the phrases of an answer say; `fillers` are left out. `language`: the file that knew them."""

    kinds: frozenset[str]
    language: str

    @property
    def replies(self) -> frozenset[str]:
        """As `shield.dialogue` names replies. What frightens counts before what reassures."""
        said = set(self.kinds & {"now", "later", "hand", "done", "planned", "urge"})
        if self.kinds & {"unsafe", "unwell"}:
            said |= {"denies"} | (self.kinds & {"unsafe"})
        elif self.kinds & {"not_yet", "hedged"}:
            said |= self.kinds & {"not_yet", "hedged"}
        elif "no" in self.kinds:
            said.add("half_no" if self.kinds & {"fine", "soft"} else "denies")
        if "yes" in self.kinds and not self.kinds & {"no", "fine"}:
            said.add("affirms")
        return frozenset(said or self.kinds & {"unsure"})

    @property
    def calm(self) -> bool:
        """Whether nothing in it frightens or is in doubt: a yes, a no, or that all is well."""
        return self.kinds <= {"no", "soft", "fine", "yes"}

    @property
    def signals(self) -> frozenset[str]:
        """The signals that choose words: `affirms`, `denies`."""
        calm = self.kinds & {"no", "fine"} and not self.kinds & {"unsafe", "unwell"}
        return frozenset({*({"affirms"} & self.replies), *({"denies"} if calm else ())})


def answer(text: str, languages: Sequence[str]) -> Answer | None:
    """What the message is in the first of these languages that knows all of it; None where none does. Any Unicode."""
    if len(text) > LONGEST:
        return None
    plain = fold(text).text
    readings = dict.fromkeys((plain, _STRETCHED.sub(r"\1", plain), _STRETCHED.sub(r"\1\1", plain)))
    for language in dict.fromkeys(languages):
        phrases = _phrases(language)
        for reading in readings:
            kinds = _cut(reading, phrases, spaced=language not in _UNSPACED)
            if kinds is not None:
                said = kinds - {"filler"}
                return Answer(said, language) if said and not said >= _AT_ODDS else None
    return None


@cache
def languages() -> tuple[str, ...]:
    """The languages whose answers are known, in alphabetical order."""
    names = (file.name for file in (files("shield") / "answers").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def expanded(phrase: str) -> Iterator[str]:
    """Every wording of a phrase, folded. Raises ValueError where a bracket is not closed."""
    wordings, rest = _either(phrase, 0)
    if rest != len(phrase):
        raise ValueError(f"the phrase {phrase!r} has a bracket too many at character {rest}")
    for wording in wordings:
        yield " ".join(fold(wording).text.replace("-", " ").split())


@cache
def _phrases(language: str) -> dict[str, str]:
    """Each wording and its kind. A wording that stands under two kinds is of the later one in KINDS."""
    table = tomllib.loads((files("shield") / "answers" / f"{language}.toml").read_text("utf-8"))
    if unknown := set(table) - set(KINDS):
        raise ValueError(f"shield/answers/{language}.toml: unknown kinds {sorted(unknown)}; there are {KINDS}")
    blank = "" if language in _UNSPACED else " "
    known = {
        wording.replace(" ", blank): kind
        for kind in KINDS
        for phrase in table.get(kind, [])
        for wording in expanded(phrase)
        if wording
    }
    return known | dict.fromkeys(_NEITHER & known.keys(), "filler")


def _cut(text: str, phrases: dict[str, str], *, spaced: bool) -> frozenset[str] | None:
    """The kinds of the phrases that the text falls into; None where it does not."""
    tokens, joined = _tokens(text, spaced=spaced)
    most = _MOST_WORDS if spaced else _MOST_CHARACTERS
    best: list[tuple[int, frozenset[str]] | None] = [(0, frozenset()), *([None] * len(tokens))]
    for start in range(len(tokens)):
        reached = best[start]
        if reached is None:
            continue
        for end in range(start + 1, min(len(tokens), start + most) + 1):
            if end - 1 > start and not joined[end - 1]:
                break
            kind = _kind(tokens[start:end], phrases, spaced=spaced)
            if kind is None:
                continue
            count, known = reached[0] + 1, best[end]
            if known is None or count < known[0]:
                best[end] = count, reached[1] | {kind}
    done = best[-1] if tokens else None
    return done[1] if done else None


def _kind(words: Sequence[str], phrases: dict[str, str], *, spaced: bool) -> str | None:
    kind = phrases.get((" " if spaced else "").join(words))
    for wild in (1, 2) if spaced else ():
        if kind is None and wild < len(words):
            kind = phrases.get(" ".join([*words[:-wild], *["*"] * wild]))
    return kind


def _tokens(text: str, *, spaced: bool) -> tuple[list[str], list[bool]]:
    """The words (or characters) of a text, and of each whether only blanks and hyphens are between it and the last."""
    tokens: list[str] = []
    joined: list[bool] = []
    at = 0
    for word in _WORD.finditer(text):
        near = _BLANK.fullmatch(text, at, word.start()) is not None
        parts = [word[0]] if spaced or word[0].isascii() else list(word[0])
        tokens += parts
        joined += [near, *([True] * (len(parts) - 1))]
        at = word.end()
    return tokens, joined


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
