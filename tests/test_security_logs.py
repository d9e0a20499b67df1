"""The log: a line an event whoever writes to it, no secrets, no messages of exceptions, and nobody waits for it."""

import io
import json
import logging
import re
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from commands import crisis
from hypothesis import given
from hypothesis import strategies as st
from running import service

from serving.http.server import server_config
from serving.logs import MOST_WAITING, Writer, configure, one_line, request_id

HOSTILE = "\r\n2026-01-01 00:00:00,000 ERROR crisis forged\n\x1b[31m\u2028\u202e"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR) [\w.]+( \[[0-9a-f]{16}\])? \S.*")


def written(form: Any, *records: tuple[Any, ...], **more: Any) -> list[str]:
    stream = io.StringIO()
    with closing(configure(level="debug", form=form, stream=stream)):
        for record in records:
            logging.getLogger("crisis.test").error(*record, **more)
    return stream.getvalue().splitlines()


def test_no_text_can_write_a_line_of_its_own():
    (line,) = written("text", ("said %s", HOSTILE))
    assert LINE.fullmatch(line)
    assert "\\r\\n2026" in line
    assert "\x1b" not in line
    assert "\u202e" not in line
    (entry,) = map(json.loads, written("json", ("said %s", HOSTILE)))
    assert entry["level"] == "error"
    assert "\\r\\n2026" in entry["message"]


@given(st.text())
def test_a_line_has_no_ends_in_it(text: str):
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_its_type_and_place_and_never_its_message(form: str):
    try:
        json.loads('{"message": "I want to die')
    except ValueError as error:
        (line,) = written(form, ("broke",), exc_info=error)
    assert "JSONDecodeError at decoder.py:" in line
    assert "Unterminated" not in line
    assert "Traceback" not in line


def test_a_line_names_its_request_and_its_fields():
    token = request_id.set("0123456789abcdef")
    try:
        (text,) = written("text", ("filter failed",))
        (entry,) = map(json.loads, written("json", ("done",), extra={"fields": {"status": 200}}))
    finally:
        request_id.reset(token)
    assert " crisis.test [0123456789abcdef] filter failed" in text
    assert (entry["request"], entry["status"], entry["message"]) == ("0123456789abcdef", 200, "done")


def test_a_record_that_cannot_be_worded_ends_nothing():
    (line,) = written("text", ("%d turns", "many"))
    assert "could not be worded" in line
    assert "many" not in line


class Stuck(io.StringIO):
    """A pipe that nobody reads, until `read` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.read = threading.Event()

    def write(self, text: str) -> int:
        self.read.wait(20)
        return super().write(text)


def test_a_log_that_nobody_reads_holds_nobody_up_and_is_bounded():
    stream = Stuck()
    writer = Writer(stream)
    began = time.monotonic()
    for number in range(MOST_WAITING + 500):
        writer.write(str(number))
    assert time.monotonic() - began < 5
    stream.read.set()
    writer.close()
    assert re.search(r"\d+ lines of the log were dropped", stream.getvalue())


def test_a_log_that_cannot_be_written_is_lost_and_nothing_else():
    stream = io.StringIO()
    stream.close()
    writer = Writer(stream)
    writer.write("one")
    writer.close()


def test_the_servers_own_lines_take_the_same_way():
    assert server_config(lambda: None).log_config is None  # type: ignore[arg-type]  # never run


CONFIG = 'log_level = "debug"\nlog_format = "{form}"\n[server]\nmax_body_bytes = 4096\n'


@pytest.mark.parametrize("form", ["text", "json"])
def test_whatever_a_caller_sends_every_line_of_the_services_log_is_its_own(tmp_path: Path, form: str):
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with service(tmp_path, CONFIG.format(form=form), env=env) as running:
        url = running.url
        body = {"message": HOSTILE, "country": HOSTILE, "language": HOSTILE, "conversation_id": HOSTILE}
        answer = httpx.post(f"{url}/crisis/respond", json=body | {"context": [{"id": HOSTILE, "text": HOSTILE}]})
        assert answer.status_code == 200
        for path in ("/%0d%0aforged", "/crisis/respond%0a%1b[31m", "/crisis/resources?country=%0d%0aforged"):
            assert httpx.get(url + path).json()["resources"]
        httpx.post(f"{url}/crisis/respond", content=HOSTILE.encode())
        raw(url, b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: \x1b[31mforged\r\n\r\n")
        raw(url, b"\x1b[31mforged\nforged\r\n\r\n")
        shown = httpx.get(f"{url}/healthz", headers={"x-request-id": "forged"}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", shown)
    lines = [line.rstrip("\n") for line in running.lines if not line.startswith("crisis: listening")]
    assert len([line for line in lines if "/crisis/respond" in line]) >= 2
    for line in lines:
        assert "forged" not in line
        assert "\x1b" not in line
        if form == "text":
            assert LINE.fullmatch(line), line
        else:
            assert {"time", "level", "logger", "message"} <= set(json.loads(line)), line


def raw(url: str, sent: bytes) -> None:
    address = urlsplit(url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=5) as caller:
        caller.sendall(sent)
        caller.recv(1)


SECRETS = """
anthropic_api_key = "sk-ant-hidden-1"
[server]
api_keys = ["{hash}"]
[[chain]]
engine = "claude"
model = "x"
api_key = "sk-ant-hidden-2"
base_url = "https://user:hidden-3@example.com/v1?x=y"
[[chain]]
engine = "openai"
model = "qwen2.5-7b-instruct-q4_k_m"
url = "http://hidden-4@127.0.0.1:9/v1"
api_key_env = "CRISIS_TEST_KEY_NAME"
extra = {{ api_key = "hidden-5", nested = {{ Authorization = "Bearer hidden-6" }}, top_k = 40, token = ["hidden-7"] }}
"""


def test_no_command_shows_a_secret(tmp_path: Path):
    file = tmp_path / "crisis.toml"
    file.write_text(SECRETS.format(hash="0" * 64), encoding="utf-8")
    at = ["--config", str(file)]
    env = {"CRISIS_ANTHROPIC_API_KEY": "sk-ant-hidden-8", "CRISIS_TEST_KEY_NAME": "hidden-9"}
    shown, checked, looked = crisis(["config", "show", *at], ["config", "check", *at], ["doctor", *at], env=env)
    assert shown.status == 0, shown.err
    assert json.loads(shown.out)["chain"][1]["extra"]["top_k"] == 40
    assert json.loads(shown.out)["chain"][1]["api_key_env"] == "CRISIS_TEST_KEY_NAME"
    assert "example.com/v1" in shown.out
    for ran in (shown, checked, looked):
        assert "hidden" not in ran.out + ran.err


@pytest.mark.parametrize(
    "line",
    [
        'anthropic_api_key = ["hidden"]',
        '[server]\napi_keys = ["hidden"]',
        '[server]\napi_keys = "hidden"',
        "anthropic_api_key = 'hidden",
        '[[chain]]\nengine = "claude"\nmodel = "x"\napi_key = ["hidden"]',
        '[[chain]]\nengine = "claude"\nmodel = "x"\nhidden_key = "hidden"\napi_key = 5',
    ],
)
def test_no_mistake_in_the_settings_shows_a_secret(tmp_path: Path, line: str):
    file = tmp_path / "crisis.toml"
    file.write_text(line, encoding="utf-8")
    (ran,) = crisis(["config", "show", "--config", str(file)], env={})
    assert ran.status == 2
    assert '"hidden"' not in ran.err
    assert "'hidden'" not in ran.err
    assert not ran.out
