"""API keys as an operator keeps them: a file of names, hashes and what each may do; no key itself is kept anywhere.

A key is 256 random bits, so that its plain SHA-256 can be stored: there is no dictionary to try. The file is read again
when it changes. Errors: KeysError, one line.
"""

import hashlib
import logging
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

KeyScope = Literal["respond", "metrics", "admin"]
"""respond: all that serves people, under /crisis and /v1; metrics: /metrics; admin: both, and what operators see."""

SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)
MOST_KEYS = 1_000
LOOK_AGAIN_S = 1.0
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_FIELDS = frozenset({"name", "hash", "scopes", "per_minute", "created", "expires"})

logger = logging.getLogger("crisis")


class KeysError(ValueError):
    """The keys cannot be used: says which file, which key, and how to mend it; never a key."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """name: the operator's, and what logs show. per_minute: requests, None for the service's default, 0 for no limit.

    expires: seconds since 1970, None for never.
    """

    name: str
    hash: str
    scopes: frozenset[KeyScope] = frozenset(SCOPES)
    per_minute: int | None = None
    expires: float | None = None

    def may(self, scope: KeyScope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires


def hashed(key: str) -> str:
    """What is kept in place of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def plain(hashes: Iterable[str]) -> tuple[ApiKey, ...]:
    """The keys of `server.api_keys`: without names, and each may do everything. Raises KeysError."""
    return tuple(_checked(ApiKey(f"key-{place}", one), "api_keys") for place, one in enumerate(hashes, start=1))


def read_keys(path: Path) -> tuple[ApiKey, ...]:
    """The keys of a file, expired ones too. Raises KeysError."""
    try:
        if path.stat().st_mode & 0o002:
            raise KeysError(f"{path}: everybody on this machine can write it, and so let themselves in; chmod o-w it")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise KeysError(f"{path}: cannot be read: {error.strerror}; `crisis keys add` makes it") from None
    except UnicodeDecodeError:
        raise KeysError(f"{path}: not a file of keys: it is not UTF-8") from None
    return parse_keys(text, str(path))


def parse_keys(text: str, where: str) -> tuple[ApiKey, ...]:
    """The keys of a file's text; `where` is its name. Raises KeysError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KeysError(f"{where}: not a file of keys: {error}") from None
    rows = table.get("key", [])
    if not isinstance(rows, list) or len(rows) > MOST_KEYS or set(table) - {"key"}:
        raise KeysError(f"{where}: holds [[key]] tables and nothing else, at most {MOST_KEYS}")
    return tuple(_row(row, f"{where}: key {place}") for place, row in enumerate(rows, start=1))


def _row(row: Any, where: str) -> ApiKey:
    if not isinstance(row, Mapping) or set(row) - _FIELDS:
        raise KeysError(f"{where}: has other fields than {', '.join(sorted(_FIELDS))}")
    scopes, per_minute, expires = row.get("scopes", list(SCOPES)), row.get("per_minute"), row.get("expires")
    if not isinstance(scopes, list) or not scopes or not set(scopes) <= set(SCOPES):
        raise KeysError(f"{where}: scopes are some of {', '.join(SCOPES)}")
    if per_minute is not None and (type(per_minute) is not int or per_minute < 0):
        raise KeysError(f"{where}: per_minute is a whole number, 0 for no limit")
    if expires is not None and not isinstance(expires, datetime):
        raise KeysError(f"{where}: expires is a time such as 2027-01-31T00:00:00Z")
    until = None if expires is None else (expires if expires.tzinfo else expires.replace(tzinfo=UTC)).timestamp()
    made = ApiKey(str(row.get("name", "")), str(row.get("hash", "")), frozenset(scopes), per_minute, until)
    return _checked(made, where)


def _checked(key: ApiKey, where: str) -> ApiKey:
    if not _HASH.fullmatch(key.hash):
        raise KeysError(f"{where}: each is the SHA-256 of a key, 64 lower-case hex digits; one of them is not")
    if not _NAME.fullmatch(key.name):
        raise KeysError(f"{where}: a name is 1 to 40 lower-case letters, digits, dots and dashes")
    return key


class KeyFile:
    """The keys of a file as they are now. A file that has become unreadable changes nothing, and is told of once.

    clock: seconds; the file is looked at no more than once in LOOK_AGAIN_S of them.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._keys = read_keys(path)
        self._seen = _look(path)
        self._next = clock() + LOOK_AGAIN_S

    def keys(self) -> tuple[ApiKey, ...]:
        now = self._clock()
        if now >= self._next:
            self._next = now + LOOK_AGAIN_S
            self._refresh()
        return self._keys

    def _refresh(self) -> None:
        seen = _look(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._keys = read_keys(self._path)
            logger.info("api keys read again: %d", len(self._keys))
        except KeysError as error:
            logger.error("api keys: %s; the keys from before still hold", error)


def _look(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does."""
    try:
        now = os.stat(path)
    except OSError:
        return None
    return now.st_ino, now.st_mtime_ns, now.st_size, now.st_mode
