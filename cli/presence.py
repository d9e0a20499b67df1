"""How `crisis models use` finds a running service, and learns what became of a swap: one small file for each service.

The service holds a lock on its file while it lives, however it ends; a file without a lock is only a left-over.
Other commands read it without any key, since the folder belongs to the user whom the service runs as. It holds no text.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has neither these locks nor SIGHUP
    fcntl = None  # type: ignore[assignment]

_FOLDER = "running"


class Presence:
    """This service's own file, from open to close."""

    def __init__(self, descriptor: int, path: Path, facts: dict[str, Any]) -> None:
        self._descriptor = descriptor
        self._path = path
        self._facts = facts

    @classmethod
    def open(cls, folder: Path, *, config: Path | None, demo: bool) -> "Presence | None":
        """None where it cannot be written: then the service only is not found by other commands."""
        facts = {"pid": os.getpid(), "config": str(config.resolve()) if config else None, "demo": demo}
        if fcntl is None:
            return None
        try:
            (folder / _FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
            path = folder / _FOLDER / f"{os.getpid()}.json"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        made = cls(descriptor, path, facts)
        made.tell({})
        return made

    def tell(self, swap: dict[str, Any]) -> None:
        """Write how the swaps stand. A reader in between sees half a file, and reads again."""
        data = json.dumps({**self._facts, "swap": swap}).encode()
        with suppress(OSError):  # a full disk is no reason to stop answering
            os.pwrite(self._descriptor, data, 0)
            os.ftruncate(self._descriptor, len(data))

    def close(self) -> None:
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class Found:
    """A service of this user that runs now."""

    path: Path
    pid: int
    demo: bool

    def reload(self) -> None:
        """Have it read its settings again. Raises OSError."""
        os.kill(self.pid, signal.SIGHUP)

    def swap(self) -> dict[str, Any] | None:
        """How its swaps stand; None when it has ended."""
        facts = _read(self.path)
        return None if facts is None else dict(facts["swap"])


def services(folder: Path, config: Path) -> Iterator[Found]:
    """Those that were started with this settings file. Left-overs of others are removed."""
    for path in sorted((folder / _FOLDER).glob("*.json")):
        facts = _read(path)
        if facts is not None and facts.get("config") == str(config.resolve()):
            yield Found(path, int(facts["pid"]), bool(facts["demo"]))


def _read(path: Path) -> dict[str, Any] | None:
    """What a running service wrote; None, and no file any more, for one that has ended."""
    if fcntl is None:
        return None
    for _ in range(100):
        try:
            with path.open("rb") as file:
                if not _is_locked(file.fileno()):
                    path.unlink(missing_ok=True)
                    return None
                facts = json.loads(file.read())
        except OSError:
            return None
        except ValueError:  # it is being written
            continue
        return facts if isinstance(facts, dict) else None
    return None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
