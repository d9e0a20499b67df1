"""`crisis serve`: the service on its port, until it is told to stop."""

import logging
import math
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from fastapi import FastAPI

from cli.console import ConfigOption, DemoOption, Failure
from cli.reloading import EarlySignal, Life, reader
from serving.http.app import create_app
from serving.http.server import Stopping, server_config
from serving.http.service import HttpOptions
from serving.http.traces import Traces, TracesMissing
from serving.keys import KeysError
from serving.logs import configure
from serving.records import Records
from serving.service import Service
from serving.settings import (
    BrokenEntry,
    Settings,
    SettingsError,
    check_open,
    find_file,
    load_usable,
    records_folder,
    unknown_variables,
)
from serving.swapper import Wanted
from serving.wiring import built_in, demo_settings
from serving.workshop import Workshop

_BACKLOG = 2048


def serve(
    config: ConfigOption = None,
    demo: DemoOption = False,
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Overrides server.host.")] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="PORT", min=0, max=65535, help="Overrides server.port; 0 takes a free one."),
    ] = None,
) -> None:
    """Start the service, until Ctrl-C or SIGTERM. It answers at once; the model joins when its weights are loaded.

    At SIGHUP (or by `crisis models use`) it reads the settings again and exchanges the chain without an outage.
    Prints the address it listens on. /readyz says who answers and what is missing; `crisis doctor` how to mend it.
    Anything but loopback needs at least one API key (`crisis config key`).
    """
    early = EarlySignal()
    usable, broken = _usable(config)

    def adapted(read: Settings) -> Settings:
        chosen = listening(read, host, port)
        return demo_settings(chosen) if demo else chosen

    chosen = adapted(usable)
    with closing(configure(level=chosen.log_level, form=chosen.log_format, stream=sys.stderr)):
        for line in unknown_variables(usable):
            logging.getLogger("crisis").warning("%s", line)
        _run(chosen, reader(find_file(config), adapted), early, config=find_file(config), broken=broken, demo=demo)


def _run(
    chosen: Settings,
    read: Callable[[], Wanted],
    early: EarlySignal,
    *,
    config: Path | None,
    broken: tuple[BrokenEntry, ...],
    demo: bool,
) -> None:
    listener = bound(chosen.server.host, chosen.server.port)
    workshop = Workshop.open()
    service = built_in(workshop, chosen, () if demo else broken)
    _say(service)
    life = Life(service, workshop, read, early=early, demo=demo)
    app = _app(service, chosen, life, config)
    _announce(chosen, listener)
    patience_s = chosen.server.shutdown_s
    options = server_config(app, log_level="warning", shutdown_s=math.ceil(patience_s))
    Stopping(options, hurry=app.state.hurry, shutdown_s=patience_s).run(sockets=[listener])


def _app(service: Service, chosen: Settings, life: Life, file: Path | None) -> FastAPI:
    try:
        return create_app(
            service,
            http_options(chosen),
            records=make_records(chosen),
            traces=make_traces(chosen),
            on_start=partial(life.start, file),
            on_stop=life.stop,
        )
    except (KeysError, TracesMissing) as error:
        raise Failure(str(error), status=2) from None


def _announce(chosen: Settings, listener: socket.socket) -> None:
    host = f"[{chosen.server.host}]" if ":" in chosen.server.host else chosen.server.host
    address = f"http://{host}:{listener.getsockname()[1]}"
    print(f"crisis: listening on {address}  (try it: {address}/  ready: {address}/readyz)", flush=True)


def _usable(config: Path | None) -> tuple[Settings, tuple[BrokenEntry, ...]]:
    """A typo in one chain entry must not cost anybody an answer; every other mistake stops the start."""
    try:
        return load_usable(config)
    except SettingsError as error:
        raise Failure(str(error), status=2) from None


def _say(service: Service) -> None:
    """What is off and what will be slow, loudly in the log; /readyz and `crisis doctor` say the same."""
    for link in service.links():
        level = logging.INFO if link.engine == "claude" else logging.WARNING  # off by default: no news
        for note in (link.reason if link.state == "off" else "", *link.notes):
            if note:
                logging.getLogger("crisis").log(level, "chain entry %s (%s): %s", link.name, link.model, note)


def bound(host: str, port: int) -> socket.socket:
    """The listening socket, made before anything is loaded, so that a port in use is said at once and in one line."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).split(" (")[0]
        raise Failure(
            f"{host}:{port}: cannot be listened on: {reason}; choose another with --port or server.port"
        ) from None


def listening(chosen: Settings, host: str | None, port: int | None) -> Settings:
    """The settings with the command line's address, still refusing to start open."""
    changes = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    if not changes:
        return chosen
    changed = chosen.model_copy(update={"server": chosen.server.model_copy(update=changes)})
    try:
        check_open(changed)
    except SettingsError as error:
        raise Failure(str(error), status=2) from None
    return changed


def make_records(chosen: Settings) -> Records | None:
    """Where answers are counted; None where nothing is to be written down."""
    wanted = chosen.records
    if not wanted.referrals and not wanted.audit:
        return None
    return Records(records_folder(chosen), referrals=wanted.referrals, audit=wanted.audit)


def make_traces(chosen: Settings) -> Traces | None:
    """Where spans go; None where nowhere. Raises TracesMissing."""
    wanted = chosen.telemetry
    return Traces.to(wanted.otlp_endpoint, service_name=wanted.service_name) if wanted.otlp_endpoint else None


def http_options(chosen: Settings) -> HttpOptions:
    """What the HTTP face needs to know of the settings."""
    server = chosen.server
    return HttpOptions(
        api_keys=server.api_keys,
        keys_file=server.keys_file,
        per_minute=server.per_minute,
        hosts=server.names(),
        max_body_bytes=server.max_body_bytes,
        max_concurrent=server.max_concurrent,
        cors_origins=server.cors_origins,
    )
