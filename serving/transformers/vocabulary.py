"""The model's own tokenizer, for text that people type: nobody can type a control token, and every token has its bytes.

transformers' streamers decode a growing list of tokens again and again; here each token's bytes are looked up, and the
characters are put together later (serving/worker/pieces.py).
"""

import json
from collections.abc import Callable
from typing import Any

from serving.transformers import reasons
from serving.worker.reasons import LoadFailure

_SPACE = "\u2581"  # how SentencePiece vocabularies write a space


class Vocabulary:
    """A transformers tokenizer. ends: further tokens that end a reply, from the model's generation settings."""

    def __init__(self, tokenizer: Any, ends: frozenset[int] = frozenset()) -> None:
        self._tokenizer = tokenizer.backend_tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder()
        self._control = frozenset(token for token, what in added.items() if what.special)
        self._plain: dict[int, bytes] = {
            token: what.content.encode() for token, what in added.items() if not what.special
        }
        own_end = tokenizer.eos_token_id
        self._ends = self._control | ends | ({own_end} if own_end is not None else set())
        self._to_bytes = _bytes_of(self._tokenizer.decoder)
        self.bos = self._leading(tokenizer.bos_token_id)
        self.bos_text: str = tokenizer.bos_token or ""
        self.eos_text: str = tokenizer.eos_token or ""

    def tokenise(self, text: str, control: bool) -> list[int]:
        """The tokens of a text; names of control tokens in it count as such only when `control` is true."""
        self._tokenizer.encode_special_tokens = not control
        clean = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair is no text
        tokens: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return tokens if control else [token for token in tokens if token not in self._control]

    def piece(self, token: int) -> bytes:
        """The bytes of a token; nothing for a control token."""
        if token in self._control:
            return b""
        if token in self._plain:
            return self._plain[token]
        text = self._tokenizer.id_to_token(token)
        return self._to_bytes(text) if text is not None else b""

    def ends(self, token: int) -> bool:
        """Whether a token ends the reply: an end token, or any control token, which has no place inside one."""
        return token in self._ends

    def _leading(self, bos: int | None) -> int | None:
        """The token that the model wants before everything else; None where it wants none."""
        first = self._tokenizer.encode("x", add_special_tokens=True).ids[:1]
        return bos if bos is not None and first == [bos] else None


def _bytes_of(decoder: Any) -> Callable[[str], bytes]:
    """How this kind of vocabulary writes bytes. Raises LoadFailure for a kind that is not known."""
    state = json.loads(decoder.__getstate__()) if decoder is not None else {}
    kinds = {state.get("type"), *(part.get("type") for part in state.get("decoders", ()))}
    if "ByteLevel" in kinds:
        return _ByteLevel()
    if kinds & {"ByteFallback", "Metaspace"}:
        return _sentence_piece
    raise LoadFailure(reasons.UNKNOWN_TOKENISER)


class _ByteLevel:
    """Byte-level BPE (GPT-2, Qwen, Llama 3): every byte is written as one printable character."""

    def __init__(self) -> None:
        printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = [byte for byte in range(256) if byte not in printable]
        self._bytes = {chr(byte): byte for byte in printable}
        self._bytes |= {chr(256 + place): byte for place, byte in enumerate(others)}

    def __call__(self, text: str) -> bytes:
        return bytes(self._bytes[character] for character in text if character in self._bytes)


def _sentence_piece(text: str) -> bytes:
    """SentencePiece with bytes for what it does not know (Gemma, Llama 2)."""
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        return bytes([int(text[3:5], 16)])
    return text.replace(_SPACE, " ").encode()
