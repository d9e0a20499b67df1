"""`crisis models`: which models exist, which may speak to people, what they need, and whether they are here."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import ConfigOption, JsonOption, console, examples
from cli.models_catalogue import Opened, gib, opened
from cli.models_plan import plan
from cli.models_pull import pull, verify
from cli.models_use import use
from models.catalogue import ModelCard, Status
from models.memory import Run, memory
from models.plan import subject

app = typer.Typer(
    name="models",
    help="Which models exist, which may speak to people, whether they fit, and their files on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_STYLES: dict[Status, str] = {"approved": "green", "unapproved": "yellow", "demo": "yellow", "refused": "bold red"}
_USUAL_CONTEXT = 4096

app.command(
    "pull",
    epilog=examples(
        "crisis models pull qwen2.5-7b-instruct-q4_k_m",
        "crisis models pull qwen2.5-7b-instruct-q4_k_m --from /media/stick/Qwen2.5-7B-Instruct-Q4_K_M.gguf",
    ),
)(pull)
app.command("verify", epilog=examples("crisis models verify", "crisis models verify gemma-2-9b-it-q4_k_m"))(verify)
app.command(
    "plan",
    epilog=examples(
        "crisis models plan qwen2.5-7b-instruct-q4_k_m --vram 8GiB --context 8192 --parallel 2",
        "crisis models plan gemma-2-9b-it-q4_k_m --vram 8GiB --context 8192 --kv q8_0 --json",
        "crisis models plan qwen2.5-0.5b-instruct-q4_k_m --measure",
    ),
)(plan)
app.command(
    "use",
    epilog=examples(
        "crisis models use gemma-2-9b-it-q4_k_m", "crisis models use qwen2.5-7b-instruct-q4_k_m --entry local"
    ),
)(use)


@app.command("list", epilog=examples("crisis models list", "crisis models list --json"))
def list_models(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List every model: may it speak to people, how big is it, what does it need, is it here."""
    known = opened(config)
    cards = [known.cards.get(name) for name in known.cards.names()]
    if as_json:
        print(json.dumps([_row(card, known) for card in cards], indent=2))
        return
    table = Table("name", "may speak to people", "file", "memory at 4k", "here", box=None, pad_edge=False)
    for card in cards:
        here, need = known.where(card), _need(card)
        file = f"{card.size_bytes / 1e9:.2f} GB" if card.size_bytes else "-"
        table.add_row(card.name, _status(card), file, gib(need) if need else "-", "yes" if here else "no")
    console().print(table)
    console().print(f"weights are looked for in {known.folder}", markup=False)


@app.command(
    "show",
    epilog=examples("crisis models show qwen2.5-7b-instruct-q4_k_m", "crisis models show gemma-2-9b-it-q4_k_m --json"),
)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `crisis models list`.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything the catalogue knows of one model."""
    known = opened(config)
    card = known.card(name)
    if as_json:
        where = known.where(card)
        print(json.dumps({**dataclasses.asdict(card), "path": str(where) if where else None}, indent=2, default=str))
        return
    for label, text in _facts(card, known):
        console().print(f"{label:<26}  ", style="bold", end="")
        console().print(text, markup=False)


def _facts(card: ModelCard, known: Opened) -> Iterator[tuple[str, str]]:
    here = known.where(card)
    yield "name", card.name
    yield "model", card.title
    yield "may speak", f"{_status(card).plain}: {card.reason}"
    if card.approved_by:
        yield "approved by", f"{card.approved_by} {card.approved_on}".strip()
    yield "licence", card.licence + (" (the repository asks you to accept it)" if card.gated else "")
    yield "file", f"{card.file}, {card.size_bytes / 1e9:.2f} GB" if card.size_bytes else card.file
    yield "from", card.repo or f"the package {card.package}" if card.repo or card.package else "brought by hand"
    yield "sha256", card.sha256 or "learned when it is pulled"
    yield "here", str(here) if here else f"no; looked for in {known.folder}"
    if shape := card.shape:
        heads = f"{shape.kv_heads[0]} KV heads of {shape.head_size}"
        slide = f", {sum(shape.sliding)} of them slide over {shape.window:,} tokens" if shape.window else ""
        yield "shape", f"{shape.architecture}, {shape.layers} layers{slide}, {heads}, {shape.vocabulary:,} words"
    if need := _need(card):
        yield "memory", f"{gib(need)} for one conversation of {_USUAL_CONTEXT:,} tokens; more: crisis models plan"
    yield "context", f"trained for {card.context_trained:,} tokens"
    yield "template", f"system role {'yes' if card.system_role else 'no'}, prefill {'yes' if card.prefill else 'no'}"
    for label, value in card.client.items():
        yield f"client: {label.replace('_', ' ')}", str(value)
    if card.source:
        yield "looked up in", card.source


def _row(card: ModelCard, known: Opened) -> dict[str, object]:
    where = known.where(card)
    return {
        "name": card.name,
        "status": card.status,
        "purpose": card.purpose,
        "licence": card.licence,
        "size_bytes": card.size_bytes,
        "memory_bytes": _need(card),
        "path": str(where) if where else None,
    }


def _status(card: ModelCard) -> Text:
    if card.purpose == "guard":
        return Text("no, judges texts", style="yellow")
    return Text(card.status, style=_STYLES[card.status])


def _need(card: ModelCard) -> int | None:
    """Memory for one conversation of usual length; None where the catalogue does not know the shape."""
    if card.shape is None or not card.quantisation:
        return None
    known = subject(card, None)
    return memory(known.shape, known.weights, Run.in_process(min(_USUAL_CONTEXT, card.context_trained))).total
