"""A llama-server of the benchmark's own, so that it can be asked with our path around it and without."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from eval.bench.pinning import Cores, pin
from eval.bench.raw_http import Server, llama_server_says
from eval.bench.stand_in import Question
from eval.bench.talk import Broken
from prompts.protocol import protocol_prefix, urgent_notes
from serving.backend import BackendError, BackendUnavailable
from serving.backends.wire import Wire
from serving.llama.settings import Sampling
from serving.llama_server.client import ServerClient, sampled
from serving.llama_server.process import ServerProcess, Ticket, command_line
from serving.llama_server.prompts import RemotePrompts
from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.llama_server.warming import Traffic, Warmer, warm_slots
from serving.worker.template import ChatTemplate

_T = TypeVar("_T")
_LOAD_S = 900.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """How it is run. context: tokens for each of its `parallel` conversations."""

    binary: Path
    model: Path
    context: int
    parallel: int
    gpu_layers: int
    batch: int
    cores: Cores


class OwnServer:
    """A started server. Used from the benchmark's main thread, which is not asynchronous."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.ticket = Ticket.draw(0)
        self._loop = asyncio.new_event_loop()  # in a thread, so that what the server prints is read all the time
        Thread(target=self._loop.run_forever, daemon=True).start()
        self._process: ServerProcess | None = None
        self._prompts: RemotePrompts | None = None
        self._states = Path(tempfile.mkdtemp(prefix="crisis-bench-states-"))
        self._client = ServerClient(Wire(self.ticket.url, who="llama-server", key=self.ticket.key))

    @property
    def pid(self) -> int:
        if self._process is None:
            raise Broken("llama-server is not there")
        return self._process.pid

    def start(self) -> None:
        """Returns when it has loaded its model. Raises Broken."""
        try:
            self._run(self._start())
        except BackendError as error:
            raise Broken(str(error)) from None

    def close(self) -> None:
        async def end() -> None:
            await self._client.aclose()
            if self._process is not None:
                await self._process.close(5.0)
            await asyncio.to_thread(shutil.rmtree, self._states, ignore_errors=True)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def ask(self, questions: Sequence[Question]) -> dict[str, Any]:
        """Without our path; wording and tokenising the prompts is not counted."""
        bodies = self._run(self._bodies(questions))
        return Server(self.ticket.url, "/completion", llama_server_says, self.ticket.key).ask(bodies)

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self) -> None:
        wanted = self._wanted
        launch = Launch(
            binary=wanted.binary,
            model_path=wanted.model,
            threads=len(wanted.cores.engine),
            prompt_threads=len(wanted.cores.engine),
            gpu_layers=wanted.gpu_layers,
            batch=wanted.batch,
        )
        settings = LlamaServerSettings(site=launch, context=wanted.context, parallel=wanted.parallel)
        pin(wanted.cores.engine)
        try:
            command = command_line(settings, launch, self.ticket, self._states)
            self._process = await ServerProcess.start(command, key=self.ticket.key)
        finally:
            pin(wanted.cores.others)
        await asyncio.wait_for(self._loaded(self._process), _LOAD_S)
        look = await self._client.look()
        template = ChatTemplate(look.template, bos=look.bos, eos=look.eos)
        self._prompts = RemotePrompts(
            template,
            lambda texts, control: self._client.tokens(texts, control=control),
            bos=await self._client.bos(),
            context=look.context,
            who="llama-server",
        )
        prefix = await self._prompts.prefix(protocol_prefix(), urgent_notes(language="en"))
        warmer = Warmer(self._client, prefix, self._states, _LOAD_S)
        await warm_slots(wanted.parallel, warmer.warm, Traffic())
        warmer.forget()

    async def _loaded(self, process: ServerProcess) -> None:
        while not process.ended.is_set():
            try:
                if await self._client.healthy():
                    return
            except BackendUnavailable:  # it does not listen yet
                pass
            await asyncio.sleep(0.1)
        raise Broken(process.reason)

    async def _bodies(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        return [await self._body(question) for question in questions]

    async def _body(self, question: Question) -> dict[str, Any]:
        if self._prompts is None:
            raise Broken("llama-server is not there")
        prompt = await self._prompts.build(question.job())
        body = {"prompt": prompt.tokens, "n_predict": question.max_tokens, "stream": True, "cache_prompt": True}
        return body | {"ignore_eos": True} | sampled(Sampling())
