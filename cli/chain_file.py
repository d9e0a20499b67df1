"""Puts another model into a settings file's [[chain]]: only that entry changes, and every comment stays where it is."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from cli.console import Failure

_MARK = "the-model-goes-here-7f3d612e"


@dataclass(frozen=True, slots=True)
class Edit:
    """A changed text, and the name of the entry that has the model now.

    path: the entry's own now, "" for none. old_path: that of the old model, which is gone.
    """

    text: str
    entry: str
    path: str = ""
    old_path: str = ""


def put_model(text: str, model: str, *, entry: str | None, path: Path | None) -> Edit:
    """The text with this model in the named entry, or in the first whose weights are on this machine.

    Without any such entry one is added, in front. path: the model's file, where it is not in the usual folder. Raises
    Failure.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise Failure(f"not TOML: {error}", 2) from None
    chain = document.get("chain")
    if chain is not None and not isinstance(chain, AoT):
        raise Failure("chain stands in one line; write it as [[chain]] tables, as in crisis.example.toml", 2)
    chosen = _chosen(chain or (), entry)
    if chosen is None:
        return _added(document, model, path)
    old_path = str(chosen.get("path", ""))
    if chosen.get("model") == model and path is None:
        return Edit(text, _name(chosen), old_path)
    chosen.pop("path", None)
    chosen["model"] = _MARK
    return Edit(_marked(tomlkit.dumps(document), model, path), _name(chosen), str(path or ""), old_path)


def _marked(text: str, model: str, path: Path | None) -> str:
    """The model in the place of the mark, and its path in a line of its own below."""
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if _MARK in line)
    end = "\r\n" if lines[at].endswith("\r\n") else "\n"
    lines[at] = lines[at].replace(_MARK, tomlkit.item(model).as_string()[1:-1]).rstrip("\r\n") + end
    if path is not None:
        lines.insert(at + 1, f"path = {tomlkit.item(str(path)).as_string()}{end}")
    return "".join(lines)


def write(file: Path, data: bytes, *, mend: str = "edit [[chain]] by hand, then send SIGHUP") -> None:
    """Replace the file at once and whole, with its old rights. Raises Failure."""
    file = file.resolve()
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as made:
            temporary = made.name
            made.write(data)
            made.flush()
            os.fsync(made.fileno())
        _like(file, temporary)
        os.replace(temporary, file)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise Failure(f"{file}: cannot be written: {error.strerror}; {mend}") from None


def _like(file: Path, temporary: str) -> None:
    shutil.copymode(file, temporary)
    stat = file.stat()
    with suppress(OSError):  # only root may give a file away
        os.chown(temporary, stat.st_uid, stat.st_gid)


def _chosen(chain: Sequence[Any], name: str | None) -> Any:
    """The table to change; None where one has to be added."""
    if name is None:
        return next((table for table in chain if _is_here(table)), None)
    named = [table for table in chain if _name(table) == name]
    if not named:
        raise Failure(f"no chain entry is called {name!r}; there are: {', '.join(map(_name, chain)) or 'none'}", 2)
    if not _is_here(named[0]):
        raise Failure(
            f"chain entry {name} loads no GGUF file of the catalogue here: edit it by hand, then send SIGHUP", 2
        )
    return named[0]


def _is_here(table: Any) -> bool:
    """Whether this entry's weights are loaded by us, so that the catalogue's name is all that has to change."""
    return table.get("engine") in ("llama_cpp", "llama_server") and "url" not in table


def _name(table: Any) -> str:
    engine = str(table.get("engine", ""))
    return str(table.get("name", "local" if engine.startswith("llama_") else engine))


def _added(document: Any, model: str, path: Path | None) -> Edit:
    """In front of the other entries; without any, at the end of the file."""
    taken = {_name(other) for other in document.get("chain", ())}
    name = next(free for free in ("local", *(f"local-{n}" for n in range(2, 1000))) if free not in taken)
    table = tomlkit.table()
    table.update({"engine": "llama_cpp", "name": name, "model": model} | ({"path": str(path)} if path else {}))
    if "chain" in document:
        table.add(tomlkit.nl())
        document["chain"].insert(0, table)
        return Edit(tomlkit.dumps(document), name)
    before, entry = tomlkit.dumps(document), tomlkit.document()
    entry["chain"] = tomlkit.aot()
    entry["chain"].append(table)
    gap = "\n" if before.endswith("\n") or not before else "\n\n"
    return Edit(before + gap + tomlkit.dumps(entry), name)
