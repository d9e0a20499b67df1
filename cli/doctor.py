"""`crisis doctor`: is everything in order, and what should the operator do next. Exit status 1 when a check failed."""

import datetime
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import typer

from cli.console import ConfigOption, Failure, JsonOption, console, settings
from models.catalogue import Catalogue, ModelError
from models.verdict import compared, require_whole, unchanged
from models.weights import locate, verify, vouched_for
from safety_filter.helplines import Helplines
from safety_filter.review import load_rules
from serving.keys import read_keys
from serving.settings import ClaudeEntry, LlamaEntry, LlamaServerEntry, Settings, SettingsError, find_file, weights_dir
from serving.wiring import build
from serving.worker.cores import available
from shield.detect import rules

Outcome = Literal["pass", "warn", "fail"]
_STYLES: dict[Outcome, str] = {"pass": "green", "warn": "yellow", "fail": "bold red"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at, what was found, and how to mend it."""

    name: str
    outcome: Outcome
    found: str
    mend: str = ""


def doctor(
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at settings, rules, helplines, weights and engines, and say what to do next.

    pass: in order; warn: it works, and you should know; fail: mend it, exit status 1. Starts nothing, sends nothing.
    """
    checks = list(examine(config))
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            mend = f"\n       -> {check.mend}" if check.mend else ""
            console().print(f"{check.outcome:<5}", style=_STYLES[check.outcome], end="")
            console().print(f"  {check.name}: {check.found}{mend}", markup=False)
    if any(check.outcome == "fail" for check in checks):
        raise typer.Exit(1)


def examine(config: Path | None) -> Iterator[Check]:
    """Every check, the settings first: without them nothing else can be looked at."""
    try:
        chosen, file = settings(config, strict=True), find_file(config)
    except (Failure, SettingsError) as error:
        problems = "; ".join(str(error).splitlines())
        yield Check("settings", "fail", problems, "crisis.example.toml shows every option")
        return
    yield Check("settings", "pass", str(file) if file else "none found; defaults and CRISIS_… variables")
    yield from _looked("api keys", lambda: [_keys(chosen)])
    yield from _looked("shield", lambda: [Check("shield", "pass", f"{len(rules())} rules loaded")])
    yield from _looked("filter", lambda: [Check("filter", "pass", f"{len(load_rules())} rules loaded")])
    yield from _looked("helplines", lambda: [_helplines()])
    yield from _looked("catalogue", lambda: [_catalogue(chosen)])
    yield from _looked("cores", lambda: [Check("cores", "pass", f"{available()} available to engines")])
    yield from _looked("chain", lambda: _chain(chosen))


def _looked(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 - broken installations are what this command is for
        found = " ".join(f"{type(error).__name__}: {error}".split())
        return [Check(name, "fail", found, "install again, or undo the last change to the rules or data")]


def _keys(chosen: Settings) -> Check:
    named = () if chosen.server.keys_file is None else read_keys(chosen.server.keys_file)
    if chosen.server.api_keys or named:
        return Check("api keys", "pass", f"{len(chosen.server.api_keys) + len(named)} set")
    if chosen.server.keys_file is not None:
        return Check(
            "api keys", "fail", f"{chosen.server.keys_file}: holds none: nobody can call", "crisis keys add NAME"
        )
    return Check("api keys", "pass", f"none; only {chosen.server.host} is listened on")


def _helplines() -> Check:
    table = Helplines.load()
    stale = table.stale(datetime.date.today(), max_days=180)
    if not stale:
        return Check("helplines", "pass", "every entry verified within 180 days")
    mains = [code for code in table.countries if table.resources(code).main in stale]
    first = f"; first lines of {', '.join(mains[:8])}{' and others' if len(mains) > 8 else ''}" if mains else ""
    found = f"{len(stale)} entries not verified for 180 days{first}"
    return Check("helplines", "warn", found, "open each service's page; how to change a line is in docs/helplines.md")


def _catalogue(chosen: Settings) -> Check:
    cards = Catalogue.tolerant(chosen.catalogue)
    if cards.complaint:
        return Check("catalogue", "fail", cards.complaint, "until then only the built-in models are known")
    return Check("catalogue", "pass", f"{len(cards.names())} models known")


def _chain(chosen: Settings) -> Iterator[Check]:
    for entry, link in zip(chosen.chain, build(chosen).links(), strict=True):
        name = f"chain entry {link.name} ({link.model})"
        if isinstance(entry, ClaudeEntry) and not entry.enabled:
            yield Check(name, "pass", "off, as set: no words are sent to a third party")
        elif link.state == "off":
            yield Check(name, "fail", link.reason, "until then the chain moves on without it")
        elif isinstance(entry, LlamaEntry) or (isinstance(entry, LlamaServerEntry) and not entry.url):
            yield _weights(name, entry, chosen)
        else:
            yield Check(name, "pass", "turned on")
        yield from (Check(name, "warn", note) for note in link.notes)
    if not chosen.chain:
        yield Check(
            "chain",
            "warn",
            "no model is set: every answer is a static reply",
            "try the demo with `make run`; for people, put an approved model (crisis models list) into [[chain]], "
            "as crisis.example.toml shows",
        )


def _weights(name: str, entry: LlamaEntry | LlamaServerEntry, chosen: Settings) -> Check:
    if isinstance(entry, LlamaEntry) and importlib.util.find_spec("llama_cpp") is None:
        return Check(name, "fail", "llama-cpp-python is not installed", "pip install 'crisis-support[llama-cpp]'")
    try:
        card = Catalogue.tolerant(chosen.catalogue).get(entry.model)
        path = locate(card, weights_dir=weights_dir(chosen), path=entry.path)
        verify(path, card, named=entry.path is not None)
        require_whole(path, card, named=entry.path is not None)
        vouched, genuine = vouched_for(path, card), compared(path, card)
    except ModelError as error:
        return Check(name, "fail", str(error))
    if not vouched:
        mend = f"record it: crisis models pull {card.name} --from {path}"
        return Check(name, "warn", f"{path}: of the right size, but nothing says what it should be", mend)
    if not genuine:
        return Check(name, "warn", f"{path}: {unchanged(path, card)}")
    if card.status != "approved":
        return Check(name, "warn", f"{path}: genuine, but a {card.status} model", "never put it in front of people")
    return Check(name, "pass", f"{path}: genuine")
