"""`crisis models pull` and `verify`: a model's file, fetched or brought, checked byte by byte, recorded."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cli.console import ConfigOption, Failure, JsonOption, console
from cli.models_catalogue import Opened, opened
from models import lock
from models.catalogue import ModelError
from models.hub import Progress
from models.pull import Pulled, adopt
from models.pull import pull as fetch
from models.verdict import Outcome, Verdict, judge

_STYLES: dict[Outcome, str] = {
    "genuine": "green",
    "unchanged": "yellow",
    "unrecorded": "yellow",
    "damaged": "bold red",
    "missing": "bold red",
}


def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `crisis models list`.")],
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take a file that you brought, without any network.")
    ] = None,
    sha256: Annotated[
        str, typer.Option("--sha256", metavar="HEX", help="With --from: what its SHA-256 must be, as you were told.")
    ] = "",
    latest: Annotated[
        bool, typer.Option("--latest", help="The newest file of the repository, not the recorded commit.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Fetch a model's file from the hub, or take one you brought; check it whole and record it in models.lock.

    Goes on where an earlier try stopped. HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are honoured; CRISIS_WEIGHTS_DIR says
    where files go. Exit status 1, and nothing half-written, when it does not work out.
    """
    known = opened(config)
    card = known.card(name)
    if sha256 and (source is None or not re.fullmatch("[0-9a-fA-F]{64}", sha256)):
        raise Failure("--sha256 goes with --from FILE and has 64 hexadecimal digits", 2)
    try:
        with _watched(card.file) as progress:
            if source is not None:
                done = adopt(card, source, known.folder, progress, sha256=sha256.lower())
            else:
                done = fetch(card, known.folder, progress, latest=latest)
    except ModelError as error:
        raise Failure(str(error)) from None
    _tell(done)


def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One model; without it all whose files are recorded or here.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read every byte of the files that are here and say whether they are what they were; exit status 1 if not.

    genuine: as the hub, the catalogue or you said it must be. unchanged: as when it came, but nobody said what it is.
    """
    known = opened(config)
    try:
        verdicts = [judge(known.card(name), known.folder)] if name else list(_all(known))
    except ModelError as error:
        raise Failure(str(error)) from None
    if as_json:
        print(json.dumps([asdict(verdict) for verdict in verdicts], indent=2, default=str))
    for verdict in verdicts if not as_json else ():
        console().print(f"{verdict.outcome:<11}", style=_STYLES[verdict.outcome], end="")
        console().print(f"{verdict.model}: {verdict.found}", markup=False)
    if not verdicts:
        print(f"no model's file is in {known.folder}, and none is recorded there")
    if any(verdict.outcome not in ("genuine", "unchanged") for verdict in verdicts):
        raise typer.Exit(1)


def _all(known: Opened) -> Iterator[Verdict]:
    recorded = lock.read(known.folder)
    for card in map(known.cards.get, known.cards.names()):
        if card.file in recorded or known.where(card) is not None:
            yield judge(card, known.folder)


def _tell(done: Pulled) -> None:
    entry = done.entry
    if done.was_here:
        print(f"{done.path}: here already, every byte as recorded")
        return
    against = {
        "hub": "the hub's own",
        "catalogue": "the catalogue's",
        "operator": "the one you gave",
        "nothing": "compared with nothing, for nobody gave one",
    }
    commit = f" at commit {entry.revision[:12]}" if entry.revision else ""
    resumed = f" ({done.resumed_bytes:,} bytes were here from before)" if done.resumed_bytes else ""
    if done.replaced:
        print(f"{done.path}: the file that was here failed its check and is replaced")
    print(f"{done.path}: {entry.size_bytes:,} bytes{commit}{resumed}")
    print(f"sha256 {entry.sha256}, {against[entry.checked_against]}; recorded in {done.path.with_name(lock.NAME)}")


@contextmanager
def _watched(file: str) -> Iterator[Progress]:
    """A progress bar on standard error, for as long as a terminal watches it."""
    if not sys.stderr.isatty():
        yield lambda here, total: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(binary_units=False),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(file, total=None)
        yield lambda here, total: shown.update(task, completed=here, total=total)
