"""Faults that lie in the shape of a sentence rather than in its words: loops, gibberish, text in code."""

import base64
import binascii
import codecs
import re
from collections.abc import Iterator

from safety_filter.verdict import Violation

_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_RUN = re.compile(r"([^\W\d_])\1{6,}")
_LONG_WORD = 45
_LOOP_WORDS = 9
_REPEAT_CHARACTERS = 16
_ECHO_CHARACTERS = 6
_SPEECHLESS_WORDS = 9
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{4,}")
# Words that almost every sentence of a language we judge has one of: text without any may be in code.
_COMMON_WORDS = (
    "a about after again ahora al all am an and any aqui are as at au auf avec back be because been "
    "before being bist but by can ce com como con could da dans das de del dem den der des did die do "
    "does down du e ein eine el elle em en es est esta estas este esto estoy et etes eu for from fur get "
    "go had has have hay he help her here hier him his how i ich if il im in into is ist it its je just "
    "know la las le les like lo los mas me mi might mit more my nao ne nicht no not now o of off on one "
    "or os other our out over para pas people pero please por pour puedes que qui right safe se seu she "
    "si sie sin so some someone soy stay still su sua suis sur te that the their them then there these "
    "they this those to tonight too tu um uma un una und une up us very voce vous want was way we were "
    "what when where which while who why will wir with would y ya yes you your youre zu "
)
_COMMON = frozenset(_COMMON_WORDS.split())
_PAIR = 2
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
_WORD = re.compile(r"[^\W\d_]+")


def faults(sentence: str, before: str, *, everyday: bool = False) -> Iterator[Violation]:
    """What is wrong with how the sentence is built. In answer to an `everyday` message it need speak to nobody."""
    bare = sentence.strip()
    if _repeats(bare, before):
        yield Violation("loop.repeated-sentence", "gibberish", "cut")
    words = bare.split()
    yield from _senseless(bare, everyday=everyday)
    if len(words) >= _LOOP_WORDS and _loops(words):
        yield Violation("loop.repeated-words", "gibberish", "block")
    if _RUN.search(bare) or (
        len(bare) > _LONG_WORD and any(len(word) > _LONG_WORD and "/" not in word for word in words)
    ):
        yield Violation("gibberish.not-words", "gibberish", "block")
    if not bare.isascii() and any("\ud800" <= char <= "\udfff" or char == "\ufffd" for char in bare if char > "\ud7ff"):
        yield Violation("gibberish.broken-characters", "gibberish", "cut")


def _repeats(bare: str, before: str) -> bool:
    if len(bare) >= _REPEAT_CHARACTERS:
        return bare in before
    return len(bare) >= _ECHO_CHARACTERS and before.rstrip().endswith(bare)


def _senseless(bare: str, *, everyday: bool) -> Iterator[Violation]:
    """Letters that are no words, and text that speaks neither to nor of anyone."""
    words = _words(bare)
    if len(words) < _PAIR:
        return
    known = _COMMON.intersection(words)
    if not known and sum(1 for word in words if _CONSONANTS.search(word)) >= _PAIR:
        yield Violation("gibberish.not-words", "gibberish", "block")
    if len(words) < _SPEECHLESS_WORDS or not words[0].isascii():
        return
    if not known:
        yield Violation("gibberish.no-common-word", "gibberish", "cut")
    elif not everyday and len(known & _ENGLISH) >= _PAIR and _SOMEBODY.isdisjoint(words) and _FACTUAL.search(bare):
        yield Violation("unrelated.speaks-to-nobody", "unrelated", "cut")


def _words(text: str) -> list[str]:
    if text.isascii():
        return _WORD.findall(text.lower())
    return [word.lower() for word in _WORD.findall(text)]


def _loops(words: list[str]) -> bool:
    """Whether the same three words come back again and again."""
    low = [word.lower() for word in words]
    triples = list(zip(low, low[1:], low[2:], strict=False))
    return len(triples) - len(set(triples)) >= max(3, len(words) // 6)


def decoded(sentence: str) -> Iterator[str]:
    """What the sentence says once undone: base64, rot13 or backwards. Nothing for ordinary writing."""
    for run in _BASE64.findall(sentence):
        try:
            text = base64.b64decode(run + "=" * (-len(run) % 4)).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
        if text.isprintable():
            yield text
    words = _words(sentence)
    if len(words) >= 2 and _COMMON.isdisjoint(words):
        yield codecs.decode(sentence, "rot13")
        yield sentence[::-1]
