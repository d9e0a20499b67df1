"""`crisis config`: are the settings right, what are they, and a new API key."""

import hashlib
import json
import secrets
from typing import Annotated

import typer

from cli.console import ConfigOption, settings
from serving.settings import find_file

app = typer.Typer(help="Check and show the settings; make an API key.", no_args_is_help=True)


@app.command("check")
def check(config: ConfigOption = None) -> None:
    """Say whether the settings can be used; exit status 2 and one line a problem where not."""
    settings(config)
    print(f"ok: {find_file(config) or 'no settings file, defaults and CRISIS_… variables'}")


@app.command("show")
def show(config: ConfigOption = None) -> None:
    """Print the settings in force as JSON. Secrets are never printed, only whether they are set."""
    print(json.dumps(settings(config).model_dump(mode="json"), indent=2))


@app.command("key")
def key(length: Annotated[int, typer.Option("--bytes", min=16, max=64, help="Random bytes in the key.")] = 32) -> None:
    """Make an API key: give the key to the caller, put its hash into server.api_keys. It is stored nowhere."""
    made = secrets.token_urlsafe(length)
    print(f"key   {made}\nhash  {hashlib.sha256(made.encode()).hexdigest()}")
