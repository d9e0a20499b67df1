"""The worker's main thread: answers one request after another and keeps the protocol evaluated when nobody waits."""

import os
import time
from dataclasses import asdict, dataclass

from serving.worker.desk import Desk, Outlet
from serving.worker.pieces import Pieces
from serving.worker.prompt import Prompt, PromptBuilder, PromptTooLong
from serving.worker.protocol import Finish, Info, Job, Message, Usage
from serving.worker.runtime import FATAL_EXIT, Aborted, EngineFault, Runtime
from serving.worker.template import TemplateRejected


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready: what generates, what words requests for it, what is to be known of it.

    stop: strings that end a reply of this model, beside those of a request.
    """

    runtime: Runtime
    prompts: PromptBuilder
    info: Info
    stop: tuple[str, ...] = ()


class Worker:
    """The loop that serves a loaded model."""

    def __init__(self, loaded: Loaded, desk: Desk, outlet: Outlet) -> None:
        self._runtime = loaded.runtime
        self._prompts = loaded.prompts
        self._stop = loaded.stop
        self._desk = desk
        self._outlet = outlet
        desk.runtime = self._runtime
        self._most_kept = self._runtime.context // 2  # the rest of the protocol counts as part of each conversation
        self._protocol: list[int] = []  # what is kept warm; the first _n_shared of it are in every request
        self._n_shared = 0
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
            self._n_shared = min(len(self._prompts.prefix(message["prefix"])), self._most_kept)
            self._protocol = self._prompts.prefix(message["prefix"], message["rest"])[: self._most_kept]
            self._told_warm = False
        elif message["op"] == "generate":
            self._answer(Job.from_message(message))

    def _cold(self) -> bool:
        """A long conversation may take the cells of what only some requests have: that alone is no reason to push it
        out again while nobody waits."""
        shared = self._protocol[: self._n_shared]
        return bool(shared) and not (self._told_warm and self._runtime.keeps(shared))

    def _warm(self) -> None:
        """Evaluate the protocol while nobody waits. A request that comes in between goes on where this stopped."""
        began = time.perf_counter()
        try:
            if not self._runtime.keeps(self._protocol):  # a request may have brought it
                reused = self._runtime.begin([*self._protocol, 0], room=0)
                self._runtime.evaluate(self._protocol[reused:])
                self._runtime.keep(len(self._protocol))
        except Aborted:
            return
        except EngineFault as fault:  # without a warm protocol replies begin later; without a worker there are none
            self._recover(fault)
        if not self._runtime.keeps(self._protocol):
            self._protocol = []  # it failed, or the model's state cannot be divided: not to be tried again
        self._told_warm = True
        warm_ms = round((time.perf_counter() - began) * 1000, 1)
        self._outlet.send({"e": "warm", "n_prefix": len(self._protocol), "ms": warm_ms})

    def _answer(self, job: Job) -> None:
        if not self._desk.take(job.id):
            self._done(job, Usage(finish="cancelled"))
            return
        try:
            prompt = self._prompts.build(job)
            if job.labels:
                self._classify(job, prompt)
            else:
                self._done(job, self._generate(job, prompt))
        except PromptTooLong:
            self._done(job, Usage(finish="refused"), "the conversation does not fit the model's context")
        except TemplateRejected:
            self._done(job, Usage(finish="refused"), "the model's chat template does not take this conversation")
        except EngineFault as fault:
            self._done(job, Usage(finish="error"), fault.reason)
            self._recover(fault)

    def _recover(self, fault: EngineFault) -> None:
        """Begin again with an empty cache, or in a new process where llama.cpp says that this one is beyond help."""
        self._runtime.forget()
        if fault.fatal:
            os._exit(FATAL_EXIT)

    def _generate(self, job: Job, prompt: Prompt) -> Usage:
        tally = Tally(prompt)
        finish: Finish
        try:
            self._evaluate(job, prompt, tally)
            finish = self._speak(job, prompt, tally)
        except Aborted:
            finish = "cancelled"
        return tally.usage(finish, evaluated=self._runtime.evaluated())

    def _classify(self, job: Job, prompt: Prompt) -> None:
        """How likely each label is to come next: the prompt is evaluated, and nothing is generated."""
        tally = Tally(prompt)
        try:
            self._evaluate(job, prompt, tally)
        except Aborted:
            self._done(job, tally.usage("cancelled", evaluated=self._runtime.evaluated()))
            return
        chances = self._runtime.chances(self._prompts.first_tokens(job.labels))
        usage = tally.usage("stop", evaluated=self._runtime.evaluated())
        self._done(job, usage, chances=dict(zip(job.labels, chances, strict=True)))

    def _evaluate(self, job: Job, prompt: Prompt, tally: "Tally") -> None:
        tally.n_cached = self._runtime.begin(prompt.tokens, room=job.max_tokens)
        progress: Message = {"e": "progress", "id": job.id}
        self._runtime.evaluate(prompt.tokens[tally.n_cached :], lambda: self._outlet.send(progress))
        self._runtime.keep(min(prompt.n_kept, self._most_kept))
        tally.prompted = time.perf_counter()

    def _speak(self, job: Job, prompt: Prompt, tally: "Tally") -> Finish:
        runtime, outlet = self._runtime, self._outlet
        pieces = Pieces((*self._stop, *job.stop), skip_space=not job.prefix or job.prefix[-1].isspace())
        finish: Finish = "length"
        with runtime.sampler(prompt.tokens[len(prompt.tokens) - prompt.n_reply :]) as sampler:
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

    def _done(self, job: Job, usage: Usage, reason: str = "", *, chances: dict[str, float] | None = None) -> None:
        told: Message = {"e": "done", "id": job.id, "reason": reason, "usage": asdict(usage)}
        self._outlet.send(told if chances is None else told | {"chances": chances})


class Tally:
    """Counts one request while it runs."""

    def __init__(self, prompt: Prompt) -> None:
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
