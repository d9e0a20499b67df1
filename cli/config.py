"""`crisis config`: are the settings right, what are they, and a new API key."""

import hashlib
import json
import secrets
from typing import Annotated

import typer

from cli.console import ConfigOption, examples, settings
from serving.settings import find_file

app = typer.Typer(
    name="config",
    help="Check and show the settings; make an API key. crisis.example.toml documents every option.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("check", epilog=examples("crisis config check", "crisis config check --config crisis.example.toml"))
def check(config: ConfigOption = None) -> None:
    """Say whether the settings can be used; exit status 2 and one line a problem where not."""
    settings(config)
    print(f"ok: {find_file(config) or 'no settings file, defaults and CRISIS_… variables'}")


@app.command("show", epilog=examples("crisis config show", "CRISIS_SERVER__PORT=9000 crisis config show"))
def show(config: ConfigOption = None) -> None:
    """Print the settings in force as JSON. Secrets are never printed, only whether they are set."""
    print(json.dumps(settings(config).model_dump(mode="json"), indent=2))


@app.command("key", epilog=examples("crisis config key"))
def key(
    length: Annotated[
        int, typer.Option("--bytes", metavar="N", min=16, max=64, help="How many random bytes the key has.")
    ] = 32,
) -> None:
    """Make an API key: give the key to the caller, put its hash into server.api_keys. It is stored nowhere."""
    made = secrets.token_urlsafe(length)
    print(f"key   {made}\nhash  {hashlib.sha256(made.encode()).hexdigest()}")
