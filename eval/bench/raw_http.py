"""A server asked without our path: the body is made before, sent as it is, and the pieces that come are counted."""

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from eval.bench.talk import LIMIT_S, Broken

Saying = Callable[[bytes], bool]
"""Whether a line of an answer carries text of the reply."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server takes requests. path: after the address, "/completion"."""

    url: str
    path: str
    says: Saying
    key: str = ""

    def ask(self, bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """All at once. Seconds from the first request to the end of the last, and what was heard of each."""
        sent = [json.dumps(body, separators=(",", ":")).encode() for body in bodies]
        with ThreadPoolExecutor(len(sent)) as pool:
            began = time.perf_counter()
            heard = list(pool.map(self._one, sent))
            return {"wall_s": time.perf_counter() - began, "heard": heard}

    def _one(self, body: bytes) -> dict[str, Any]:
        parts = urlsplit(self.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=LIMIT_S)
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {self.key}"} if self.key else {})
        began, first_s, pieces = time.perf_counter(), 0.0, 0
        try:
            connection.request("POST", f"{parts.path}{self.path}", body, headers)
            response = connection.getresponse()
            if response.status != 200:
                raise Broken(f"{self.url}{self.path} answered {response.status}")
            while line := response.readline():
                if self.says(line):
                    first_s = first_s or time.perf_counter() - began
                    pieces += 1
        finally:
            connection.close()
        return {"first_s": first_s, "total_s": time.perf_counter() - began, "pieces": pieces}


def llama_server_says(line: bytes) -> bool:
    """llama.cpp's own interface: every event but the last carries a piece."""
    return line.startswith(b"data:") and b'"stop":false' in line


def openai_says(line: bytes) -> bool:
    """OpenAI's: a delta with content."""
    if not line.startswith(b"data:") or b"[DONE]" in line:
        return False
    choices = json.loads(line[5:]).get("choices") or [{}]
    return bool(choices[0].get("delta", {}).get("content"))


def ollama_says(line: bytes) -> bool:
    """Ollama's: a message with content."""
    return bool(line.strip()) and bool(json.loads(line).get("message", {}).get("content"))


def claude_says(line: bytes) -> bool:
    """Anthropic's: a delta of text."""
    return line.startswith(b"data:") and b"text_delta" in line
