"""API keys: only their hashes are known here, and comparing takes the same time for every key."""

import hashlib
import hmac
from collections.abc import Iterable

Headers = Iterable[tuple[bytes, bytes]]


def hashed(key: str) -> str:
    """What the configuration holds in place of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Keys:
    """The keys that are let in. With none configured everyone is: the settings keep that on loopback."""

    __slots__ = ("_hashes",)

    def __init__(self, hashes: Iterable[str]) -> None:
        self._hashes = tuple(hashes)

    @property
    def required(self) -> bool:
        return bool(self._hashes)

    def admit(self, headers: Headers) -> bool:
        """Whether the headers carry a known key, as `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
        return not self._hashes or any(self.knows(key) for key in _presented(headers))

    def knows(self, key: bytes) -> bool:
        digest = hashlib.sha256(key).hexdigest()
        matches = [hmac.compare_digest(digest, known) for known in self._hashes]  # a list: no short cut
        return any(matches) or not self._hashes


def _presented(headers: Headers) -> Iterable[bytes]:
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            yield value[7:].strip()
