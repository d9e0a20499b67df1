"""Holds back what is written in a language that the filter cannot judge, or that the person may not be able to read.

What nobody here can judge is not released, whatever it says; the static reply answers in the person's language instead.
"""

import re
from collections.abc import Iterator

from safety_filter.common_words import COMMON, known, latin_words
from safety_filter.verdict import Violation
from textrules.language import identify

JUDGED = frozenset(["en", "es", "pt", "fr", "de"])
"""The languages that have rules."""

_SURE_WORDS = 8
_NAMED_WORDS = 3
_UNNAMED_WORDS = 5
# In our good replies, sentences that no language could be named for had at least 2 small words in 10.
_SMALL_WORDS = 0.15
_KNOWN_WORDS = 0.5
_NEIGHBOURS = 240
_LATIN = r"\u0000-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a\U0001d400-\U0001d7ff"
_OTHER_SCRIPT = re.compile(rf"[^\W\d_{_LATIN}]{{2,}}")
_OTHER_LETTER = re.compile(
    r"[\u00c5\u00c6\u00d0\u00d8\u00dd\u00de\u00e5\u00e6\u00f0\u00f8\u00fd\u00fe\u0100-\u0151\u0154-\u024f\u1e00-\u1eff]"
)
_WORD = re.compile(r"\w+")
_NOT_ITALIAN = re.compile(r"[áíóúñ¿¡]|\by\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`\n]{0,150}[-_./=(){}$<>|:;\d][^`\n]{0,150}`")
_NOT_JUDGED = Violation("language.not-judged", "wrong_language", "block")
_STRANGE = Violation("language.strange-words", "wrong_language", "cut")
_NOT_THEIRS = Violation("language.not-the-persons", "wrong_language", "block")


def foreign(sentence: str, before: str, user: str, language: str, *, everyday: bool = False) -> Iterator[Violation]:
    """What is wrong with the language of `sentence` after `before`, in a reply in `language` to `user`.

    In answer to an `everyday` message a few words that are nobody's (names, terms) are no fault; code is no language.
    """
    words = latin_words(_CODE.sub(" ", sentence) if everyday else sentence)
    if not sentence.isascii() and _other_letters(sentence, user, words):
        yield _NOT_JUDGED
        return
    spoken = identify(sentence) if len(words) > 1 else None
    if spoken == "it" and len(words) < _SURE_WORDS and _NOT_ITALIAN.search(sentence):
        spoken = None
    if (spoken or "en") not in JUDGED and len(words) >= _NAMED_WORDS and not _ours(words):
        yield _NOT_JUDGED
    elif spoken not in JUDGED and _strange(words, everyday=everyday):
        yield _NOT_JUDGED if len(words) >= _UNNAMED_WORDS else _STRANGE
    elif spoken != language[:2].lower():
        yield from _not_theirs(sentence, before, user, language)


def _other_letters(sentence: str, user: str, words: list[str]) -> bool:
    """Whether words are written in letters of no language that we judge; names that the person wrote are theirs."""
    others = _OTHER_SCRIPT.findall(sentence)
    if _OTHER_LETTER.search(sentence):
        others += [word for word in _WORD.findall(sentence) if _OTHER_LETTER.search(word)]
    return any(other not in user for other in others) or 2 * len(others) > len(words)


def _ours(words: list[str]) -> bool:
    """Whether a few words, too few to name a language by, are all words of languages that we judge.

    "Aléjate del borde y baja" is no Italian for its "del".
    """
    return len(words) < _SURE_WORDS and all(word in known() for word in words if len(word) > 1)


def _strange(words: list[str], *, everyday: bool) -> bool:
    """Whether these are the words of no language that we judge: too few small ones, and too few that we ever met."""
    if len(words) < 2 or sum(word in known() for word in words) >= _KNOWN_WORDS * len(words):
        return False
    if len(words) >= _UNNAMED_WORDS:
        return sum(word in COMMON for word in words) < _SMALL_WORDS * len(words)
    return not everyday and COMMON.isdisjoint(words)


def _not_theirs(sentence: str, before: str, user: str, language: str) -> Iterator[Violation]:
    """A short Latin sentence says too little about its language: it is read on from what stands before it."""
    theirs, said = language[:2].lower(), before[-_NEIGHBOURS:]
    short = sentence.count(" ") < _SURE_WORDS
    text = said + sentence if short else sentence
    if text.count(" ") < _SURE_WORDS or (short and identify(said) == theirs):
        return
    spoken = identify(text)
    if spoken is not None and spoken not in (theirs, identify(user)):
        yield _NOT_THEIRS if spoken in JUDGED else _NOT_JUDGED
