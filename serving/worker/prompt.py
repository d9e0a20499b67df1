"""A request as tokens that fit the context: what is too long loses its oldest turns, never the protocol.

Order of sacrifice: the oldest turns; then the beginning of the person's last message, of which the end is kept. If not
even that fits, the request is refused before anything is evaluated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serving.classification import first_tokens, spellings
from serving.worker.protocol import Job
from serving.worker.template import ChatTemplate

MIN_MESSAGE_TOKENS = 32  # less of a last message than this is no basis for an answer

Tokenise = Callable[[str, bool], list[int]]


class PromptTooLong(Exception):
    """Protocol, reply and the least of the last message do not fit the context."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """tokens: the whole prompt with the reply's given beginning; its first n_kept are the unchanging protocol's.

    n_reply of the last tokens are the beginning of the reply.
    """

    tokens: list[int]
    n_kept: int
    n_reply: int
    n_dropped: int
    message_cut: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    tokens: list[int]
    message: int


class PromptBuilder:
    """Words requests for one model. `tokenise(text, control)` recognises control tokens only where control is true."""

    def __init__(self, template: ChatTemplate, tokenise: Tokenise, *, bos: int | None, context: int) -> None:
        self._template = template
        self._tokenise = tokenise
        self._bos = bos
        self._context = context

    def build(self, job: Job) -> Prompt:
        """Raises PromptTooLong; TemplateRejected for a conversation that the model's template cannot hold."""
        system = (job.system[: job.prefix_chars], job.system[job.prefix_chars :])
        reply = self._tokenise(job.prefix.rstrip(), False) if job.prefix.rstrip() else []
        room = self._context - job.max_tokens - len(reply)
        known: dict[tuple[str, bool], list[int]] = {}
        for n_dropped in range(len(job.turns)):
            pieces, kept = self._pieces(system, job.turns[n_dropped:], known)
            too_many = sum(len(piece.tokens) for piece in pieces) - room
            if too_many <= 0:
                return Prompt(_joined(pieces) + reply, _length(pieces[:kept]), len(reply), n_dropped, False)
        pieces = self._cut(pieces, too_many)
        return Prompt(_joined(pieces) + reply, _length(pieces[:kept]), len(reply), n_dropped, True)

    def prefix(self, text: str, rest: str = "") -> list[int]:
        """The tokens with which every prompt begins whose system text begins with `text`, and goes on with `rest`."""
        pieces, kept = self._pieces((text, rest or "x"), (("user", "x"),), {})
        return _joined(pieces[: kept + bool(rest)])

    def first_tokens(self, labels: Sequence[str]) -> list[list[int]]:
        """For each label the tokens with which it, and no other, would begin."""
        return first_tokens([[self._tokenise(text, False) for text in spellings(label)] for label in labels])

    def _pieces(
        self, system: tuple[str, str], turns: tuple[tuple[str, str], ...], known: dict[tuple[str, bool], list[int]]
    ) -> tuple[list[_Piece], int]:
        """The prompt in pieces, and how many of them the unchanging protocol takes."""
        parts = tuple(part for part in system if part)
        messages = self._template.arrange(parts, turns)
        pieces = [_Piece([self._bos], -1)] if self._bos is not None else []
        kept = 0
        for segment in self._template.segments(messages):
            key = (segment.text, segment.control)
            if key not in known:
                known[key] = self._tokenise(*key)
            tokens = known[key]
            if not pieces[:-1] and self._bos is not None and tokens[:1] == [self._bos]:
                tokens = tokens[1:]  # the template writes it itself
            pieces.append(_Piece(tokens, segment.message))
            if not kept and system[0] and segment.message == 0:
                kept = len(pieces)
        return pieces, kept

    def _cut(self, pieces: list[_Piece], too_many: int) -> list[_Piece]:
        """The last message's last part, shortened at its beginning."""
        at = max(index for index, piece in enumerate(pieces) if piece.message >= 0)
        rest = pieces[at].tokens[too_many:]
        if len(rest) < min(MIN_MESSAGE_TOKENS, len(pieces[at].tokens)):
            raise PromptTooLong
        return [*pieces[:at], _Piece(rest, pieces[at].message), *pieces[at + 1 :]]


def _joined(pieces: list[_Piece]) -> list[int]:
    return [token for piece in pieces for token in piece.tokens]


def _length(pieces: list[_Piece]) -> int:
    return sum(len(piece.tokens) for piece in pieces)
