"""`crisis models`: which models exist, which may speak to people, and where their weights are."""

import dataclasses
import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import ConfigOption, Failure, JsonOption, console, examples, settings
from models.catalogue import Catalogue, ModelCard, ModelError, Status
from models.weights import locate
from serving.wiring import weights_dir

app = typer.Typer(
    name="models",
    help="Which models exist, which may speak to people, and which are on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_STYLES: dict[Status, str] = {"approved": "green", "unapproved": "yellow", "demo": "yellow", "refused": "bold red"}


@app.command("list", epilog=examples("crisis models list", "crisis models list --json"))
def list_models(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List every model: may it speak to people, how big is it, is it here."""
    chosen, catalogue = settings(config), Catalogue.load()
    cards = [catalogue.get(name) for name in catalogue.names()]
    here = {card.name: _where(card, config) for card in cards}
    if as_json:
        rows = [{"name": c.name, "status": c.status, "size_bytes": c.size_bytes, "path": here[c.name]} for c in cards]
        print(json.dumps(rows, indent=2))
        return
    table = Table("name", "status", "size", "here", box=None, pad_edge=False)
    for card in cards:
        table.add_row(
            card.name, Text(card.status, style=_STYLES[card.status]), _size(card), "yes" if here[card.name] else "no"
        )
    console().print(table)
    console().print(f"weights are looked for in {weights_dir(chosen)}", markup=False)


@app.command("show", epilog=examples("crisis models show qwen2.5-7b-instruct-q4_k_m"))
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `crisis models list`.")],
    config: ConfigOption = None,
) -> None:
    """Print everything the catalogue knows of one model, as JSON."""
    try:
        card = Catalogue.load().get(name)
    except ModelError as error:
        raise Failure(str(error), 2) from None
    print(json.dumps({**dataclasses.asdict(card), "path": _where(card, config)}, indent=2, default=str))


def _where(card: ModelCard, config: ConfigOption) -> str | None:
    try:
        return str(locate(card, weights_dir=weights_dir(settings(config)), path=None))
    except ModelError:
        return None


def _size(card: ModelCard) -> str:
    return f"{card.size_bytes / 1e9:.2f} GB" if card.size_bytes else "-"
