"""`crisis models plan`: will it fit, what would, and with --measure how fast the real engine is on that shape."""

import json
from typing import Annotated, Literal

import typer

from cli.console import ConfigOption, Failure, JsonOption, console
from cli.models_catalogue import Opened, gib, opened, size
from models import device, measure
from models.catalogue import ModelCard, ModelError
from models.memory import KvType
from models.plan import RESERVE_BYTES, Engine, Plan, Settings, make, subject
from serving.worker import cores

_CLIENTS_CARD = 8 * 2**30


def plan(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `crisis models list`.")],
    vram: Annotated[
        int | None,
        typer.Option("--vram", metavar="SIZE", parser=size, help="The card's memory, such as 8GiB. Default: this GPU."),
    ] = None,
    context: Annotated[
        int, typer.Option("--context", metavar="TOKENS", min=256, max=1_048_576, help="Of one conversation.")
    ] = 4096,
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", min=1, max=64, help="Conversations at once; 2 need llama_server.")
    ] = 1,
    kv: Annotated[KvType, typer.Option("--kv", help="How keys and values are kept.")] = "f16",
    engine: Annotated[
        Literal["auto", "llama_cpp", "llama_server"],
        typer.Option("--engine", help="Auto: by --parallel and the model."),
    ] = "auto",
    gpu_layers: Annotated[
        int | None, typer.Option("--gpu-layers", metavar="N", min=0, help="With --measure: layers on the GPU.")
    ] = None,
    flash: Annotated[bool, typer.Option("--flash-attention/--no-flash-attention")] = True,
    batch: Annotated[
        int, typer.Option("--batch", metavar="TOKENS", min=0, max=8192, help="Read at once; 0: the engine's own.")
    ] = 0,
    measured: Annotated[
        bool, typer.Option("--measure", help="Try the real engine: on the file, or on random weights of this shape.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a model fits a card, from its file's header or the catalogue, and the best settings that do.

    A refused model has exit status 1, as `crisis models use` gives it. Sizes are GiB (8GiB, 8G) or GB (8GB). --measure
    writes a file of the model's size into the weights folder, tries it and removes it again.
    """
    known = opened(config)
    card = known.card(name)
    wanted = Settings(context, parallel, kv, gpu_layers, batch, flash)
    chosen: Engine | None = None if engine == "auto" else engine
    try:
        made = make(subject(card, known.where(card)), wanted, vram or _card_here(), engine=chosen)
        tried = _tried(card, made, known) if measured and card.status != "refused" else None
    except ModelError as error:
        raise Failure(str(error)) from None
    if as_json:
        told = made.to_json() | ({"measured": tried.to_json()} if tried else {})
        print(json.dumps(told | ({"refused": card.reason} if card.status == "refused" else {}), indent=2))
    else:
        _show_memory(made)
        if card.status != "refused":
            _show_verdict(made)
        if tried is not None:
            _show_measured(tried, made)
    if card.status == "refused":
        raise Failure(f"{card.name} is refused, whether it fits or not: {card.reason}")


def _card_here() -> int:
    return max((gpu.total_bytes for gpu in device.gpus()), default=_CLIENTS_CARD)


def _tried(card: ModelCard, made: Plan, known: Opened) -> measure.Measured:
    threads = cores.plan(cores.available())
    machine = measure.Machine(threads.generate, threads.prompt, made.settings.gpu_layers)
    run, path = made.settings.run(made.engine), known.where(card)
    if path is not None:
        return measure.of_file(path, run, machine)
    if not card.quantisation:
        raise ModelError(f"{card.name}: the catalogue does not say how it is quantised")
    return measure.of_shape(made.subject.shape, card.quantisation, run, known.folder, machine)


def _show_memory(made: Plan) -> None:
    memory, settings, said = made.memory, made.settings, console()
    many = "one conversation" if settings.parallel == 1 else f"{settings.parallel} conversations at once"
    source = "its file's header" if made.subject.source == "file" else "the catalogue; its file is not here"
    said.print(f"{made.subject.model}: {many} of {settings.context:,} tokens on {made.engine}", markup=False)
    sliding = f"   ({gib(memory.kv_sliding)} of it in sliding layers)" if memory.kv_sliding else ""
    said.print(f"  weights   {gib(memory.weights):>10}   (from {source})", markup=False)
    said.print(f"  cache     {gib(memory.kv):>10}   {settings.kv}{sliding}", markup=False)
    said.print(f"  compute   {gib(memory.compute):>10}")
    said.print(f"  total     {gib(memory.total):>10}   of {gib(made.vram_bytes)}", markup=False)
    driver = f"   with the {gib(RESERVE_BYTES)} that a driver and its libraries take (a rule of thumb)"
    said.print(f"  with it   {gib(memory.total + RESERVE_BYTES):>10}{driver}", markup=False)
    if spared := memory.total - made.device_bytes:
        on_card = f"   of this on the card; {gib(spared)}, the table of words, stays in main memory"
        said.print(f"            {gib(made.device_bytes + RESERVE_BYTES):>10}{on_card}", markup=False)


def _show_verdict(made: Plan) -> None:
    said = console()
    verdict, style = ("it fits", "green") if made.fits else ("it does not fit", "bold red")
    said.print(verdict, style=style, end="")
    if made.tight:
        said.print(f", but leaves less than the {gib(RESERVE_BYTES)} that a driver takes", style="yellow", end="")
    said.print(
        f": {made.suggestion.text} ({gib(made.suggestion.total_bytes)})" if made.suggestion else "", markup=False
    )
    if not made.fits:
        layers = made.subject.shape.layers + 1
        said.print(f"as it is, {made.gpu_layers_that_fit} of {layers} layers would fit the card", markup=False)
    for note in made.notes:
        said.print(f"note: {note}", style="yellow", markup=False)


def _show_measured(tried: measure.Measured, made: Plan) -> None:
    said, report = console(), tried.reported
    off = made.memory.total / report.total - 1
    what = f"a replica of {tried.replica_bytes / 1e9:.2f} GB" if tried.replica_bytes else "its own file"
    threads = f"{tried.machine.prompt_threads} threads to read, {tried.machine.threads} to write"
    where = "with its GPU" if tried.gpu else f"on the CPU, {threads}"
    said.print(f"\nmeasured on {what}, {where}", markup=False)
    said.print(f"  the engine took {gib(report.total)}; the plan is {off:+.1%} off", markup=False)
    if report.copies:
        said.print(f"  and {gib(report.copies)} for weights in the CPU's own order", markup=False)
    said.print(
        f"  its process held {gib(tried.rss_bytes)}, {gib(tried.anonymous_bytes)} without the file", markup=False
    )
    said.print(f"  first token after {tried.first_token_ms:,.0f} ms ({tried.prompt_tokens} tokens, nothing cached)")
    said.print(f"  {tried.prompt_tokens_per_s:,.0f} tokens/s read, {tried.tokens_per_s:,.1f} tokens/s written")
