"""`crisis keys`: the keys that agents call with. The file keeps names and hashes; a key is shown once."""

import json
import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import tomlkit
import typer
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from cli.chain_file import write
from cli.console import ConfigOption, Failure, JsonOption, console, examples, settings
from serving.keys import SCOPES, ApiKey, KeyScope, KeysError, hashed, parse_keys, read_keys

app = typer.Typer(
    name="keys",
    help="Make, list, rotate and revoke API keys. A running service takes a change within a second.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who calls with it, as logs show it: agent-1")]
FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="The file of keys. Default: server.keys_file.")
]
_HEAD = "Made by `crisis keys`. Hashes only; read again by the running service when it changes.\n"
_MODE = 0o640
_MOST_DAYS = 36_500


@app.command("add", epilog=examples("crisis keys add agent-1", "crisis keys add prometheus --scope metrics --days 365"))
def add(
    name: NameArgument,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help="respond (default), metrics or admin; repeatable."),
    ] = None,
    per_minute: Annotated[
        int | None, typer.Option("--per-minute", metavar="N", min=0, help="Its own limit of requests; 0: none.")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", metavar="N", min=1, max=_MOST_DAYS, help="When it ends by itself.")
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a key. It is printed once and stored nowhere."""
    scopes = tuple(scope or ("respond",))
    if not set(scopes) <= set(SCOPES):
        raise Failure(f"--scope is one of {', '.join(SCOPES)}", 2)
    path = _path(file, config)
    if any(key.name == name for key in _keys(path)):
        raise Failure(f"{path}: there is a key {name!r}; `crisis keys rotate {name}` gives it a new one")
    fields: dict[str, Any] = {"scopes": list(dict.fromkeys(scopes))}
    if per_minute is not None:
        fields["per_minute"] = per_minute
    if days is not None:
        fields["expires"] = _now() + timedelta(days=days)
    _say_key(_append(path, name, fields))


@app.command("rotate", epilog=examples("crisis keys rotate agent-1 --overlap-hours 24"))
def rotate(
    name: NameArgument,
    overlap_hours: Annotated[
        int, typer.Option("--overlap-hours", metavar="N", min=0, max=720, help="How long the old key goes on to work.")
    ] = 24,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a new key of this name; the old one works a while longer, so that nobody is cut off."""
    path = _path(file, config)
    old = [key for key in _keys(path) if key.name == name and not key.expired(_now().timestamp())]
    if not old:
        raise Failure(f"{path}: no key {name!r} that still works; see crisis keys list")
    ends = _now() + timedelta(hours=overlap_hours)

    def end(rows: AoT) -> None:
        for row in _named(rows, name):
            if "expires" not in row or _when(row["expires"]) > ends:
                row["expires"] = ends

    fields: dict[str, Any] = {"scopes": sorted(old[-1].scopes)}
    if old[-1].per_minute is not None:
        fields["per_minute"] = old[-1].per_minute
    _say_key(_append(path, name, fields, before=end))
    print(f"the old one works until {ends:%Y-%m-%d %H:%M} UTC")


@app.command("revoke", epilog=examples("crisis keys revoke agent-1"))
def revoke(name: NameArgument, file: FileOption = None, config: ConfigOption = None) -> None:
    """End every key of this name, at once."""
    path = _path(file, config)
    if not any(key.name == name for key in _keys(path)):
        raise Failure(f"{path}: no key {name!r}; see crisis keys list")

    def drop(rows: AoT) -> None:
        for row in _named(rows, name):
            rows.remove(row)

    _change(path, drop)
    print(f"revoked: {name}")


@app.command("list", epilog=examples("crisis keys list", "crisis keys list --json"))
def list_keys(as_json: JsonOption = False, file: FileOption = None, config: ConfigOption = None) -> None:
    """Which keys there are, and what each may do."""
    rows = [_told(key) for key in _read(_path(file, config))]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        limit = "default limit" if row["per_minute"] is None else f"{row['per_minute'] or 'no limit'} a minute"
        ends = f"  {row['state']} {row['expires']}" if row["expires"] else ""
        console().print(f"{row['name']:<20} {','.join(row['scopes']):<24} {limit}{ends}", markup=False)


def _told(key: ApiKey) -> dict[str, Any]:
    ends = None if key.expires is None else datetime.fromtimestamp(key.expires, UTC).isoformat(timespec="minutes")
    scopes: list[KeyScope] = sorted(key.scopes)
    state = "ended" if key.expired(_now().timestamp()) else "until" if ends else "works"
    return {"name": key.name, "scopes": scopes, "per_minute": key.per_minute, "expires": ends, "state": state}


def _path(file: Path | None, config: Path | None) -> Path:
    path = file or settings(config).server.keys_file
    if path is None:
        raise Failure('no file of keys is set: put keys_file = "keys.toml" under [server], or name one with --file', 2)
    return path


def _keys(path: Path) -> tuple[ApiKey, ...]:
    """The keys so far; none where the first is only being made."""
    return _read(path) if path.exists() else ()


def _read(path: Path) -> tuple[ApiKey, ...]:
    try:
        return read_keys(path)
    except KeysError as error:
        raise Failure(str(error)) from None


def _append(path: Path, name: str, fields: dict[str, Any], *, before: Callable[[AoT], object] = lambda _: None) -> str:
    """Adds a new key to the file, and gives it."""
    made = f"crisis_{secrets.token_urlsafe(32)}"

    def extend(rows: AoT) -> None:
        before(rows)
        row = tomlkit.table()
        row.update({"name": name, "hash": hashed(made), "created": _now(), **fields})
        rows.append(row)

    _change(path, extend)
    return made


def _change(path: Path, change: Callable[[AoT], object]) -> None:
    """Makes the change, checks what came of it, and replaces the file at once: a reader sees the old or the new one."""
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else _empty()
        if "key" not in document:
            document["key"] = tomlkit.aot()
        change(document["key"])
        text = tomlkit.dumps(document)
        parse_keys(text, str(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, _MODE))
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from None
    except (TOMLKitError, KeysError) as error:
        raise Failure(str(error), 2) from None
    write(path, text.encode(), mend="look at its folder's rights and room")


def _empty() -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    document.add(tomlkit.comment(_HEAD.strip()))
    return document


def _named(rows: AoT, name: str) -> list[Any]:
    return [row for row in rows if row.get("name") == name]


def _say_key(made: str) -> None:
    print(f"key   {made}\n      give it to the caller now: it is shown once and kept nowhere")


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _when(value: Any) -> datetime:
    return datetime.fromisoformat(str(value)) if not isinstance(value, datetime) else value
