"""Disk space, asked for before anything large is written."""

import shutil
from pathlib import Path

from models.catalogue import ModelError

_SPARE_BYTES = 1 << 30  # never fill a disk to its last byte


class NoRoom(ModelError):
    """The disk has no room for the file; nothing was written."""


def require_room(folder: Path, size_bytes: int) -> None:
    """Raises NoRoom unless the disk of this folder holds so much more, and a gigabyte is left after it."""
    free = shutil.disk_usage(folder).free
    if free < size_bytes + _SPARE_BYTES:
        raise NoRoom(
            f"{folder}: {size_bytes / 1e9:.1f} GB are needed and a gigabyte must stay free, but only "
            f"{free / 1e9:.1f} GB are; make room or choose another folder"
        )
