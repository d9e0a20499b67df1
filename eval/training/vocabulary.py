"""Which pieces of the source's 250,000 are kept: those of folded text in the scripts that the service reads."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer, models, pre_tokenizers

from eval.training.source import Source
from textrules.normalise import fold

MARKS = 4  # <s> <pad> </s> <unk>, in the source and in every vocabulary made from it
LATIN = {"LATIN": 15_000, "": 1_500}
EVERY = {
    **LATIN,
    "CYRILLIC": 5_000,
    "CJK": 3_500,
    "ARABIC": 3_000,
    "DEVANAGARI": 2_500,
    "HANGUL": 1_200,
    "HIRAGANA": 700,
    "GREEK": 300,
    "KATAKANA": 200,
    "HEBREW": 200,
    "THAI": 200,
}
"""The most frequent pieces kept by script; "" are digits, punctuation and emoji. A rarer word is read in parts."""


def kept(source: Source, texts: Iterable[str], scripts: Mapping[str, int]) -> list[int]:
    """The source's ids to keep: the marks, what `texts` need, and the most frequent of each script."""
    whole = _tokenizer(source, range(len(source.pieces)))
    used = {n for one in whole.encode_batch(list(texts), add_special_tokens=False) for n in one.ids}
    taken: Counter[str] = Counter()
    ids = list(range(MARKS))
    for number, piece in enumerate(source.pieces[MARKS:], MARKS):
        script = _script(piece)
        wanted = script is not None and taken[script] < scripts.get(script, 0) and fold(piece).text == piece
        if wanted and script is not None:
            taken[script] += 1
        if wanted or number in used:
            ids.append(number)
    return ids


def standing(source: Source, tokenizer: Tokenizer) -> list[int]:
    """The source's ids of the pieces that a tokenizer made from it has, in its order."""
    numbers = {piece: number for number, piece in reversed(list(enumerate(source.pieces)))}
    words = tokenizer.get_vocab()
    return [numbers[word] for word in sorted(words, key=lambda word: words[word])]


def tokenizer(source: Source, ids: Iterable[int]) -> Tokenizer:
    """A SentencePiece unigram tokenizer of those pieces, numbered anew from 0."""
    return _tokenizer(source, ids)


def _tokenizer(source: Source, ids: Iterable[int]) -> Tokenizer:
    pieces = [(source.pieces[number], float(source.scores[number])) for number in ids]
    made = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=False))
    made.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=False)
    return made


def _script(piece: str) -> str | None:
    """The one script of its letters; "" for a piece without letters, None for a mixture."""
    found = {unicodedata.name(char, "?").split()[0] for char in piece if char != "▁" and char.isalpha()}
    return None if len(found) > 1 else next(iter(found), "")
