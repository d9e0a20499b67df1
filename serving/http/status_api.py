"""What operators and their machines ask: /healthz (the process runs), /readyz (who answers), /metrics, the report."""

import asyncio
import datetime
import re
from typing import Any

from starlette.types import Receive, Scope, Send

from serving.http import metrics
from serving.http.encoding import encode
from serving.http.errors import Problem, problem_json
from serving.http.front import Front
from serving.http.query import query
from serving.http.sending import send_bytes
from serving.http.visit import visit_of
from serving.referrals import Period, ReferralsError

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Healthz:
    """200 while the process can answer at all."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_bytes(send, b'{"status":"ok"}')


class Readyz:
    """200 when the service answers; 503, an error with resources, when it does not.

    Where keys are set, only who may see it (scope admin) is told of the chain; an orchestrator needs no key.
    """

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status: dict[str, Any] = self._front.responder.ready()
        admin = visit_of(scope).admin
        told = status if admin else {"ready": bool(status.get("ready"))}
        if status.get("ready"):
            await send_bytes(send, encode(told))
            return
        problem = Problem(503, str((admin and status.get("next_step")) or "Not ready yet."))
        error = problem_json(problem, self._front.resources(None, None))
        await send_bytes(send, encode({**told, **error}), status=503)


class ReportRoute:
    """GET /crisis/report?from=2027-01-01&to=2027-12-31 for operators: the counts of `crisis report`."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        records = self._front.records
        if records is None:
            raise Problem(404, "This service counts no referrals.")
        period = _period(query(scope, "from"), query(scope, "to"))
        try:
            counted = await asyncio.to_thread(records.report, period)
        except ReferralsError:
            raise Problem(503, "The counts cannot be read now; the log says why.") from None
        await send_bytes(send, encode(counted.to_json()))


def _period(first: str | None, last: str | None) -> Period:
    """This year so far, where nothing else is asked for."""
    today = datetime.datetime.now(datetime.UTC).date()
    start = today.replace(month=1, day=1) if first is None else _day(first)
    end = today if last is None else _day(last)
    if start > end:
        raise Problem(422, "from: is after to")
    return Period(start, end)


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text if _DAY.fullmatch(text) else "")
    except ValueError:
        raise Problem(422, "from, to: days such as 2027-01-31") from None


class MetricsRoute:
    """Prometheus' text format."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self._front.metrics.exposition()
        await send_bytes(send, body, media_type=metrics.MEDIA_TYPE.encode())
