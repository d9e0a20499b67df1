"""The two servers of the throughput benchmark: this service with a scripted backend, and a bare FastAPI route that
returns the same bytes. Run as `python -m eval.bench.peers service|bare PORT`."""

import json
import sys
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Response

from eval.bench.sample import MESSAGE, SCRIPT
from serving.backends.scripted import ScriptedBackend
from serving.http.app import create_app
from serving.http.server import server_config
from serving.http.service import HttpOptions
from serving.lineup import Lineup
from serving.service import Service
from serving.settings import Settings
from serving.wiring import build_responder


def service() -> FastAPI:
    """The whole service; the backend forgets its requests so that memory stays flat."""
    backend = ScriptedBackend(SCRIPT, requests=Forgetful())
    return create_app(Service(Lineup(build_responder(Settings(), [backend]))), HttpOptions(max_concurrent=1000))


class Forgetful(list[Any]):
    def append(self, item: Any) -> None:
        """Nothing is kept."""


def bare() -> FastAPI:
    """One route that parses a JSON object and returns an answer's bytes, as the service wrote them once."""
    app = FastAPI()
    body = _one_answer()

    @app.post("/crisis/respond")
    async def respond(request: dict[str, Any]) -> Response:
        return Response(body, media_type="application/json")

    return app


def _one_answer() -> bytes:
    import asyncio

    async def ask() -> bytes:
        transport = httpx.ASGITransport(service())
        async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
            answer = await client.post("/crisis/respond", json=MESSAGE)
        return json.dumps(answer.json(), ensure_ascii=False, separators=(",", ":")).encode()

    return asyncio.run(ask())


if __name__ == "__main__":
    app = service() if sys.argv[1] == "service" else bare()
    uvicorn.Server(server_config(app, port=int(sys.argv[2]), log_level="error")).run()
