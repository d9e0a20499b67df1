"""How a model's file stands: every byte read, and no more claimed than what it could be compared with."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models import header, lock
from models.catalogue import ModelCard, ModelError
from models.weights import WeightsDamaged, WeightsMissing, locate, mend, verify, vouched_for

Outcome = Literal["genuine", "unchanged", "unrecorded", "damaged", "missing"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one file stands. genuine: as the hub, the catalogue or the operator says that it must be. unchanged: as it
    was when it came here, but nobody ever said what it must be. unrecorded: it is here, and that is all."""

    model: str
    path: Path
    outcome: Outcome
    found: str


def judge(card: ModelCard, folder: Path) -> Verdict:
    """The thorough check of one model's file, every byte read."""
    path = folder / card.file
    try:
        path = locate(card, weights_dir=folder, path=None)
        verify(path, card, thorough=True)
        require_whole(path, card)
        locked, vouched = lock.read(path.parent).get(path.name), vouched_for(path, card)
    except WeightsMissing as error:
        return Verdict(card.name, path, "missing", str(error))
    except ModelError as error:
        return Verdict(card.name, path, "damaged", str(error))
    if not vouched:
        how = f"record it with: crisis models pull {card.name} --from {path}"
        return Verdict(card.name, path, "unrecorded", f"{path}: nothing says what this file should be; {how}")
    if locked is not None:
        with suppress(lock.LockError):  # a folder that only others may write to is none the worse
            lock.record(path.parent, path.name, lock.confirmed(locked, path))
    if compared(path, card):
        return Verdict(card.name, path, "genuine", f"{path}: every byte as recorded")
    return Verdict(card.name, path, "unchanged", f"{path}: {unchanged(path, card)}")


def compared(path: Path, card: ModelCard) -> bool:
    """Whether this file's hash was ever held against one that somebody else gave."""
    locked = lock.read(path.parent).get(path.name)
    return bool(card.sha256) or (locked is not None and locked.checked_against != "nothing")


def unchanged(path: Path, card: ModelCard) -> str:
    """What can be said of a file whose hash was compared with nothing, and how it becomes more."""
    locked = lock.read(path.parent).get(path.name)
    since = f" on {locked.recorded_at[:10]}" if locked is not None else ""
    return (
        f"unchanged since it came here{since}; whether it was genuine then nobody can tell, for its hash was compared "
        f"with nothing: if you are told it, crisis models pull {card.name} --from {path} --sha256 HEX"
    )


def require_whole(path: Path, card: ModelCard, *, named: bool = False) -> None:
    """Raises WeightsDamaged for a file that nobody's hash speaks for and whose header tells of more than there is.

    Without the gguf package nothing is looked at.
    """
    if compared(path, card):
        return
    try:
        header.require_whole(path)
    except header.HeaderUnread:
        return
    except WeightsDamaged as error:
        raise WeightsDamaged(f"{error}; {mend(path, card, named=named)}") from error
