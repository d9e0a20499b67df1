"""The process that holds one engine and the whole service around it: `python -m eval.bench.host`.

It takes one job as a line of JSON, then commands, one a line, and answers each with a line:

{"entry", "card", "tokens", "cores"}   ->  {"port", "pid", "notes"} once the engine is ready and warm, or {"failed"}
{"ask": [Question…], "until_first"}    ->  {"wall_s", "heard": […]}   all at once, the engine without the path;
                                            until_first: all are left once each has begun
{"warm": true}                         ->  {}   once the protocol and the most urgent notes are evaluated again
{"heard": true}                        ->  {"heard": […]}   what the path's replies took, since the last time

It ends with its input.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

import uvicorn
from pydantic import TypeAdapter

from eval.bench.pinning import pin
from eval.bench.stand_in import Barrier, Question, StandIn, listen
from models.catalogue import Catalogue, ModelCard
from prompts.protocol import protocol_prefix, urgent_notes
from serving.backend import Backend
from serving.http.app import create_app
from serving.http.server import server_config
from serving.http.service import HttpOptions
from serving.lineup import Lineup
from serving.links import make_link
from serving.service import Service
from serving.settings import ChainEntry, ReplySettings, Settings
from serving.supervision import Engine
from serving.wiring import build_responder

_READY_S = 900.0
_PATIENCE_S = 60.0
_WARM = (protocol_prefix(), urgent_notes(language="en"))


class Host:
    """One engine, started, with its service."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        card = ModelCard(**{name: job["card"][name] for name in job["card"] if name in _CARD_FIELDS})
        entry: ChainEntry = TypeAdapter[ChainEntry](ChainEntry).validate_python(job["entry"])
        reply = ReplySettings(
            first_text_s=_PATIENCE_S, between_s=_PATIENCE_S, total_s=2 * _PATIENCE_S, max_tokens_chat=job["tokens"]
        )
        settings = Settings(chain=(entry,), reply=reply)
        link = make_link(entry, settings, Catalogue([card]))
        if link.backend is None:
            raise SystemExit(link.status.reason)
        self.backend: Backend = link.engine or link.backend
        self.engine: Engine | None = link.engine
        self._keeps_prefix = entry.engine in ("llama_cpp", "llama_server", "transformers")
        self.notes = link.status.notes
        self.stand_in = StandIn(self.backend)
        self.service = Service(Lineup(build_responder(settings, [self.stand_in])))

    async def start(self) -> None:
        """Returns when it is ready and warm. Raises BackendUnavailable."""
        if self.engine is not None:
            await self.engine.warm(*_WARM)
            await self.engine.start()
            await self.engine.wait_ready(_READY_S)
            await self._warmed(self.engine)

    async def close(self) -> None:
        if self.engine is not None:
            await self.engine.close()

    async def obey(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if "ask" in command:
            began = time.perf_counter()
            begun = Barrier(len(command["ask"])) if command.get("until_first") else None
            heard = await asyncio.gather(*(listen(self.backend, Question(**one), begun) for one in command["ask"]))
            return {"wall_s": time.perf_counter() - began, "heard": heard}
        if "warm" in command and self.engine is not None:
            await self.engine.warm(*_WARM)
            await self._warmed(self.engine)
            return {}
        heard_before, self.stand_in.heard = self.stand_in.heard, []
        return {"heard": [asdict(one) for one in heard_before]}

    async def _warmed(self, engine: Engine) -> None:
        if self._keeps_prefix:  # what another machine keeps is its own affair
            await asyncio.wait_for(engine.warmed.wait(), _READY_S)


_CARD_FIELDS = {field.name for field in fields(ModelCard)}


async def run(job: Mapping[str, Any]) -> None:
    """Start, say so, obey until the input ends, stop."""
    host = Host(job)
    pin(tuple(job["cores"]["engine"]))  # the engine's process is started from here
    try:
        await host.start()
        pin(tuple(job["cores"]["others"]))
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(server_config(create_app(host.service, HttpOptions()), log_level="error"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        say({"port": listener.getsockname()[1], "pid": getattr(host.engine, "pid", None), "notes": host.notes})
        while line := await asyncio.to_thread(sys.stdin.readline):
            say(await host.obey(json.loads(line)))
        server.should_exit = True
        await serving
    finally:
        await host.close()


def say(message: Mapping[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    try:
        asyncio.run(run(json.loads(sys.stdin.readline())))
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - told to who started it
        with suppress(BrokenPipeError):
            say({"failed": f"{type(fault).__name__}: {fault}"})


if __name__ == "__main__":
    main()
