"""Where llama-server is on this machine."""

import shutil
from pathlib import Path

from serving.backend import BackendMisconfigured

_HOW = "build one with scripts/build-llama-server, or set `binary` in its [[chain]] entry"


def find_binary(named: Path | None, cache_folder: Path) -> Path:
    """The operator's own, else the one that scripts/build-llama-server made, else the one on PATH.

    cache_folder: crisis in the XDG cache folder. Raises BackendMisconfigured, with the way to get one.
    """
    if named is not None:
        if named.is_file():
            return named.resolve()
        raise BackendMisconfigured(f"{named} is no file; {_HOW}")
    built = cache_folder / "llama-server" / "current" / "llama-server"
    if built.is_file():
        return built.resolve()
    on_path = shutil.which("llama-server")
    if on_path is None:
        raise BackendMisconfigured(f"llama-server is not on this machine; {_HOW}")
    return Path(on_path).resolve()
