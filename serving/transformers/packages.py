"""Which packages this engine needs, and what is wrong with those that are here; looked up without importing them."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from serving.transformers.settings import Load

Release = tuple[int, ...]

RANGES: Mapping[str, tuple[Release, Release]] = {
    "torch": ((2, 13), (3,)),
    "transformers": ((5, 23), (6,)),
    "bitsandbytes": ((0, 50), (1,)),
    "accelerate": ((1, 15), (2,)),
}
"""From, and below: the ranges of the extra in pyproject.toml."""

_QUANTISING = ("bitsandbytes",)
_MEND = "pip install 'crisis-support[transformers]'"


def problem(load: Load) -> str | None:
    """One line on what is missing or of a version that this engine was not made for; None when all is well."""
    needed = [name for name in RANGES if load != "none" or name not in _QUANTISING]
    found = {name: _version(name) for name in needed}
    if missing := [name for name, here in found.items() if here is None]:
        verb = "is" if len(missing) == 1 else "are"
        return f"{' and '.join(missing)} {verb} not installed (mend it with: {_MEND})"
    for name, here in found.items():
        low, high = RANGES[name]
        if here is not None and not low <= _release(here) < high:
            return f"{name} {here} is installed, {_said(low)} or later below {_said(high)} is needed ({_MEND})"
    return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _release(text: str) -> Release:
    """The leading numbers of a version: 2.13.0 of 2.13.0+cpu."""
    numbers: list[int] = []
    for part in text.split("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _said(release: Release) -> str:
    return ".".join(map(str, release))
