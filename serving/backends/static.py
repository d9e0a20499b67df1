"""Replies from our own words: no model, no network, no disk. The last of every chain, so it always says something."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from serving.backend import Request
from shield.assessment import Level, rank

VARIANTS_TRIED = 6

# For when the wording itself is broken. They fit every level and kind, someone else's crisis included.
_CALM = {
    "en": ("You don't have to sort all of this out at once.", "What is happening right now?"),
    "es": ("No hace falta resolver todo esto de una vez.", "¿Qué está pasando ahora mismo?"),
}
_URGENT = {
    "en": (
        "Nobody should have to face this alone.",
        "Please ask someone you trust to come and stay close, in person, right now.",
        "You can keep writing here meanwhile.",
    ),
    "es": (
        "Nadie debería pasar por esto a solas.",
        "Por favor, pide a alguien de confianza que venga y se quede cerca, en persona, ahora mismo.",
        "Mientras tanto, puedes seguir escribiendo aquí.",
    ),
}

_SENTENCE = re.compile(r".+?(?:[.!?…。！？][\"'”’»)]*+(?=\s|$)|$)", re.DOTALL)


class Words(Protocol):
    """Where the replies come from (prompts.wording.Wording)."""

    def static_reply(
        self,
        *,
        level: Level,
        kind: str,
        language: str,
        variant: int,
        previous: str,
        after_opening: bool,
        channel: str,
        scene: str,
    ) -> str: ...
    def closing(self, *, level: Level, kind: str, language: str, variant: int, previous: str) -> str: ...


@dataclass(frozen=True, slots=True)
class StaticBackend:
    """Sentences that were not said before in this reply or in the conversation, chosen by level, kind and language.

    After another backend has spoken it only closes the reply. Where the words fail, it falls back to built-in ones.
    """

    words: Words
    name: str = "static"
    model: str = "static"
    source: str = "static"

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """One piece per sentence. Raises nothing."""
        sentences = self._sentences(request)
        for place, sentence in enumerate(sentences, start=1):
            yield sentence if place == len(sentences) else f"{sentence} "

    def _sentences(self, request: Request) -> list[str]:
        earlier = " ".join([*(turn.text for turn in request.turns if turn.role == "assistant"), request.prefix]).strip()
        said, built_in = _known(earlier), _built_in(request)
        variants = range(request.variant, request.variant + VARIANTS_TRIED)
        bodies = [body for variant in variants if (body := self._worded(request, variant, earlier))]
        freshest = max(bodies, key=lambda body: len(_new(body, said)) / len(body), default=[])
        fresh = _new(freshest, said)
        if fresh and 2 * len(fresh) >= len(freshest):  # with less left of it, what is left may hang in the air
            return fresh
        return _new(built_in, said) or _new(built_in, _known(request.prefix)) or built_in[-1:]

    def _worded(self, request: Request, variant: int, previous: str) -> list[str]:
        level, kind, language = request.level, request.kind, request.language
        try:
            if request.continued:
                text = self.words.closing(level=level, kind=kind, language=language, variant=variant, previous=previous)
            else:
                text = self.words.static_reply(
                    level=level,
                    kind=kind,
                    language=language,
                    variant=variant,
                    previous=previous,
                    after_opening=bool(request.prefix.strip()),
                    channel=request.channel,
                    scene=request.scene,
                )
            return sentences_of(text)
        except Exception:  # noqa: BLE001 - the last backend of the chain must answer whatever is broken in the words
            return []


def sentences_of(text: str) -> list[str]:
    """The sentences of our own words, without the blanks between them."""
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip()]


def _built_in(request: Request) -> list[str]:
    by_language = _URGENT if rank(request.level) >= rank("high") else _CALM
    language = request.language.lower().partition("-")[0]
    return list(by_language.get(language, by_language["en"]))


def _new(sentences: list[str], known: frozenset[str]) -> list[str]:
    return [sentence for sentence in sentences if _key(sentence) not in known]


def _known(text: str) -> frozenset[str]:
    return frozenset(_key(sentence) for sentence in sentences_of(text))


def _key(sentence: str) -> str:
    return "".join(character for character in sentence.casefold() if character.isalnum())
