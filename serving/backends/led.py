"""Leads a weak model by the hand: gives it the first words of each sentence and takes one sentence at a time.

Left to itself the demo model tells stories. Given "It sounds like" it often ends the sentence as a person would, and
the gate throws away the rest. What it writes is still its own, and passes the same gates.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from serving.backend import BackendRefused, Request
from serving.backends.wrapped import Wrapped

LEADS: Mapping[str, Sequence[str]] = {
    "en": ("It sounds like you are going through", "You are not alone", "Thank you for", "Can you tell me")
}
"""First words of one sentence each: hearing, presence, thanks, a question."""

TOKENS = 28
_END = re.compile(r"[.!?\n]")


@dataclass
class LedBackend(Wrapped):
    """A backend that is led where a person is in crisis and there are leads in the language; else as it is."""

    leads: Mapping[str, Sequence[str]] = field(default_factory=lambda: LEADS)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """One sentence for each lead. Raises what the inner backend raises, but for sentences it has no end for."""
        leads = self.leads.get(request.language, ()) if request.level != "none" else ()
        if not leads:
            async with aclosing(self.inner.stream(request)) as pieces:  # type: ignore[type-var] # an async generator
                async for piece in pieces:
                    yield piece
            return
        for lead in leads:
            yield f"{await self._sentence(request, lead)} "

    async def _sentence(self, request: Request, lead: str) -> str:
        led = replace(request, prefix=f"{request.prefix.rstrip()} {lead}".strip(), max_tokens=TOKENS)
        said = lead
        try:
            async with aclosing(self.inner.stream(led)) as pieces:  # type: ignore[type-var] # an async generator
                async for piece in pieces:
                    said += piece if said != lead or piece[:1] in " ,.!?'’" else f" {piece}"
                    if end := _END.search(said):
                        return said[: end.end()].strip()
        except BackendRefused:  # nothing to add to these first words: no reason to give up the others
            return ""
        return ""
