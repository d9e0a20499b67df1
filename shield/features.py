"""A text as numbers for the learned stage: hashed words, pairs of words, pieces of words. Training uses it too."""

import re
from collections.abc import Iterator
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
    return frozenset(crc32(name.encode("utf-8", "replace")) % BUCKETS for name in names(fold(text).text))


def names(text: str) -> Iterator[str]:
    """The features of folded text by name: w word, p pair, s pair with one word left out, c piece of a word."""
    words = ["^", *(token if len(token) < 24 else "~" for token in _TOKEN.findall(text)), "$"]
    for place, word in enumerate(words):
        yield f"w {word}"
        if place:
            yield f"p {words[place - 1]} {word}"
        if place > 1:
            yield f"s {words[place - 2]} {word}"
        if len(word) > 4:
            edged = f"<{word}>"
            for start in range(len(edged) - 3):
                yield f"c {edged[start : start + 4]}"
