"""A text as numbers for the learned stage: hashed words, pairs of words, pieces of words. Training uses it too."""

import re
from itertools import pairwise
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
    if len(text) > CHARACTERS:
        text = f"{text[:CHARACTERS]}\n{text[-CHARACTERS // 4 :]}"
    sentences = [piece for piece in _END.split(text) if piece.strip()] or [text]
    return ["".join(sentences[max(0, end - SENTENCES) : end]) for end in range(1, len(sentences) + 1)]


def buckets(text: str) -> frozenset[int]:
    """The buckets that the text fills, each once."""
    named = "\n".join(names(fold(text).text)).encode("utf-8", "replace").split(b"\n")
    return frozenset([code % BUCKETS for code in map(crc32, named)])


def names(text: str) -> list[str]:
    """The features of folded text by name: w word, p pair, s pair with one word left out, c piece of a word."""
    words = ["^", *[token if len(token) < 24 else "~" for token in _TOKEN.findall(text)], "$"]
    found = [f"w {word}" for word in words]
    found += [f"p {one} {other}" for one, other in pairwise(words)]
    found += [f"s {one} {other}" for one, other in zip(words, words[2:], strict=False)]
    edged = [f"<{word}>" for word in words if len(word) > 4]
    found += [f"c {word[start : start + 4]}" for word in edged for start in range(len(word) - 3)]
    return found
