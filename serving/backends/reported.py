"""Refuses a model by what its server says of it: a refused model under another name is still refused.

The catalogue decides by the name that the operator wrote; this looks at the names, families and the chat template that
the server itself reports.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from models.catalogue import Catalogue

# The instruction marks of Mistral's own templates. Llama 2 has them too, with a system mark beside them.
_TEMPLATES = {"mistral": ("[INST]", "<<SYS>>")}


@dataclass(frozen=True, slots=True)
class Refusals:
    """The makers' names of refused families, each with the client's reason."""

    reasons: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, catalogue: Catalogue) -> Self:
        cards = [catalogue.get(name) for name in catalogue.names()]
        refused = {_plain(card.family.partition("-")[0]): card.reason for card in cards if card.status == "refused"}
        return cls(tuple(refused.items()))

    def why(self, reported: Iterable[str], template: str = "", *, who: str = "the server") -> str | None:
        """Why a model of these reported names and this chat template may not answer; None when it may."""
        said = [_plain(name) for name in reported]
        for maker, reason in self.reasons:
            if any(maker in name for name in said) or _is_template_of(maker, template):
                return f"{who} reports a {maker.title()} model, which is refused: {reason}"
        return None


def _is_template_of(maker: str, template: str) -> bool:
    mark, unless = _TEMPLATES.get(maker, ("", ""))
    return bool(mark) and mark in template and unless not in template


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
