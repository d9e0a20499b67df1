"""What operators and their machines ask: /healthz (the process runs), /readyz (who answers), /metrics."""

from typing import Any

from starlette.types import Receive, Scope, Send

from serving.http import metrics
from serving.http.encoding import encode
from serving.http.errors import Problem, problem_json
from serving.http.front import Front
from serving.http.sending import send_bytes


class Healthz:
    """200 while the process can answer at all."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_bytes(send, b'{"status":"ok"}')


class Readyz:
    """200 when the service answers, with the chain as it stands; 503, an error with resources, when it does not."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status: dict[str, Any] = self._front.responder.ready()
        if status.get("ready"):
            await send_bytes(send, encode(status))
            return
        problem = Problem(503, str(status.get("next_step") or "Not ready yet."))
        error = problem_json(problem, self._front.resources(None, None))
        await send_bytes(send, encode({**status, **error}), status=503)


class MetricsRoute:
    """Prometheus' text format."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self._front.metrics.exposition()
        await send_bytes(send, body, media_type=metrics.MEDIA_TYPE.encode())
