"""models.lock: what every weights file beside it was when it was pulled or adopted, so that a change is noticed.

JSON, because the standard library both reads and writes it: a lock that needs a package to be checked is no lock. It
lies beside the weights, and not in the project, since it tells about those very files. One entry a file:

    {"version": 1, "files": {"X.gguf": {"model", "size_bytes", "sha256", "mtime_ns", "repo", "revision", "origin",
                                        "checked_against", "recorded_at"}}}

mtime_ns lets a start be quick: a file with the size and time of its last full check is not read again.
"""

import contextlib
import datetime
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from models.catalogue import ModelError

NAME = "models.lock"
_VERSION = 1
_CHUNK_BYTES = 1 << 20

Origin = Literal["hub", "file"]
# What the hash was compared with when the file came: the hub's own metadata, the catalogue, a hash that the operator
# gave, or nothing (it is then the first time that anybody saw the file here).
CheckedAgainst = Literal["hub", "catalogue", "operator", "nothing"]


class LockError(ModelError):
    """models.lock cannot be read or written; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Locked:
    """One file as it was recorded. repo and revision (a commit) are empty for a file that was brought by hand."""

    model: str
    size_bytes: int
    sha256: str
    mtime_ns: int
    repo: str
    revision: str
    origin: Origin
    checked_against: CheckedAgainst
    recorded_at: str


def read(folder: Path) -> dict[str, Locked]:
    """The entries by file name; none where there is no models.lock. Raises LockError."""
    path = folder / NAME
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        if table["version"] != _VERSION:
            raise LockError(f"{path}: version {table['version']} is not one this program knows; update it")
        return {str(name): _entry(values) for name, values in table["files"].items()}
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise LockError(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise LockError(f"{path} is damaged; move it away and record the files again (crisis models pull)") from exc


def record(folder: Path, name: str, entry: Locked) -> None:
    """Put one file's entry in, leaving the others; readers see the old lock or the new one, never half of one."""
    with _writing(folder):
        files = {**read(folder), name: entry}
        table = {"version": _VERSION, "files": {key: asdict(files[key]) for key in sorted(files)}}
        _replace(folder / NAME, json.dumps(table, indent=2) + "\n")


def made(
    path: Path, *, model: str, sha256: str, origin: Origin, against: CheckedAgainst, repo: str = "", revision: str = ""
) -> Locked:
    """The entry of a file that is whole and in its place."""
    stat = path.stat()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Locked(model, stat.st_size, sha256, stat.st_mtime_ns, repo, revision, origin, against, now)


def confirmed(entry: Locked, path: Path) -> Locked:
    """The entry after a full check at this moment."""
    return replace(entry, mtime_ns=path.stat().st_mtime_ns)


def sha256(path: Path) -> str:
    """About a second for each gigabyte, where the disk keeps up."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _entry(values: dict[str, object]) -> Locked:
    entry = Locked(**{field.name: values[field.name] for field in fields(Locked)})  # type: ignore[arg-type] # checked below
    for name in ("size_bytes", "mtime_ns"):
        if type(getattr(entry, name)) is not int:
            raise TypeError(name)
    if not isinstance(entry.sha256, str) or len(entry.sha256) != 64:
        raise ValueError("sha256")
    return entry


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """One writer at a time, where the system has file locks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f".{NAME}.guard").open("w")
    except OSError as exc:
        raise LockError(f"{folder} cannot be written to: {exc.strerror}") from exc
    with file:
        with contextlib.suppress(ImportError):
            import fcntl  # not on Windows

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{NAME}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as exc:
        raise LockError(f"{path} cannot be written: {exc.strerror}") from exc
