"""Who is let in: only hashes of keys are known here, and comparing takes the same time for every key."""

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable

from serving.keys import ApiKey, KeyFile, KeyScope, plain

Headers = Iterable[tuple[bytes, bytes]]


class Keys:
    """The keys that are let in. With none configured everyone is: the settings keep that on loopback.

    hashes: keys that may do everything. file: named ones with scopes, which may change while the service runs.
    """

    __slots__ = ("_clock", "_file", "_fixed")

    def __init__(
        self, hashes: Iterable[str] = (), file: KeyFile | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._fixed = plain(hashes)
        self._file = file
        self._clock = clock

    @property
    def required(self) -> bool:
        """A file is enough, also an empty one: then nobody is let in."""
        return bool(self._fixed) or self._file is not None

    def find(self, headers: Headers) -> ApiKey | None:
        """The known key that the headers carry, as `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
        return next((found for key in _presented(headers) if (found := self.known(key)) is not None), None)

    def known(self, key: bytes) -> ApiKey | None:
        """The key that these bytes are. All are compared, whichever it is: no time tells how much of one was right."""
        digest = hashlib.sha256(key).hexdigest()
        known = (*self._fixed, *(self._file.keys() if self._file is not None else ()))
        now = self._clock()
        matches = [one for one in known if hmac.compare_digest(digest, one.hash)]
        return next((one for one in matches if not one.expired(now)), None)

    def admit(self, headers: Headers, scope: KeyScope = "respond") -> bool:
        """Whether whoever sends these headers may do this."""
        found = self.find(headers) if self.required else None
        return not self.required or (found is not None and found.may(scope))


def _presented(headers: Headers) -> Iterable[bytes]:
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            yield value[7:].strip()
