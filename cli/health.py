"""`crisis health`: does a running service answer? For an orchestrator's check, a container's and a person's."""

import http.client
import json
from typing import Annotated, Any

import typer

from cli.console import ConfigOption, Failure, settings

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to ask a service that listens everywhere


def health(
    ready: Annotated[bool, typer.Option("--ready", help="Whether it can answer people.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", metavar="PORT", min=1, max=65535, help="Overrides server.port.")
    ] = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, max=60, help="How long to wait.")
    ] = 3.0,
    config: ConfigOption = None,
) -> None:
    """Ask the service on this machine. Exit status 0 when it is well, 1 when not. It needs no key."""
    server = settings(config).server
    host, path = _EVERYWHERE.get(server.host, server.host), "/readyz" if ready else "/healthz"
    status, body = _asked(host, port or server.port, path, timeout_s)
    if status != 200:
        said = body.get("error", {}).get("message", "") if isinstance(body, dict) else ""
        raise Failure(f"{host}:{port or server.port}{path}: {status} {said}".rstrip())
    print("ready" if ready else "ok")


def _asked(host: str, port: int, path: str, timeout_s: float) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read(65_536))
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else type(error).__name__
        raise Failure(f"{host}:{port}: does not answer: {reason}; is the service running? crisis serve") from None
    finally:
        connection.close()
