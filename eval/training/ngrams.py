"""A text as numbers for the learned stage: hashed words, pairs of words, pieces of words. Training uses it too."""

import re
from itertools import accumulate, chain, pairwise
from zlib import crc32

from textrules.normalise import fold

BUCKETS = 1 << 16
CHARACTERS = 4000
SENTENCES = 3
_END = re.compile(r"(?<=[.!?…\n])(?![.!?…])")
_TOKEN = re.compile(r"[^\W_]+|[?!.…]|[\U0001F300-\U0001FAFF]")


def windows(text: str) -> list[str]:
    """Every run of up to three sentences, each ending with another sentence: what is added never dilutes what was said.

    Of a text over 4,000 characters the beginning and the last 1,000 are read.
    """
    sentences = _sentences(text)
    return ["".join(sentences[start:end]) for start, end in _runs(len(sentences))]


def buckets_of_windows(text: str) -> list[frozenset[int]]:
    """The buckets of every window of the text, as `buckets` fills them, with each word looked at once."""
    said = [_tokens(fold(sentence).text) for sentence in _sentences(text)]
    words = [word for sentence in said for word in sentence]
    ends = [0, *accumulate(map(len, said))]
    alone = _codes([f"w {word}" for word in words])
    pairs = [0, *_codes([f"p {one} {other}" for one, other in pairwise(words)])]
    skips = [0, 0, *_codes([f"s {one} {other}" for one, other in zip(words, words[2:], strict=False)])]
    pieces = [_pieces(word) for word in words]
    parts = _codes([piece for found in pieces for piece in found])
    reach = [0, *accumulate(map(len, pieces))]
    filled = []
    for first, last in _runs(len(said)):
        start, end = ends[first], ends[last]
        edges = _codes(_edges(words[start:end]))
        inner = parts[reach[start] : reach[end]]
        filled.append(frozenset(chain(edges, alone[start:end], pairs[start + 1 : end], skips[start + 2 : end], inner)))
    return filled


def buckets(text: str) -> frozenset[int]:
    """The buckets that the text fills, each once."""
    return frozenset(_codes(names(fold(text).text)))


def names(text: str) -> list[str]:
    """The features of folded text by name: w word, p pair, s pair with one word left out, c piece of a word."""
    words = ["^", *_tokens(text), "$"]
    found = [f"w {word}" for word in words]
    found += [f"p {one} {other}" for one, other in pairwise(words)]
    found += [f"s {one} {other}" for one, other in zip(words, words[2:], strict=False)]
    return found + [piece for word in words for piece in _pieces(word)]


def _sentences(text: str) -> list[str]:
    if len(text) > CHARACTERS:
        text = f"{text[:CHARACTERS]}\n{text[-CHARACTERS // 4 :]}"
    return [piece for piece in _END.split(text) if piece.strip()] or [text]


def _runs(sentences: int) -> list[tuple[int, int]]:
    return [(max(0, end - SENTENCES), end) for end in range(1, sentences + 1)]


def _tokens(folded: str) -> list[str]:
    return [token if len(token) < 24 else "~" for token in _TOKEN.findall(folded)]


def _pieces(word: str) -> list[str]:
    if len(word) <= 4:
        return []
    edged = f"<{word}>"
    return [f"c {edged[start : start + 4]}" for start in range(len(edged) - 3)]


def _edges(words: list[str]) -> list[str]:
    """The names that a text's beginning and end have part in."""
    marked = ["^", *words[:2], *words[-2:], "$"] if words else ["^", "$"]
    found = ["w ^", "w $", f"p ^ {marked[1]}", f"p {marked[-2]} $"]
    if len(words) > 1:
        return [*found, f"s ^ {words[1]}", f"s {words[-2]} $"]
    return [*found, "s ^ $"] if words else found


def _codes(named: list[str]) -> list[int]:
    if not named:
        return []
    encoded = "\n".join(named).encode("utf-8", "replace").split(b"\n")
    return [code % BUCKETS for code in map(crc32, encoded)]
