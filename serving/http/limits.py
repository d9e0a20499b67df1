"""How many requests a key may make in a minute. Past that a person still gets an answer: the static one."""

import math
import time
from collections.abc import Callable


class Limits:
    """A bucket for each name, full with a minute's worth, filled again evenly. Names are those of keys: a closed set.

    per_minute: for names without a number of their own; 0 is no limit.
    """

    __slots__ = ("_clock", "_left", "_per_minute")

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def over(self, name: str, per_minute: int | None = None) -> int:
        """Counts a request. 0 within the limit, else the whole seconds after which the next one will be within it."""
        allowed = self._per_minute if per_minute is None else per_minute
        if allowed <= 0:
            return 0
        now = self._clock()
        left, before = self._left.get(name, (float(allowed), now))
        left = min(float(allowed), left + (now - before) * allowed / 60)
        within = left >= 1
        self._left[name] = (left - 1 if within else left, now)
        return 0 if within else max(1, math.ceil((1 - left) * 60 / allowed))
