"""What takes long to work out, kept in the user's cache so that only the first start pays for it.

The cache is a convenience: what cannot be read, written or believed is worked out again.
"""

import contextlib
import hashlib
import logging
import os
import tempfile
from pathlib import Path

_log = logging.getLogger(__name__)


def folder() -> Path:
    """Where kept files lie: the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    return root / "crisis-support"


def name(*parts: str) -> str:
    """A file name that stands for all the parts, in this order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def read(file: Path) -> bytes | None:
    """What was kept, None where nothing was or it is damaged."""
    try:
        if file.stat().st_uid != os.getuid():
            return None  # using a kept file is trusting its bytes: never another user's
        content = file.read_bytes()
    except OSError:
        return None
    digest, body = content[:32], content[32:]
    if hashlib.sha256(body).digest() != digest:
        _log.warning("the kept file %s is damaged; working it out again", file.name)
        return None
    return body


def write(file: Path, body: bytes) -> None:
    """Writes beside the file and renames, so that another process never reads half of it."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
        with os.fdopen(handle, "wb") as out:
            out.write(hashlib.sha256(body).digest() + body)
        Path(name).replace(file)
