"""The llama.cpp process (`python -m serving.llama.worker`): one model, one reply at a time, supervised by engine.py.

Two threads: the main one loads, evaluates and generates; the other reads the pipe, so that a cancellation is heard
while the model is busy and the end of the service ends this process at once, whatever it is doing.
"""

import ctypes
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from serving.llama import cores, reasons
from serving.llama.pieces import Pieces
from serving.llama.protocol import Finish, Info, Job, Message, Usage, decode, encode
from serving.llama.reasons import LoadFailure
from serving.llama.settings import LlamaSettings

if TYPE_CHECKING:  # at run time llama_cpp is imported when loading, so that its absence is one clear reason
    from serving.llama.prompt import Prompt, PromptBuilder
    from serving.llama.runtime import Runtime

_PR_SET_PDEATHSIG = 1
_FATAL_EXIT = 70


class Outlet:
    """Frames to the service, whole ones, from either thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        data = encode(message)
        with self._lock:
            self._stream.write(data)
            self._stream.flush()


class Desk:
    """What is being worked on, and what was called off: shared by both threads."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.runtime: Runtime | None = None
        self._lock = threading.Lock()
        self._current = 0  # 0: idle or warming, which any request interrupts
        self._called_off: set[int] = set()

    def submit(self, message: Message) -> None:
        with self._lock:
            self.inbox.put(message)
            if self._current == 0:
                self._interrupt()

    def call_off(self, job_id: int) -> None:
        with self._lock:
            if job_id == self._current:
                self._interrupt()
            elif job_id > self._current:  # ids rise: anything lower is done
                self._called_off.add(job_id)

    def take(self, job_id: int) -> bool:
        """Begin with a job; False when it was called off while it waited."""
        with self._lock:
            self._current = job_id
            self._proceed()
            wanted = job_id not in self._called_off
            self._called_off.discard(job_id)
            return wanted

    def rest(self) -> bool:
        """No job in hand: True when idle work may begin."""
        with self._lock:
            self._current = 0
            self._proceed()
            return self.inbox.empty()

    def _interrupt(self) -> None:
        if self.runtime:
            self.runtime.abort()

    def _proceed(self) -> None:
        if self.runtime:
            self.runtime.proceed()


class Worker:
    """A loaded model and the loop that serves it."""

    def __init__(self, settings: LlamaSettings, desk: Desk, outlet: Outlet) -> None:
        self._settings = settings
        self._desk = desk
        self._outlet = outlet
        self._runtime, self._prompts, self.info = load(settings)
        desk.runtime = self._runtime
        self._protocol: list[int] = []
        self._told_warm = False

    def run(self) -> None:
        """Serve until the process is ended from outside."""
        while True:
            if self._desk.rest() and self._cold():
                self._warm()
            else:
                self._serve(self._desk.inbox.get())

    def _serve(self, message: Message) -> None:
        if message["op"] == "warm":
            self._protocol = self._prompts.prefix(message["prefix"])[: self._runtime.context // 2]
            self._told_warm = False
        elif message["op"] == "generate":
            self._answer(Job.from_message(message))

    def _cold(self) -> bool:
        return bool(self._protocol) and not (self._told_warm and self._runtime.keeps(self._protocol))

    def _warm(self) -> None:
        """Evaluate the protocol while nobody waits. A request that comes in between goes on where this stopped."""
        from serving.llama.runtime import Aborted

        began = time.perf_counter()
        try:
            if not self._runtime.keeps(self._protocol):  # a request may have brought it
                reused = self._runtime.begin([*self._protocol, 0], room=0)
                self._runtime.evaluate(self._protocol[reused:])
                self._runtime.keep(len(self._protocol))
        except Aborted:
            return
        if not self._runtime.keeps(self._protocol):
            self._protocol = []  # a model whose state cannot be divided: not to be tried again
        self._told_warm = True
        warm_ms = round((time.perf_counter() - began) * 1000, 1)
        self._outlet.send({"e": "warm", "n_prefix": len(self._protocol), "ms": warm_ms})

    def _answer(self, job: Job) -> None:
        from serving.llama.prompt import PromptTooLong
        from serving.llama.runtime import EngineFault
        from serving.llama.template import TemplateRejected

        if not self._desk.take(job.id):
            self._done(job, Usage(finish="cancelled"))
            return
        try:
            prompt = self._prompts.build(job)
            self._done(job, self._generate(job, prompt))
        except PromptTooLong:
            self._done(job, Usage(finish="refused"), "the conversation does not fit the model's context")
        except TemplateRejected:
            self._done(job, Usage(finish="refused"), "the model's chat template does not take this conversation")
        except EngineFault as fault:
            self._runtime.forget()
            self._done(job, Usage(finish="error"), "llama.cpp failed while evaluating")
            if fault.fatal:
                os._exit(_FATAL_EXIT)

    def _generate(self, job: Job, prompt: "Prompt") -> Usage:
        from serving.llama.runtime import Aborted

        tally = Tally(prompt)
        finish: Finish
        try:
            self._evaluate(job, prompt, tally)
            finish = self._speak(job, prompt, tally)
        except Aborted:
            finish = "cancelled"
        return tally.usage(finish, evaluated=self._runtime.evaluated())

    def _evaluate(self, job: Job, prompt: "Prompt", tally: "Tally") -> None:
        tally.n_cached = self._runtime.begin(prompt.tokens, room=job.max_tokens)
        progress: Message = {"e": "progress", "id": job.id}
        self._runtime.evaluate(prompt.tokens[tally.n_cached :], lambda: self._outlet.send(progress))
        self._runtime.keep(prompt.n_kept)
        tally.prompted = time.perf_counter()

    def _speak(self, job: Job, prompt: "Prompt", tally: "Tally") -> Finish:
        runtime, outlet = self._runtime, self._outlet
        pieces = Pieces((*self._settings.stop, *job.stop), skip_space=not job.prefix or job.prefix[-1].isspace())
        finish: Finish = "length"
        with runtime.sampler(self._settings.sampling, prompt.tokens[len(prompt.tokens) - prompt.n_reply :]) as sampler:
            while tally.n_generated < job.max_tokens:
                token = sampler.next()
                if runtime.ends(token):
                    finish = "stop"
                    break
                tally.n_generated += 1
                if text := pieces.feed(runtime.piece(token)):
                    outlet.send({"e": "t", "id": job.id, "s": text})
                if pieces.stopped:
                    finish = "stop"
                    break
                runtime.evaluate([token])
        if text := pieces.flush():
            outlet.send({"e": "t", "id": job.id, "s": text})
        return finish

    def _done(self, job: Job, usage: Usage, reason: str = "") -> None:
        self._outlet.send({"e": "done", "id": job.id, "reason": reason, "usage": asdict(usage)})


class Tally:
    """Counts one request while it runs."""

    def __init__(self, prompt: "Prompt") -> None:
        self._prompt = prompt
        self._began = time.perf_counter()
        self.prompted: float | None = None
        self.n_cached = 0
        self.n_generated = 0

    def usage(self, finish: Finish, *, evaluated: int) -> Usage:
        now = time.perf_counter()
        n_prompt = len(self._prompt.tokens)
        return Usage(
            n_prompt=n_prompt,
            n_cached=self.n_cached,
            n_evaluated=min(evaluated, n_prompt) - self.n_cached,
            n_generated=self.n_generated,
            n_dropped=self._prompt.n_dropped,
            message_cut=self._prompt.message_cut,
            prompt_ms=round(((self.prompted or now) - self._began) * 1000, 2),
            generate_ms=round((now - (self.prompted or now)) * 1000, 2),
            finish=finish,
        )


def load(settings: LlamaSettings) -> "tuple[Runtime, PromptBuilder, Info]":
    """The model, the builder of its prompts, and what is to be known of it. Raises LoadFailure with a fixed reason."""
    check_file(settings.model_path)
    try:
        from serving.llama.prompt import PromptBuilder
        from serving.llama.runtime import Runtime, supports_gpu
        from serving.llama.template import ChatTemplate, TemplateRejected
    except ImportError as exc:
        raise LoadFailure(reasons.NOT_INSTALLED) from exc
    limit_memory(settings.memory_limit_bytes)
    free = cores.available()
    threads = cores.plan(free, generate=settings.threads, prompt=settings.prompt_threads)
    try:
        runtime = Runtime(settings, threads)
        source = runtime.metadata("tokenizer.chat_template")
        if source is None:
            raise LoadFailure(reasons.NO_TEMPLATE)
        bos, eos = runtime.bos_text(), runtime.eos_text()
        template = ChatTemplate(source, bos=bos, eos=eos, system_role=settings.system_role)
    except MemoryError as exc:
        raise LoadFailure(reasons.NO_MEMORY) from exc
    except TemplateRejected as exc:
        raise LoadFailure(reasons.BAD_TEMPLATE) from exc
    info = Info(
        description=runtime.description(),
        context=runtime.context,
        context_trained=runtime.context_trained,
        threads=threads.generate,
        prompt_threads=threads.prompt,
        gpu=supports_gpu(),
        system_role=template.system_role,
        load_ms=round(runtime.load_ms, 1),
        notes=tuple(_notes(settings, runtime, free, gpu=supports_gpu())),
    )
    return runtime, PromptBuilder(template, runtime.tokenise, bos=runtime.bos, context=runtime.context), info


def _notes(settings: LlamaSettings, runtime: "Runtime", free: int, *, gpu: bool) -> Iterator[str]:
    if settings.context > runtime.context_trained:
        yield f"context {settings.context} is more than the model's {runtime.context_trained}: using the latter"
    if max(settings.threads, settings.prompt_threads) > free:
        yield f"more threads were asked for than the {free} cores this process may use: using {free}"
    if settings.gpu_layers and not gpu:
        yield "gpu_layers is set, but this build of llama.cpp has no GPU support: everything runs on the CPU"


def check_file(path: Path) -> None:
    """What can be told before llama.cpp is asked. Raises LoadFailure."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError as exc:
        raise LoadFailure(reasons.MISSING) from exc
    except OSError as exc:
        raise LoadFailure(reasons.UNREADABLE) from exc
    if magic != b"GGUF":
        raise LoadFailure(reasons.NOT_GGUF)


def limit_memory(limit: int | None) -> None:
    """Bound the address space, so that a model too large fails here and not by the system's choice of victim."""
    if limit is None:
        return
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def die_with_parent(parent: int) -> None:
    """Be killed by the kernel when the service dies, even while stopped. Elsewhere the closed pipe does it."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)


def listen(stream: BinaryIO, desk: Desk, outlet: Outlet) -> None:
    """Read frames until the service closes the pipe, which is the end of this process."""
    for line in stream:
        message = decode(line)
        if message["op"] == "cancel":
            desk.call_off(message["id"])
        elif message["op"] == "ping":
            outlet.send({"e": "pong"})
        else:
            desk.submit(message)
    os._exit(0)


def private_output() -> BinaryIO:
    """The pipe to the service, moved away from descriptor 1, so that a stray print cannot break a frame."""
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb")


def main() -> None:
    outlet = Outlet(private_output())
    line = sys.stdin.buffer.readline()
    if not line:  # the service changed its mind
        return
    first = decode(line)
    die_with_parent(first["parent"])
    desk = Desk()
    threading.Thread(target=listen, args=(sys.stdin.buffer, desk, outlet), daemon=True).start()
    try:
        worker = Worker(LlamaSettings.from_json(first["settings"]), desk, outlet)
        outlet.send({"e": "ready", "info": asdict(worker.info)})
        worker.run()
    except LoadFailure as failure:
        outlet.send({"e": "failed", "reason": str(failure)})
    except Exception as fault:  # noqa: BLE001 - the process's edge: a traceback could show a person's text
        outlet.send({"e": "failed", "reason": reasons.of_fault(fault)})
    finally:
        os._exit(_FATAL_EXIT)  # at once: the other thread sits in a read that an orderly end would wait for


if __name__ == "__main__":
    main()
