"""The two servers of the load benchmark: this service with a scripted backend, and a bare FastAPI route that streams
the bytes of one of its answers, event by event. Run as `python -m eval.bench.load_peers service|bare PORT`."""

import asyncio
import sys
from collections.abc import AsyncIterator

import httpx
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from eval.bench.peers import service
from eval.bench.sample import MESSAGE
from serving.http.server import server_config


def bare() -> FastAPI:
    """One route that parses a JSON object and streams what the service streamed once."""
    app = FastAPI()
    events = asyncio.run(_one_answer())

    async def sent() -> AsyncIterator[bytes]:
        for event in events:
            yield event

    @app.post("/crisis/respond")
    async def respond(request: dict[str, object]) -> StreamingResponse:
        return StreamingResponse(sent(), media_type="text/event-stream")

    return app


async def _one_answer() -> list[bytes]:
    transport = httpx.ASGITransport(service())
    async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
        answer = await client.post("/crisis/respond", json={**MESSAGE, "stream": True})
    return [event + b"\n\n" for event in answer.content.split(b"\n\n") if event]


if __name__ == "__main__":
    app = service() if sys.argv[1] == "service" else bare()
    uvicorn.Server(server_config(app, port=int(sys.argv[2]), log_level="error")).run()
