"""Leaves out of a sentence what it quotes of the person: a quotation claims nothing.

The quotation may stand between double, single or angled quotes; a word of it may be another one, since nobody quotes
"im worthless" letter by letter.
"""

import re

from safety_filter.readings import visible
from textrules.normalise import fold

_MOST = 160  # characters
_QUOTE = re.compile(
    rf"[\"“]([^\"“”]{{2,{_MOST}}})[\"”]|«([^«»]{{2,{_MOST}}})»|(?<!\w)['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w)){{2,{_MOST}}})['’](?!\w)"
)
_MARKS = frozenset("\"“«'‘")
_USER_CHARACTERS = 4000
_WORD = re.compile(r"\w+")
_FEWEST = 4  # words: of fewer, each must be the person's
_BETWEEN = 3  # words of the person's that a quotation may leave out


def without_quotes(sentence: str, user: str) -> str:
    """The sentence with "(…)" in the place of the person's own words, where it quotes them."""
    if _MARKS.isdisjoint(sentence):
        return sentence
    said = fold(visible(user[-_USER_CHARACTERS:])).text
    spoken = _WORD.findall(said)

    def put(quote: re.Match[str]) -> str:
        words = fold(visible(quote[1] or quote[2] or quote[3])).text.strip(" .,!?")
        return "(…)" if words and (words in said or _nearly(_WORD.findall(words), spoken)) else quote[0]

    return _QUOTE.sub(put, sentence)


def _nearly(quoted: list[str], spoken: list[str]) -> bool:
    """Whether all words but one stand close together in what the person said, in their order."""
    if len(quoted) < _FEWEST:
        return False
    reach = len(quoted) + _BETWEEN
    return any(_missing(quoted, spoken[at : at + reach]) <= 1 for at in range(len(spoken)))


def _missing(quoted: list[str], spoken: list[str]) -> int:
    at = missed = 0
    for word in quoted:
        if word in spoken[at:]:
            at = spoken.index(word, at) + 1
        else:
            missed += 1
    return missed
