"""A small HTTP client that costs little, so that it measures the server: keep-alive, blocking, one socket each."""

import http.client
import json
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def post_many(port: int, path: str, body: dict[str, Any], *, requests: int, connections: int) -> float:
    """Requests a second over so many keep-alive connections. Raises on any answer but 200."""
    data = json.dumps(body).encode()
    share = requests // connections
    with ThreadPoolExecutor(connections) as pool:
        began = time.perf_counter()
        list(pool.map(lambda _: _post_on_one(port, path, data, share), range(connections)))
        return share * connections / (time.perf_counter() - began)


def _post_on_one(port: int, path: str, data: bytes, count: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(count):
        connection.request("POST", path, data, {"content-type": "application/json"})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{path} answered {response.status}")
    connection.close()


def stream_events(port: int, body: dict[str, Any]) -> Generator[tuple[str, dict[str, Any], float], None, None]:
    """(event, data, seconds since the request) of one streamed answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    data = json.dumps({**body, "stream": True}).encode()
    began = time.perf_counter()
    connection.request("POST", "/crisis/respond", data, {"content-type": "application/json"})
    response = connection.getresponse()
    name = ""
    try:
        while line := response.readline():
            text = line.decode().strip()
            if text.startswith("event:"):
                name = text[6:].strip()
            elif text.startswith("data:"):
                yield name, json.loads(text[5:]), time.perf_counter() - began
    finally:
        connection.close()
