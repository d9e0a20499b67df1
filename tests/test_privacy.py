"""Nothing that a person wrote is anywhere but in their answer: not in a log at DEBUG, a metric, an error or a file.

A real service in a real process; every route and every refusal is sent words that exist nowhere else.
"""

import hashlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from running import Running, service

KEY = "caller-key-Vx91qPz"
SECRET = "sk-ant-hidden-Wm44tRk"
CONFIG = f"""
log_level = "debug"
[server]
api_keys = ["{hashlib.sha256(KEY.encode()).hexdigest()}"]
max_body_bytes = 20000
[reply]
default_country = "US"
total_s = 4.0
"""
# Turned on, and nobody listens there: every answer goes through a backend that fails, and past it.
CLAUDE = """
[[chain]]
engine = "claude"
model = "claude-haiku-4-5"
enabled = true
base_url = "http://127.0.0.1:9"
"""
ENGINE = """
[[chain]]
engine = "llama_cpp"
name = "demo"
model = "smollm2-135m-instruct-q4_1"
context = 2048
"""
HEADERS = {"Authorization": f"Bearer {KEY}"}


@dataclass
class Words:
    """Words that exist nowhere else, so that finding one names the place it came from."""

    given: list[str] = field(default_factory=list)

    def __call__(self, place: str) -> str:
        word = f"quaxolot{len(self.given)}{place}"
        self.given.append(word)
        return word

    def leaked(self, text: str) -> list[str]:
        return [word for word in (*self.given, KEY, SECRET) if word.lower() in text.lower()]


@dataclass
class Watched:
    """A running service whose every written file lies below `home`."""

    running: Running
    words: Words
    home: Path
    refusals: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        sent = {"content": body} if isinstance(body, str | bytes) else {"json": body}
        return httpx.post(f"{self.running.url}{path}", **sent, **{"headers": HEADERS, "timeout": 60, **more})

    def refused(self, status: int, answer: httpx.Response) -> None:
        assert answer.status_code == status, answer.text
        assert answer.json()["resources"]
        self.refusals.append(answer.text + str(answer.headers))

    def wait_for_the_engine(self) -> None:
        ends = time.monotonic() + 60
        while httpx.get(f"{self.running.url}/readyz", headers=HEADERS).json()["chain"][0]["state"] != "ready":
            assert time.monotonic() < ends
            time.sleep(0.1)

    def told(self) -> str:
        """What any operator or scraper can read."""
        pages = [
            httpx.get(f"{self.running.url}{path}", headers=HEADERS) for path in ("/metrics", "/readyz", "/healthz")
        ]
        return "".join(page.raise_for_status().text for page in pages)


def start(home: Path, config: str) -> Iterator[Watched]:
    """The service with its own HOME, XDG folders and TMPDIR, and with every switch on that makes libraries talk."""
    folders = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR")
    env = {name: str(home / name.lower()) for name in folders}
    for folder in env.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    env |= {"HOME": str(home), "CRISIS_ANTHROPIC_API_KEY": SECRET, "ANTHROPIC_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}
    settings = home.parent / "settings"
    settings.mkdir(exist_ok=True)
    with service(settings, config, env=env) as running:
        yield Watched(running, Words(), home)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both services keep what they keep: the compiled rules of the first spare the second a few seconds."""
    return tmp_path_factory.mktemp("privacy") / "home"


@pytest.fixture(scope="module")
def watched(home: Path) -> Iterator[Watched]:
    yield from start(home, CONFIG + CLAUDE)


def say(word: str) -> str:
    return f"I want to end my life and {word} is why"


def speak(watched: Watched) -> None:
    """Every route that takes words, as it should be used."""
    words = watched.words
    respond = {
        "messages": [
            {"role": "user", "content": say(words("turn"))},
            {"role": "assistant", "content": f"I hear {words('reply')}."},
            {"role": "user", "content": say(words("message"))},
        ],
        "country": words("country"),
        "language": words("language"),
        "conversation_id": words("conversation"),
        "context": [{"id": words("passage"), "text": say(words("context"))}],
        words("field"): words("value"),
    }
    answer = watched.post("/crisis/respond", respond)
    watched.replies.append(answer.raise_for_status().json()["reply"])
    assert "claude-unavailable" in answer.json()["degraded"]
    events = watched.post("/crisis/respond", {"message": say(words("stream")), "stream": True})
    assert "event: done" in events.raise_for_status().text
    for body in ({"text": say(words("assess"))}, {"messages": respond["messages"]}):
        assert watched.post("/crisis/assess", body).raise_for_status().json()["crisis"]
    filtered = {"user": say(words("user")), "reply": f"Then do it, {words('harm')}. Call 1-800-555-0100."}
    assert watched.post("/crisis/filter", filtered).raise_for_status().json()["verdict"] != "pass"
    chat = {
        "messages": [{"role": "system", "content": words("system")}, {"role": "user", "content": say(words("chat"))}]
    }
    for stream in (False, True):
        watched.post("/v1/chat/completions", {**chat, "stream": stream, "user": words("account")}).raise_for_status()
    watched.post(
        "/", f"message={words('form')}", headers={**HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
    )
    httpx.get(f"{watched.running.url}/crisis/resources?country={words('query')}", headers=HEADERS).raise_for_status()


def stumble(watched: Watched) -> None:
    """Every way of being refused."""
    words, url = watched.words, watched.running.url
    for path in ("/crisis/respond", "/crisis/assess", "/crisis/filter", "/v1/chat/completions"):
        watched.refused(400, watched.post(path, f'{{"message": "{words("malformed")}"'))
        watched.refused(413, watched.post(path, {"message": words("long") * 2000}))
        watched.refused(
            422, watched.post(path, {"messages": [{"role": words("role"), "content": 5}], "text": [words("type")]})
        )
        watched.refused(401, watched.post(path, {"message": words("nokey")}, headers={"X-API-Key": words("wrongkey")}))
    watched.refused(400, watched.post("/crisis/respond", b"\xff\xfe" + words("bytes").encode()))
    watched.refused(404, watched.post(f"/crisis/{words('path')}", {"message": words("nowhere")}))
    watched.refused(405, httpx.get(f"{url}/crisis/respond?text={words('method')}", headers=HEADERS))
    raw(url, f"POST /crisis/respond {words('protocol')}\r\n{words('garbage')}\r\n\r\n")
    body = json.dumps({"message": say(words("left")), "stream": True})
    head = f"POST /crisis/respond HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Length: "
    raw(url, f"{head}{len(body)}\r\n\r\n{body}")
    raw(url, f"{head}{len(body) + 9}\r\n\r\n{body}")


def raw(url: str, sent: str) -> None:
    """Bytes that no client library would send, and a caller who leaves at once."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=5) as connection:
        connection.sendall(sent.encode())


def files(folder: Path) -> dict[str, str]:
    """Every file below a folder, and what is in it as far as it is text."""
    return {str(path): path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}


def assert_silent(watched: Watched, printed: str) -> None:
    """Neither words nor keys in what was printed, shown or kept."""
    assert watched.words.leaked(printed) == []
    for reply in watched.replies:
        assert all(sentence not in printed for sentence in reply.split(". ") if len(sentence) > 20)
    for name, content in files(watched.home).items():
        assert watched.words.leaked(name + content) == [], name


def test_no_words_and_no_keys_are_left_behind_by_any_route_or_error(watched: Watched) -> None:
    speak(watched)
    stumble(watched)
    assert watched.words.leaked(watched.told()) == []
    assert watched.words.leaked("".join(watched.refusals)) == []
    watched.running.process.send_signal(signal.SIGTERM)
    watched.running.process.wait(20)
    printed = "".join(watched.running.lines)
    assert "DEBUG" in printed, "the log was to be at its most talkative"
    assert "/crisis/respond" in printed
    assert_silent(watched, printed)


@pytest.mark.engine
def test_an_engine_and_its_death_leave_nothing_behind(home: Path) -> None:
    config = (
        CONFIG.replace("[server]", "allow_unapproved = true\n[server]") + "first_text_s = 4.0\nmax_tokens_chat = 24\n"
    )
    for watched in start(home, config + ENGINE):
        watched.wait_for_the_engine()
        answer = watched.post("/crisis/respond", {"message": say(watched.words("first"))})
        watched.replies.append(answer.raise_for_status().json()["reply"])
        (worker,) = watched.running.workers()
        message = {"message": say(watched.words("dying")), "stream": True}
        with httpx.stream("POST", f"{watched.running.url}/crisis/respond", json=message, headers=HEADERS) as events:
            for line in events.iter_lines():
                if "sentence" in line and worker.is_running():
                    os.kill(worker.pid, signal.SIGABRT)
        assert watched.words.leaked(watched.told()) == []
    assert_silent(watched, "".join(watched.running.lines))
