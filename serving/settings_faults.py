"""What is wrong with an operator's settings, in plain words: which entry, which option, and how to mend it.

Never quotes a value: a key may have been put where a name belongs. The engine's name is the one exception.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

Place = tuple[int | str, ...]
_EXAMPLE = "crisis.example.toml shows every option"
_MOST = 40


def faults(
    error: ValidationError, root: type[BaseModel], engines: Mapping[str, type[BaseModel]], *, table: Any, at: Place = ()
) -> list[str]:
    """A line for each fault. root: what was read; engines: the entries by their engine; table: the file's content.

    at: where in the table the faulty part stands, if only a part was read.
    """
    found = error.errors(include_input=False, include_url=False)
    return [_line(fault, (*at, *fault["loc"]), root, engines, table) for fault in found]


def entry_named(number: int, entry: object) -> str:
    """ "chain entry 2 (local)": as an operator counts them, from one."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return f"chain entry {number + 1}" + (f" ({name})" if isinstance(name, str) and name else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean `x`?", where something like it is known."""
    close = difflib.get_close_matches(name.lower().replace("-", "_"), list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _line(fault: Any, loc: Place, root: type[BaseModel], engines: Mapping[str, type[BaseModel]], table: Any) -> str:
    model, kind = _model(loc[:-1], root, engines), fault["type"]
    option = str(loc[-1]) if loc else ""
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return f"{_where(loc, engines, table)}: {_engine(fault.get('ctx') or {}, engines)}"
    where = _where(loc, engines, table)
    if kind == "extra_forbidden":
        return f"{where}: there is no such option{nearest(option, model.model_fields)}; {_EXAMPLE}"
    if kind == "missing":
        names = "; `crisis models list` has the names" if option == "model" else f"; {_EXAMPLE}"
        return f"{where}: is missing, and has to be set{names}"
    if kind in ("tuple_type", "list_type") and loc == ("chain",):
        return f"{where}: is a list: each entry begins with [[chain]], in two pairs of brackets"
    return f"{where}: {_plain(fault['msg'])}"


def _engine(told: Mapping[str, Any], engines: Mapping[str, type[BaseModel]]) -> str:
    every = f"engine is one of {', '.join(engines)}"
    if "tag" not in told:
        return f"engine is missing, and has to be set: {every}"
    given = str(told["tag"])[:_MOST]
    return f"engine {given!r} is not known{nearest(given, engines)}; {every}"


def _plain(message: str) -> str:
    for said, better in (("Input should", "must"), ("String should", "must"), ("Value error, ", "")):
        message = message.replace(said, better)
    return message


def _where(loc: Place, engines: Mapping[str, object], table: Any) -> str:
    """ "chain entry 2 (local): gpu_layer" or "reply.gospel"."""
    parts = [part for place, part in enumerate(loc) if not _is_tag(loc, place, engines)]
    if parts[:1] == ["chain"] and len(parts) > 1 and isinstance(parts[1], int):
        entries = table.get("chain") if isinstance(table, Mapping) else None
        entry = entries[parts[1]] if isinstance(entries, Sequence) and parts[1] < len(entries) else None
        rest = ".".join(map(str, parts[2:]))
        return entry_named(parts[1], entry) + (f": {rest}" if rest else "")
    return ".".join(map(str, parts)) or "(top level)"


def _is_tag(loc: Place, place: int, engines: Mapping[str, object]) -> bool:
    """Whether pydantic put this here to say which of the entries it took: no operator wrote it."""
    return loc[place] in engines and place > 0 and (isinstance(loc[place - 1], int) or loc[place - 1] == "guard")


def _model(loc: Place, root: type[BaseModel], engines: Mapping[str, type[BaseModel]]) -> type[BaseModel]:
    """The model that holds what this place leads to."""
    model = root
    for place, part in enumerate(loc):
        if _is_tag(loc, place, engines):
            model = engines[str(part)]
        elif part in model.model_fields:
            inner = model.model_fields[str(part)].annotation
            model = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else model
    return model
