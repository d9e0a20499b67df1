"""Brings a model's file here, from the hub or by hand; checks it whole and records it in models.lock.

Nothing half-written ever bears the file's name: bytes go into a hidden .part file beside it, whose name holds the hash
that it is to have, and only a file whose size and SHA-256 are right is moved into place. An interrupted download goes
on where it stopped, also in another process (huggingface_hub itself would start again from nothing).
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from models import header, hub, lock
from models.catalogue import ModelCard, ModelNotAllowed
from models.hub import Progress, PullFailed, Remote
from models.room import require_room
from models.verdict import require_whole
from models.weights import WeightsDamaged, WeightsMissing, locate, verify, vouched_for

_MAIN = "main"
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Pulled:
    """Where the file is now and how it was recorded. resumed_bytes were here from an earlier try; was_here: nothing
    had to be fetched; replaced: a file in its place was damaged."""

    path: Path
    entry: lock.Locked
    resumed_bytes: int = 0
    was_here: bool = False
    replaced: bool = False


def pull(card: ModelCard, folder: Path, progress: Progress, *, latest: bool = False) -> Pulled:
    """Have the card's file in `folder`, whole and recorded; raises PullFailed, WeightsDamaged, NoRoom or LockError.

    A file that was recorded before is fetched at the same commit, so that every machine gets the same bytes; `latest`
    asks for the newest one. A file that is already there is read whole: one that is as it should be is left alone,
    without any network, and a damaged one is replaced.
    """
    _allowed(card)
    locked, damaged = None if latest else _believable(card, folder), False
    try:
        if not latest and (here := _already(card, folder)) is not None:
            return here
    except WeightsDamaged:
        if not card.repo:
            raise
        damaged = (folder / card.file).exists()
    if not card.repo:
        raise PullFailed(f"{card.name} has no repository to pull from; bring the file and use --from FILE")
    with hub.named_faults(card, kept=lambda: _kept(folder, card)):
        remote = hub.ask(card, locked.revision if locked and locked.revision else _MAIN)
        known = card.sha256 or (locked.sha256 if locked else "")
        if known and remote.sha256 not in ("", known):
            raise PullFailed(
                f"{card.name}: the hub's {card.file} is another file than the one recorded here (SHA-256 differs); "
                "if that is right, take it with --latest"
            )
        return replace(_fetch(card, folder, remote, progress), replaced=damaged)


def adopt(card: ModelCard, source: Path, folder: Path, progress: Progress, *, sha256: str = "") -> Pulled:
    """Take a file that was brought by hand (--from FILE): checked against what is known of it, copied, recorded.

    sha256: what the operator knows from another channel. A file that lies in its place already is recorded there.
    Raises WeightsMissing, WeightsDamaged, PullFailed, NoRoom or LockError.
    """
    _allowed(card)
    target, locked = folder / card.file, _believable(card, folder)
    verify(source, card, named=True)
    against, wanted = _expected(card, locked, sha256)
    _require_whole(source, wanted)
    _writable(folder)
    if target.exists() and source.samefile(target):
        found = lock.sha256(target)
        _same(source, card, found, wanted, against)
    else:
        require_room(folder, source.stat().st_size)
        with _part(target, "by-hand", keep=False) as (part, file):
            found = _copied(source, file, progress)
            _same(source, card, found, wanted, against)
            _settle(part, file, target)
    entry = lock.made(target, model=card.name, sha256=found, origin="file", against=against)
    lock.record(folder, card.file, entry)
    return Pulled(target, entry)


def _allowed(card: ModelCard) -> None:
    if card.status == "refused":
        raise ModelNotAllowed(f"{card.name} is refused: {card.reason}")


def _already(card: ModelCard, folder: Path) -> Pulled | None:
    try:
        path = locate(card, weights_dir=folder, path=None)
        verify(path, card, thorough=True)
        require_whole(path, card)
    except WeightsMissing:
        return None
    entry = lock.read(path.parent).get(path.name)
    if not vouched_for(path, card):
        raise PullFailed(
            f"{path} is here, but nothing says what it should be; record it with --from {path}, or move it away"
        )
    entry = entry or lock.made(path, model=card.name, sha256=card.sha256, origin="file", against="catalogue")
    return Pulled(path, entry, was_here=True)


def _believable(card: ModelCard, folder: Path) -> lock.Locked | None:
    """What is recorded of the file, unless that is the hash of a cut-off one, which was compared with nothing."""
    locked, path = lock.read(folder).get(card.file), folder / card.file
    if locked is not None and path.is_file() and path.stat().st_size == locked.size_bytes:
        try:
            require_whole(path, card)
        except WeightsDamaged:
            return None
    return locked


def _require_whole(source: Path, wanted: str) -> None:
    """Raises WeightsDamaged for a cut-off file, and HeaderUnread where nothing at all could tell that it is one."""
    try:
        header.require_whole(source)
    except header.HeaderUnread:
        if not wanted:
            raise
    except WeightsDamaged as error:
        raise WeightsDamaged(f"{error}; bring a whole one") from error


def _fetch(card: ModelCard, folder: Path, remote: Remote, progress: Progress) -> Pulled:
    target, wanted = folder / card.file, card.sha256 or remote.sha256
    _writable(folder)
    with _part(target, remote.sha256 or remote.revision, keep=True) as (part, file):
        resumed = _resumable(file, remote)
        require_room(folder, remote.size_bytes - resumed)
        hub.download(remote, file, resumed, progress)
        file.flush()
        found = lock.sha256(part)
        if found != (wanted or found):
            part.unlink()
            raise PullFailed(f"{card.name}: what came is not what the hub describes (SHA-256 differs); pull it again")
        if wrong := _no_model(part):
            part.unlink()
            raise PullFailed(f"{card.name}: the hub's {card.file} is {wrong}; check its catalogue entry")
        _settle(part, file, target)
    entry = lock.made(
        target,
        model=card.name,
        sha256=found,
        origin="hub",
        against="catalogue" if card.sha256 else "hub" if remote.sha256 else "nothing",
        repo=card.repo,
        revision=remote.revision,
    )
    lock.record(folder, card.file, entry)
    return Pulled(target, entry, resumed_bytes=resumed)


def _no_model(part: Path) -> str:
    """What is wrong with a file that came as the hub describes it; "" for nothing."""
    with part.open("rb") as file:
        if file.read(4) != b"GGUF":
            return "not a GGUF file"
    try:
        header.require_whole(part)
    except header.HeaderUnread:  # the hub's own size and hash have to do
        return ""
    except WeightsDamaged:
        return "not a whole GGUF file, there already"
    return ""


def _kept(folder: Path, card: ModelCard) -> bool:
    """Whether a broken-off download left anything to go on from."""
    parts = (path for path in folder.glob(".*.part") if path.name.startswith(f".{card.file}."))
    return any(part.stat().st_size for part in parts)


def _resumable(file: IO[bytes], remote: Remote) -> int:
    """The bytes that are already in the part file, from where to go on."""
    here = file.seek(0, os.SEEK_END)
    if here > remote.size_bytes:
        file.truncate(0)
        return 0
    return here


def _expected(card: ModelCard, locked: lock.Locked | None, given: str) -> tuple[lock.CheckedAgainst, str]:
    """The hash that a file brought by hand must have, and who says so."""
    if given:
        return "operator", given
    if card.sha256:
        return "catalogue", card.sha256
    return (locked.checked_against, locked.sha256) if locked else ("nothing", "")


def _same(source: Path, card: ModelCard, found: str, wanted: str, against: lock.CheckedAgainst) -> None:
    if wanted and found != wanted:
        mend = ", as an earlier file had it that was compared with nothing; if this is the right one, give its --sha256"
        raise WeightsDamaged(
            f"{source} is not {card.name}: its SHA-256 is {found}, but {wanted} was expected"
            f"{mend if against == 'nothing' else ''}"
        )


def _copied(source: Path, file: IO[bytes], progress: Progress) -> str:
    """Copies, and returns the SHA-256 of what was copied."""
    total, here, digest = source.stat().st_size, 0, hashlib.sha256()
    try:
        file.truncate(0)
        with source.open("rb") as origin:
            while chunk := origin.read(_COPY_BYTES):
                file.write(chunk)
                digest.update(chunk)
                here += len(chunk)
                progress(here, total)
    except OSError as exc:
        raise PullFailed(f"{source} could not be copied: {exc.strerror}; nothing was left behind") from exc
    return digest.hexdigest()


def _writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise PullFailed(f"{folder} cannot be made: {exc.strerror}; set weights_dir or CRISIS_WEIGHTS_DIR") from exc


@contextlib.contextmanager
def _part(target: Path, mark: str, *, keep: bool) -> Iterator[tuple[Path, IO[bytes]]]:
    """The hidden file that becomes the target, for one process at a time; left behind for a next try if `keep`."""
    part = target.with_name(f".{target.name}.{mark[:16]}.part")
    try:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
    except OSError as exc:
        raise PullFailed(f"{target.parent} cannot be written to: {exc.strerror}; choose another weights_dir") from exc
    with file:
        _alone(part, file)
        try:
            yield part, file
        finally:
            if part.exists() and (not keep or part.stat().st_size == 0):
                part.unlink()


def _alone(part: Path, file: IO[bytes]) -> None:
    """Raises PullFailed if another process has the part file, or has just moved it into its place."""
    with contextlib.suppress(ImportError):
        import fcntl  # not on Windows

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_ino != part.stat().st_ino:
                raise FileNotFoundError
        except OSError as exc:
            raise PullFailed(f"{part.parent}: another process is pulling the same file; wait for it") from exc


def _settle(part: Path, file: IO[bytes], target: Path) -> None:
    """On the disk first, then into its place in one step."""
    try:
        file.flush()
        os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as exc:
        raise PullFailed(f"{target} cannot be put into its place: {exc.strerror}") from exc
