"""`crisis doctor`: is everything in order, and what should the operator do next. Exit status 1 when a check failed."""

import datetime
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer
from models.catalogue import Catalogue, ModelError
from models.weights import locate, verify

from cli.console import ConfigOption, Failure, console, settings
from safety_filter.helplines import Helplines
from serving.llama.cores import available
from serving.settings import LlamaEntry, Settings, SettingsError, find_file
from serving.wiring import build, weights_dir
from shield.detect import Detector

Outcome = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at, what was found, and how to mend it."""

    name: str
    outcome: Outcome
    found: str
    mend: str = ""


def doctor(
    config: ConfigOption = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Look at settings, weights, engines, rules and helplines, and say what to do next."""
    checks = list(examine(config))
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            mend = f"\n       -> {check.mend}" if check.mend else ""
            console().print(f"{check.outcome:<5}  {check.name}: {check.found}{mend}", markup=False)
    if any(check.outcome == "fail" for check in checks):
        raise typer.Exit(1)


def examine(config: ConfigOption) -> Iterator[Check]:
    """Every check, the settings first: without them nothing else can be looked at."""
    try:
        chosen, file = settings(config), find_file(config)
    except (Failure, SettingsError) as error:
        yield Check("settings", "fail", str(error), "crisis config check, and see crisis.example.toml")
        return
    yield Check("settings", "pass", str(file) if file else "none found; defaults and CRISIS_… variables")
    yield _keys(chosen)
    yield Check("shield", "pass", f"{len(Detector.load().rules)} rules, each with its proof")
    yield _helplines()
    yield Check("cores", "pass", f"{available()} available to engines")
    yield from _chain(chosen)


def _keys(chosen: Settings) -> Check:
    if chosen.server.api_keys:
        return Check("api keys", "pass", f"{len(chosen.server.api_keys)} set")
    return Check("api keys", "pass", f"none; only {chosen.server.host} is listened on")


def _helplines() -> Check:
    stale = Helplines.load().stale(datetime.date.today(), max_days=180)
    if stale:
        return Check("helplines", "warn", f"{len(stale)} entries not verified for 180 days", "open each service's page")
    return Check("helplines", "pass", "every entry verified within 180 days")


def _chain(chosen: Settings) -> Iterator[Check]:
    links = build(chosen).links()
    for entry, link in zip(chosen.chain, links, strict=True):
        if link.reason:
            yield Check(f"chain entry {link.name} ({link.model})", "fail", link.reason, "until then the chain moves on")
        elif isinstance(entry, LlamaEntry):
            yield _weights(entry, chosen)
        else:
            yield Check(f"chain entry {link.name} ({link.model})", "pass", "turned on, key set")
    if not chosen.chain:
        yield Check(
            "chain",
            "warn",
            "no model is set: every answer is a static reply",
            "try the demo with `make run`; for people, put an approved model (crisis models list) into [[chain]], "
            "as crisis.example.toml shows",
        )


def _weights(entry: LlamaEntry, chosen: Settings) -> Check:
    name = f"chain entry {entry.name} ({entry.model})"
    if importlib.util.find_spec("llama_cpp") is None:
        return Check(name, "fail", "llama-cpp-python is not installed", "pip install 'crisis-support[llama-cpp]'")
    try:
        card = Catalogue.load().get(entry.model)
        path = locate(card, weights_dir=weights_dir(chosen), path=entry.path)
        verify(path, card)
    except ModelError as error:
        return Check(name, "fail", str(error))
    if card.status != "approved":
        return Check(name, "warn", f"{path}: genuine, but a {card.status} model", "never put it in front of people")
    return Check(name, "pass", f"{path}: genuine")
