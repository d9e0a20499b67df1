"""Whether a backend is asked at all: one that keeps failing is left in peace, and tried again after a pause.

closed -> open              it failed several times in a row, wants a pause itself, or can never work as it is set
          -> half-open      the pause is over: one request is let through to try it, the others still go past it
             -> closed      it answered: everybody is sent to it again
             -> open        it failed: twice the pause, up to a cap
"""

import time
from dataclasses import dataclass
from typing import Literal

from serving.backend import BackendError, BackendMisconfigured, BackendThrottled

State = Literal["closed", "open", "half-open"]
_AT_ONCE = (BackendThrottled, BackendMisconfigured)


@dataclass(frozen=True, slots=True)
class Rests:
    """failures: how many in a row open the circuit. Seconds: the first pause and the longest one."""

    failures: int = 3
    first_s: float = 2.0
    cap_s: float = 60.0


class Circuit:
    """One backend's. Whoever was admitted must say how it went: succeeded, failed, or released."""

    def __init__(self, rests: Rests | None = None) -> None:
        self._rests = rests or Rests()
        self._failures = 0
        self._pause_s = self._rests.first_s
        self._until: float | None = None
        self._trying = False
        self._why = ""

    @property
    def state(self) -> State:
        if self._until is None:
            return "closed"
        return "half-open" if self._trying or time.monotonic() >= self._until else "open"

    @property
    def reason(self) -> str:
        """For the operator: why it is not asked, and when it will be. "" while it is."""
        if self._until is None:
            return ""
        left_s = self._until - time.monotonic()
        when = f"in {left_s:.0f} s" if left_s > 0.5 else "by the next message"
        return f"left alone after it failed ({self._why}); tried again {when}"

    def admits(self) -> bool:
        """Whether a request may be sent now."""
        if self._until is None:
            return True
        if self._trying or time.monotonic() < self._until:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        """It answered as it should."""
        self._failures, self._until, self._trying = 0, None, False
        self._pause_s = self._rests.first_s

    def failed(self, error: BackendError) -> None:
        """It did not. Not every failure says something about the backend."""
        if error.tells == "well":
            self.succeeded()
        elif error.tells == "nothing":
            self.released()
        else:
            self._count(error)

    def released(self) -> None:
        """The request was called off before anybody could tell."""
        self._trying = False

    def _count(self, error: BackendError) -> None:
        self._failures += 1
        tried, self._trying = self._trying, False
        if self._until is not None and not tried:  # an older request: that it fails is known already
            return
        if tried or isinstance(error, _AT_ONCE) or self._failures >= self._rests.failures:
            wanted_s = max(self._pause_s, error.retry_after_s or 0.0)
            self._until = time.monotonic() + min(wanted_s, self._rests.cap_s)
            self._pause_s = min(2 * self._pause_s, self._rests.cap_s)
            self._why = error.reason
