"""Faults that lie in the shape of a sentence rather than in its words: loops, gibberish, text in code."""

import re
from collections.abc import Iterator

from safety_filter.common_words import COMMON, latin_words
from safety_filter.verdict import Violation

_RUN = re.compile(r"([^\W\d_])\1{6,}")
_DEBRIS = re.compile(r"[%#>|;]{2,}|\[\]|\{\}|; ?return\b|(?:\b\d ){3,}\d\b")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(?=\S)", re.MULTILINE)
_STAGE = re.compile(r"\*[a-z]+s(?: [^*]{1,80})?\*")
_LONG_WORD = 45
_REPEAT_CHARACTERS = 16
_ECHO_CHARACTERS = 6
_SPEECHLESS_WORDS = 9
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{4,}")
_PAIR = 2
_LOOP = 3
_ENGLISH = frozenset(["the", "of", "and", "is", "was", "in", "with", "for", "to", "by", "are", "were"])
# An English sentence of some length that has none of these is about something else than the person.
_SOMEBODY_WORDS = (
    "you your yours yourself i me my mine we us our someone somebody anyone people person they them their he him his "
    "she her who friend friends family mother father mom dad sister brother child children partner counselor doctor "
    "pain hurt hurting hurts feel feeling feelings feels grief alone safe safety help crisis support talk call text "
    "line lifeline night tonight life live living alive suicide suicidal death die dying sleep hope guilt shame loss "
    "god jesus stay breathe breath lord brokenhearted here now emergency"
)
_FACTUAL = re.compile(r"[a-z,] [A-Z][a-z]{2,}|\b1\d{3}\b|\b20\d\d\b|\d%")
_SOMEBODY = frozenset(_SOMEBODY_WORDS.split())


def faults(sentence: str, before: str, *, everyday: bool = False) -> Iterator[Violation]:
    """What is wrong with how the sentence is built. In answer to an `everyday` message it need speak to nobody."""
    bare = sentence.strip()
    if _repeats(bare, before):
        yield Violation("loop.repeated-sentence", "gibberish", "cut")
    words = bare.split()
    yield from _senseless(bare, everyday=everyday)
    if len(words) > 1 and _loops(words):
        yield Violation("loop.repeated-words", "gibberish", "block")
    if (
        _RUN.search(bare)
        or (not everyday and _DEBRIS.search(_HEADING.sub("", bare)))
        or (len(bare) > _LONG_WORD and any(len(word) > _LONG_WORD and "/" not in word for word in words))
    ):
        yield Violation("gibberish.not-words", "gibberish", "block")
    if not everyday and _STAGE.match(bare):
        yield Violation("roleplay.between-asterisks", "roleplay", "cut")
    if not bare.isascii() and any("\ud800" <= char <= "\udfff" or char == "\ufffd" for char in bare if char > "\ud7ff"):
        yield Violation("gibberish.broken-characters", "gibberish", "cut")


def _repeats(bare: str, before: str) -> bool:
    if len(bare) >= _REPEAT_CHARACTERS:
        return bare in before
    return len(bare) >= _ECHO_CHARACTERS and before.rstrip().endswith(bare)


def _senseless(bare: str, *, everyday: bool) -> Iterator[Violation]:
    """Letters that are no words, and text that speaks neither to nor of anyone."""
    words = latin_words(bare)
    if len(words) < _PAIR:
        return
    known = COMMON.intersection(words)
    if not known and sum(1 for word in words if _CONSONANTS.search(word)) >= _PAIR:
        yield Violation("gibberish.not-words", "gibberish", "block")
    if len(words) < _SPEECHLESS_WORDS or not words[0].isascii():
        return
    if not known:
        yield Violation("gibberish.no-common-word", "gibberish", "cut")
    elif not everyday and len(known & _ENGLISH) >= _PAIR and _SOMEBODY.isdisjoint(words) and _FACTUAL.search(bare):
        yield Violation("unrelated.speaks-to-nobody", "unrelated", "cut")


def _loops(words: list[str]) -> bool:
    """Whether a third of it is three words that came before, or hardly any word is new. "You don't have to want to
    live, you only have to want the next ten minutes" repeats less."""
    low = [word.lower().strip(".,!?;:") for word in words]
    triples = list(zip(low, low[1:], low[2:], strict=False))
    again = len(triples) - len(set(triples))
    return (again >= _LOOP and 3 * again >= len(triples)) or 2 * len(set(low)) < len(low) or len(set(low)) == 1
