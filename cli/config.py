"""`crisis config`: are the settings right, what are they, and a new API key."""

import hashlib
import json
import re
import secrets
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cli.console import ConfigOption, Failure, examples, settings
from models.catalogue import Catalogue, ModelError, require_allowed
from serving.settings import ClaudeEntry, Settings, find_file
from serving.settings_faults import entry_named

MASK = "**********"
_IN_ADDRESS = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.IGNORECASE)
_SECRET_NAME = re.compile(r"key|token|secret|passw|authorization|credential|cookie", re.IGNORECASE)
_NAMES_ONLY = frozenset({"api_keys", "keys_file", "api_key_env"})  # hashes, a path, the name of a variable

app = typer.Typer(
    name="config",
    help="Check and show the settings; make an API key. crisis.example.toml documents every option.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("check", epilog=examples("crisis config check", "crisis config check --config crisis.example.toml"))
def check(config: ConfigOption = None) -> None:
    """Say whether the settings can be used: one line a problem.

    Exit status 2 where they cannot be read, 1 where a model of the chain may not be used; the service then answers
    without it.
    """
    if problems := list(_chain(settings(config, strict=True))):
        raise Failure("\n".join(problems))
    print(f"ok: {find_file(config) or 'no settings file, defaults and CRISIS_… variables'}")


def _chain(chosen: Settings) -> Iterator[str]:
    try:
        cards = Catalogue.load(chosen.catalogue)
    except ModelError as error:
        yield str(error)
        cards = Catalogue.load()
    for number, entry in enumerate(chosen.chain):
        if isinstance(entry, ClaudeEntry):
            continue
        try:
            require_allowed(cards.get(entry.model), allow_unapproved=chosen.allow_unapproved)
        except ModelError as error:
            yield f"{entry_named(number, {'name': entry.name})}: model: {error}"


@app.command("show", epilog=examples("crisis config show", "CRISIS_SERVER__PORT=9000 crisis config show"))
def show(config: ConfigOption = None) -> None:
    """Print the settings in force as JSON. Secrets are never printed, only whether they are set."""
    print(json.dumps(masked(settings(config, strict=True).model_dump(mode="json")), indent=2))


def masked(value: Any, name: str = "") -> Any:
    """The settings without secrets that stand where none should: in an address, or among a server's own options."""
    if isinstance(value, dict):
        return {key: masked(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, name) for inner in value]
    if isinstance(value, str) and value and _SECRET_NAME.search(name) and name not in _NAMES_ONLY:
        return MASK
    return _IN_ADDRESS.sub(rf"\1{MASK}@", value) if isinstance(value, str) else value


@app.command("key", epilog=examples("crisis config key"))
def key(
    length: Annotated[
        int, typer.Option("--bytes", metavar="N", min=16, max=64, help="How many random bytes the key has.")
    ] = 32,
) -> None:
    """Make an API key: give the key to the caller, put its hash into server.api_keys. It is stored nowhere."""
    made = secrets.token_urlsafe(length)
    print(f"key   {made}\nhash  {hashlib.sha256(made.encode()).hexdigest()}")
