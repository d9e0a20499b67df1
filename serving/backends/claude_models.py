"""What each family of Claude models takes, so that a request is never rejected for an option that its model gave up.

From Anthropic's public documentation as of SDK 2.12: prefill ended with 4.6, `temperature` with Opus 4.7, and from 5 on
models think before they write unless told otherwise. Thinking counts towards max_tokens: a reply of 160 tokens would
come back empty.
"""

import re
from dataclasses import dataclass
from typing import Literal

Thinking = Literal["off", "disabled", "between_tools", "always"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """prefill: continues an assistant turn. temperature: takes one. effort: takes `output_config.effort`.

    thinking: "off" does not think unless asked; "disabled" and "between_tools" are what must be sent to answer at once;
    "always" can't be stopped, so the answer needs room for it.
    """

    prefill: bool = False
    temperature: bool = False
    effort: bool = False
    thinking: Thinking = "always"


UNKNOWN = Capabilities()
"""For a name that nobody here knows: nothing that some model rejects is sent, and there is room to think."""

_CLASSIC = Capabilities(prefill=True, temperature=True, thinking="off")
_BY_FAMILY: dict[tuple[str, int, int], Capabilities] = {
    ("opus", 4, 6): Capabilities(temperature=True, thinking="off"),
    ("sonnet", 4, 6): Capabilities(temperature=True, thinking="off"),
    ("opus", 4, 7): Capabilities(thinking="off"),
    ("opus", 4, 8): Capabilities(thinking="off"),
    ("opus", 5, 0): Capabilities(thinking="disabled"),
    ("sonnet", 5, 0): Capabilities(thinking="disabled"),
    ("haiku", 5, 5): Capabilities(thinking="disabled"),
    ("sonnet", 5, 5): Capabilities(thinking="between_tools"),
    ("opus", 5, 5): Capabilities(effort=True),
    ("fable", 5, 0): Capabilities(effort=True),
    ("fable", 5, 1): Capabilities(effort=True),
    ("fable", 5, 2): Capabilities(effort=True),
    ("mythos", 5, 0): Capabilities(effort=True),
    ("mythos", 5, 1): Capabilities(effort=True),
    ("mythos", 5, 2): Capabilities(effort=True),
}
_OLD_ORDER = re.compile(r"claude-(?P<major>[23])(?![0-9])")
_NEW_ORDER = re.compile(r"claude-(?P<family>[a-z]+)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2})(?!\d))?(?!\d)")


def capabilities(model: str) -> Capabilities:
    """What a model takes, by its name, with or without a date and a provider's prefix. UNKNOWN where unsure."""
    name = model.lower()
    if _OLD_ORDER.search(name):
        return _CLASSIC
    found = _NEW_ORDER.search(name)
    if found is None:
        return UNKNOWN
    family, major, minor = found["family"], int(found["major"]), int(found["minor"] or 0)
    if family in ("opus", "sonnet", "haiku") and (3, 0) <= (major, minor) <= (4, 5):
        return _CLASSIC
    return _BY_FAMILY.get((family, major, minor), UNKNOWN)
