"""The service held against its own OpenAPI document by Schemathesis: no 5xx, no answer of another shape than promised,
and help in every error. `make test-schema` asks more often, and over a real socket.

Requests are made from the document: right ones, and ones that break it in one place.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from http_fakes import FakeResponder
from hypothesis import HealthCheck, settings
from running import service
from schemathesis import Case, CheckContext, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.backends.scripted import ScriptedBackend
from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.keys import hashed
from serving.lineup import Lineup
from serving.records import Records
from serving.service import Service
from serving.settings import ReplySettings, Settings
from serving.wiring import build_responder

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "4"))
OVER_A_SOCKET = "SCHEMA_EXAMPLES" in os.environ
KEY = "a-key-that-may-do-everything"
# 422 for what no schema can say: the last turn is the user's and not blank, a first day before a last. 413: 256 KiB.
CHECKS: dict[str, Any] = {
    "negative_data_rejection": {"expected-statuses": ["400", "401", "404", "405", "413", "415", "422"]},
    "positive_data_acceptance": {"expected-statuses": ["2xx", "413", "422"]},
}
pytestmark = pytest.mark.timeout(3600)  # how long a case takes is looked at elsewhere; the machine may be busy
SETTINGS = Settings(reply=ReplySettings(default_country="US"))
MODEL = ScriptedBackend(["You sound ", "worn out by all of this. What happened today?"])


@schemathesis.check
def every_error_has_help_in_it(ctx: CheckContext, response: Response, case: Case) -> None:
    """Of any status, at any path, in any shape."""
    if response.status_code >= 400:
        body = response.json()
        assert body["resources"], "an error without resources"
        assert body["error"]["message"]
        assert response.headers["x-content-type-options"][0] == "nosniff"


class Lazily:
    """An app that is built at its first request: collecting tests should cost nothing."""

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = cache(build)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._build()(scope, receive, send)


def promised(app: ASGIApp | None) -> Any:
    """The document, with the app that should keep to it; without one requests go to a base_url."""
    document = create_app(FakeResponder(), HttpOptions()).openapi()
    config = schemathesis.Config.from_dict({"checks": CHECKS})
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema.app = app
    return schema


def records() -> Records:
    return Records(Path(tempfile.mkdtemp(prefix="crisis-test-")))


def with_a_model() -> ASGIApp:
    """The real pipeline, with a model behind it."""
    pipeline = Service(Lineup(build_responder(SETTINGS, [MODEL]), settings=SETTINGS))
    return create_app(pipeline, HttpOptions(), records=records())


def behind_keys() -> ASGIApp:
    pipeline = Service(Lineup(build_responder(SETTINGS), settings=SETTINGS))
    return create_app(pipeline, HttpOptions(api_keys=(hashed(KEY),), per_minute=0), records=records())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real service in a process of its own."""
    if not OVER_A_SOCKET:
        pytest.skip("asked in full by `make test-schema`")
    folder: Path = tmp_path_factory.mktemp("service")
    with service(folder, '[reply]\ndefault_country = "US"\n', env={"XDG_STATE_HOME": str(folder)}) as running:
        yield running.url


often = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


@promised(Lazily(with_a_model)).parametrize()
@often
def test_the_service_keeps_to_its_document(case: Case) -> None:
    case.call_and_validate()


@promised(Lazily(behind_keys)).parametrize()
@settings(often, max_examples=max(2, EXAMPLES // 4))
def test_behind_keys_too_and_without_one_nobody_is_let_in(case: Case) -> None:
    case.call_and_validate(headers={"x-api-key": KEY})
    refused = case.call()
    open_to_all = case.path in ("/healthz", "/readyz") and case.method == "GET"
    assert open_to_all or refused.status_code in (401, 405)
    case.validate_response(refused, checks=[every_error_has_help_in_it])


@promised(None).parametrize()
@often
def test_over_a_real_socket_too(case: Case, url: str) -> None:
    case.call_and_validate(base_url=url)
