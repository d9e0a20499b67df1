"""A Hugging Face hub on loopback: HEAD and GET of /OWNER/NAME/resolve/REVISION/FILE, as huggingface_hub 2 asks them.

Written from the requests that the installed huggingface_hub makes (file_download.py: get_hf_file_metadata, http_get).
The repository's name says how it behaves; a file with the name `big` is long enough for a download to be broken off.
"""

import asyncio
import hashlib
import json
import random
import struct
from typing import Any

from peers.wire import Exchange, serve

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BIG_BYTES, SMALL_BYTES = 24_000_000, 60_000
_HALF = 15_000_000  # the client writes ten million bytes at a time


def content(name: str) -> bytes:
    """The bytes of a file, always the same for a name."""
    size = BIG_BYTES if "big" in name else SMALL_BYTES
    body = random.Random(name).randbytes(size - len(_header(0)))
    whole = _header(len(body)) + body
    if "cut-there" in name:
        return whole[:-100]
    return b"nope" + whole[4:] if "not-gguf" in name else whole


def _header(size: int) -> bytes:
    """Of a GGUF file with one tensor of so many bytes, as long as the format's alignment wants it."""
    one_tensor = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
    named = struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, size, 24, 0)  # 24: whole numbers of a byte each
    return (one_tensor + named).ljust(64, b"\0")


class Hub:
    """What was asked, and what was done once only."""

    asked: list[dict[str, Any]] = []  # noqa: RUF012 - one process, one list
    done: set[str] = set()  # noqa: RUF012


async def handle(exchange: Exchange) -> None:
    if exchange.path == "/shapes":
        body = json.dumps({"asked": Hub.asked}).encode()
        await exchange.raw(_head(200, {"Content-Type": "application/json", "Content-Length": len(body)}) + body)
        return
    Hub.asked.append(
        {
            "scenario": exchange.path.split("/")[2],
            "method": exchange.method,
            "path": exchange.path,
            "range": exchange.headers.get("range"),
            "host": exchange.headers.get("host"),
            "authorized": "authorization" in exchange.headers,
        }
    )
    _, _, scenario, *rest = exchange.path.split("/")
    await _answer(exchange, scenario, rest[-1])


async def _answer(exchange: Exchange, scenario: str, file: str) -> None:
    refused = {
        "gated": (403, {"X-Error-Code": "GatedRepo"}),
        "private": (401, {"X-Error-Code": "RepoNotFound"}),
        "forbidden": (403, {}),
        "no-file": (404, {"X-Error-Code": "EntryNotFound"}),
        "no-commit": (404, {"X-Error-Code": "RevisionNotFound"}),
        "down": (503, {}),
    }
    if scenario in refused:
        status, headers = refused[scenario]
        await exchange.raw(_head(status, {**headers, "Content-Length": 0}))
    elif exchange.path.startswith("/cdn/"):
        await _bytes(exchange, scenario, file)
    elif scenario == "redirect":
        port = exchange.headers["host"].rpartition(":")[2]
        location = f"http://localhost:{port}/cdn/{scenario}/{file}"  # another host, as the client sees it
        await exchange.raw(_head(302, {**_told(scenario, file), "Location": location, "Content-Length": 0}))
    elif exchange.method == "HEAD":
        size = len(content(file))
        await exchange.raw(_head(200, {**_told(scenario, file), "Content-Length": size}))
    else:
        await _bytes(exchange, scenario, file)


def _told(scenario: str, file: str) -> dict[str, Any]:
    """The hub's own headers about a file."""
    body = content(file)
    digest = hashlib.sha256(b"other" if scenario == "wrong-hash" else body).hexdigest()
    size = {"wrong-size": len(body) + 5, "huge": 10**15}.get(scenario, len(body))
    if scenario == "not-a-hub":
        return {"ETag": f'"{digest}"'}
    if scenario == "no-hash":
        return {"X-Repo-Commit": COMMIT, "ETag": '"0123456789012345678901234567890123456789"'}
    linked = {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": size}
    return {"X-Repo-Commit": COMMIT, "ETag": '"pointer"', **linked}


async def _bytes(exchange: Exchange, scenario: str, file: str) -> None:
    body, asked = content(file), exchange.headers.get("range", "")
    start = 0 if scenario == "no-range" else int(asked.removeprefix("bytes=").rstrip("-") or 0)
    status = 206 if asked and scenario != "no-range" else 200
    headers: dict[str, Any] = {"Content-Length": len(body) - start}
    if status == 206:
        headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
    first = f"{scenario}/{file}" not in Hub.done
    Hub.done.add(f"{scenario}/{file}")
    await exchange.raw(_head(status, headers))
    if first and scenario in ("broken", "stalls", "watched", "no-range"):
        await exchange.raw(body[:_HALF])
        if scenario in ("stalls", "watched"):
            await exchange.wait_for_hangup()
        exchange.reset()
        return
    await exchange.raw(body[start:])
    await asyncio.sleep(0)


def _head(status: int, headers: dict[str, Any]) -> bytes:
    lines = [f"HTTP/1.1 {status} {'OK' if status < 300 else 'Other'}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


if __name__ == "__main__":
    serve(handle)
