"""What is known of one request while it runs, for its log line and its metrics: never a word of it."""

import secrets
from dataclasses import dataclass, field
from time import perf_counter
from typing import cast

from starlette.types import Scope

SCOPE_KEY = "crisis.visit"


@dataclass(slots=True)
class Visit:
    """One request, from its first byte to its last. status 0: nothing was answered.

    key: the name of the key that it came with. admin: may see what operators see. limited: more than its key may ask.
    helped: the lines reached the caller; named: the reply's own words named one.
    marks: what left the service, and how many seconds after the first byte came.
    """

    route: str
    began: float = field(default_factory=perf_counter)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: int = 0
    level: str = "-"
    source: str = "-"
    spoke: bool = False
    key: str = "-"
    admin: bool = False
    limited: bool = False
    helped: bool = False
    named: bool = False
    marks: list[tuple[str, float]] = field(default_factory=list)

    def elapsed_s(self) -> float:
        return perf_counter() - self.began


def visit_of(scope: Scope) -> Visit:
    return cast(Visit, scope[SCOPE_KEY])
