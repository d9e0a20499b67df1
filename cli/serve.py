"""`crisis serve`: the service on its port, until it is told to stop."""

import logging
import socket
from typing import Annotated

import typer
import uvicorn

from cli.console import ConfigOption, DemoOption, Failure, settings
from serving.http.app import create_app
from serving.http.server import server_config
from serving.http.service import HttpOptions
from serving.settings import Settings, SettingsError, check_open
from serving.wiring import build, demo_settings

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

    Prints the address it listens on. /readyz says who answers and what is missing; `crisis doctor` how to mend it.
    Anything but loopback needs at least one API key (`crisis config key`).
    """
    chosen = listening(settings(config), host, port)
    chosen = demo_settings(chosen) if demo else chosen
    logging.basicConfig(level=chosen.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # The HTTP clients log addresses at INFO; nothing of a request belongs in our log.
    for noisy in ("httpx", "httpcore", "anthropic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    listener = bound(chosen.server.host, chosen.server.port)
    service = build(chosen)
    app = create_app(service, http_options(chosen), on_start=service.start, on_stop=service.stop)
    host = f"[{chosen.server.host}]" if ":" in chosen.server.host else chosen.server.host
    address = f"http://{host}:{listener.getsockname()[1]}"
    print(f"crisis: listening on {address}  (try it: {address}/  ready: {address}/readyz)", flush=True)
    options = server_config(app, log_level="warning", shutdown_s=int(chosen.server.shutdown_s))
    uvicorn.Server(options).run(sockets=[listener])


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


def http_options(chosen: Settings) -> HttpOptions:
    """What the HTTP face needs to know of the settings."""
    server = chosen.server
    return HttpOptions(
        api_keys=server.api_keys,
        max_body_bytes=server.max_body_bytes,
        max_concurrent=server.max_concurrent,
        cors_origins=server.cors_origins,
    )
