"""The engines that a benchmark compares: each made ready once with our path around it and once without.

The models of the local ones are replicas of one shape (random weights: speed and memory do not depend on what they
say). An engine that cannot be had here is told with its reason.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from eval.bench import torch_replica
from eval.bench.pinning import Cores
from eval.bench.raw_http import Server, claude_says, ollama_says, openai_says
from eval.bench.server_process import OwnServer, Wanted
from eval.bench.stand_in import Question, words
from eval.bench.talk import Talk, talking
from models import replica
from models.catalogue import ModelCard
from serving.backend import BackendMisconfigured
from serving.backends import ollama_request, openai_request
from serving.backends.claude import payload
from serving.backends.claude_models import capabilities
from serving.backends.messages import chat
from serving.llama.settings import LlamaSettings
from serving.llama_server.binary import find_binary
from serving.settings import cache_folder
from serving.transformers import packages
from serving.transformers.settings import TransformersSettings

LOCAL = ("llama_cpp", "llama_server", "openai", "claude", "transformers")
"""The engines that can be measured on one machine. openai and claude speak with a llama-server in their interfaces."""

TOGETHER = 4
"""How many come at once where the slowest first token is compared."""

_KEY_VARIABLE = "BENCH_SERVER_KEY"
_CLAUDE = "claude-opus-4-5"  # of the models that take a beginning and do not think first
_PATIENCE_S = 300.0
_MERGED = 0.2  # of the pieces: these two hold the first ones back to see whether the beginning is repeated

Ask = Callable[[Sequence[Question]], dict[str, Any]]


class Absent(Exception):
    """This engine cannot be measured here; the message says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What every contender gets. card: whose shape the replicas have. tokens: of each reply. context: of each
    conversation. at_once: how many conversations there may be. gpu_layers: -1 for all. few_rounds: of those that
    are many times slower than the others, and of those that another engine stands behind."""

    card: ModelCard
    tokens: int = 32
    context: int = 2048
    at_once: int = 8
    gpu_layers: int = 0
    batch: int = 256
    cores: Cores = field(default_factory=Cores)
    llama_server: Path | None = None
    few_rounds: int = 2

    @property
    def places(self) -> int:
        """For conversations at once."""
        return max(self.at_once, TOGETHER)


@dataclass(frozen=True, slots=True)
class Contender:
    """One engine that is ready. host: the process with our path around it. bare: the same engine without. process_id:
    whose memory counts, None where it is elsewhere. keeps: whether it keeps the protocol evaluated for us. together:
    whether it is asked by several at once with nothing but that evaluated. least_pieces: of the tokens that were asked
    for; with fewer a run does not count. rounds: it takes part in so many at most."""

    name: str
    host: Talk
    bare: Ask
    process_id: int | None
    keeps: bool = True
    together: bool = True
    least_pieces: float = 0.9
    rounds: int = 1000

    @property
    def port(self) -> int:
        return int(self.host.first["port"])

    def memory_bytes(self) -> int | None:
        """Resident, of the engine's process."""
        return psutil.Process(self.process_id).memory_info().rss if self.process_id else None


class Stable:
    """Makes contenders; what it writes is gone with it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="crisis-bench-")))

    def __enter__(self) -> "Stable":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def local(self, name: str) -> Iterator[Contender]:
        """One of LOCAL. Raises Absent, or Broken."""
        made = {
            "llama_cpp": self._llama_cpp,
            "llama_server": self._llama_server,
            "openai": self._openai,
            "claude": self._claude,
            "transformers": self._transformers,
        }
        if name not in made:
            raise Absent(f"no such engine; known: {', '.join(LOCAL)}")
        with made[name]() as contender:
            yield contender

    @contextmanager
    def remote(self, name: str, url: str, served_as: str) -> Iterator[Contender]:
        """ "openai" or "ollama", at an address."""
        plan = self.plan
        entry = {"engine": name, "url": url, "served_as": served_as, "parallel": plan.at_once}
        if name == "openai":
            bare = _openai_asked(openai_request.OpenAISettings(url, served_as, context=plan.context))
        else:
            bare = _ollama_asked(ollama_request.OllamaSettings(url, served_as, context=plan.context))
        with self._hosted(entry) as host:
            yield Contender(f"{name} at {url}", host, bare, None, keeps=False, least_pieces=_MERGED)

    @contextmanager
    def _llama_cpp(self) -> Iterator[Contender]:
        plan = self.plan
        if importlib.util.find_spec("llama_cpp") is None:
            raise Absent("llama-cpp-python is not installed: pip install 'crisis-support[llama-cpp]'")
        threads = len(plan.cores.engine)
        settings = LlamaSettings(
            self.gguf(),
            context=plan.context,
            threads=threads,
            prompt_threads=threads,
            gpu_layers=plan.gpu_layers,
            batch=plan.batch,
        )
        entry: dict[str, Any] = {
            "engine": "llama_cpp",
            "path": str(self.gguf()),
            "gpu_layers": plan.gpu_layers,
            "batch": plan.batch,
        }
        entry |= {"threads": threads, "queue": plan.places, "stall_s": _PATIENCE_S}
        with self._hosted(entry) as host, self._without("serving.llama.worker", settings.to_json()) as bare:
            yield Contender("llama_cpp", host, _asking(bare), host.first["pid"])

    @contextmanager
    def _llama_server(self) -> Iterator[Contender]:
        """Two servers: the service starts its own."""
        plan, threads = self.plan, len(self.plan.cores.engine)
        with self._server() as bare:
            entry: dict[str, Any] = {
                "engine": "llama_server",
                "path": str(self.gguf()),
                "binary": str(self._binary()),
                "parallel": plan.places,
                "threads": threads,
                "gpu_layers": plan.gpu_layers,
                "batch": plan.batch,
                "stall_s": _PATIENCE_S,
            }
            with self._hosted(entry) as host:
                yield Contender("llama_server", host, bare.ask, host.first["pid"])

    @contextmanager
    def _openai(self) -> Iterator[Contender]:
        plan = self.plan
        with self._server() as server:
            ticket = server.ticket
            extra = {"ignore_eos": True, "cache_prompt": True}
            entry: dict[str, Any] = {
                "engine": "openai",
                "url": f"{ticket.url}/v1",
                "served_as": ticket.alias,
                "prefill": "assistant",
            }
            entry |= {"api_key_env": _KEY_VARIABLE, "parallel": plan.at_once, "extra": extra, "read_timeout_s": 60.0}
            bare = openai_request.OpenAISettings(
                f"{ticket.url}/v1",
                ticket.alias,
                key=ticket.key,
                context=plan.context,
                prefill="assistant",
                extra=extra,
            )
            with self._hosted(entry, {_KEY_VARIABLE: ticket.key}) as host:
                yield self._interface("openai (llama-server)", host, _openai_asked(bare), server)

    @contextmanager
    def _claude(self) -> Iterator[Contender]:
        with self._server() as server:
            ticket = server.ticket
            entry = {"engine": "claude", "enabled": True, "api_key": ticket.key, "base_url": ticket.url}
            with self._hosted(entry | {"model": _CLAUDE, "context": None}) as host:
                yield self._interface("claude (llama-server)", host, _claude_asked(ticket.url, ticket.key), server)

    def _interface(self, name: str, host: Talk, bare: Ask, server: OwnServer) -> Contender:
        """Of a server that is measured under its own name too."""
        return Contender(
            name,
            host,
            bare,
            server.pid,
            keeps=False,
            together=False,
            least_pieces=_MERGED,
            rounds=self.plan.few_rounds,
        )

    @contextmanager
    def _server(self) -> Iterator[OwnServer]:
        """A llama-server of our own, ready. Raises Absent, or Broken."""
        plan = self.plan
        wanted = Wanted(
            self._binary(), self.gguf(), plan.context, plan.at_once, plan.gpu_layers, plan.batch, plan.cores
        )
        server = OwnServer(wanted)
        try:
            server.start()
            yield server
        finally:
            server.close()

    def _binary(self) -> Path:
        try:
            return find_binary(self.plan.llama_server, cache_folder())
        except BackendMisconfigured as error:
            raise Absent(str(error)) from None

    @contextmanager
    def _transformers(self) -> Iterator[Contender]:
        plan = self.plan
        if (wrong := packages.problem("nf4")) is not None:
            raise Absent(wrong)
        if plan.card.shape is None or plan.card.shape.architecture not in torch_replica.CLASSES:
            raise Absent(f"no replica of {plan.card.name} can be made for transformers")
        folder = self.folder()
        threads = len(plan.cores.engine)
        settings = TransformersSettings(
            folder, context=plan.context, threads=threads, prompt_threads=threads, batch=plan.batch
        )
        entry: dict[str, Any] = {
            "engine": "transformers",
            "path": str(folder),
            "threads": threads,
            "queue": plan.at_once,
        }
        entry |= {"batch": plan.batch}
        with self._hosted(entry) as host, self._without("serving.transformers.worker", settings.to_json()) as bare:
            yield Contender(
                "transformers", host, _asking(bare), host.first["pid"], together=False, rounds=plan.few_rounds
            )

    def gguf(self) -> Path:
        """The replica for llama.cpp; written once."""
        path, card = self._folder / "replica.gguf", self.plan.card
        if not path.exists() and card.shape and card.quantisation:
            replica.write(path, card.shape, card.quantisation, words=words())
        return path

    def folder(self) -> Path:
        """The replica for transformers; written once."""
        path, card = self._folder / "replica", self.plan.card
        if not path.exists() and card.shape:
            torch_replica.write(path, card.shape, words=words())
        return path

    @contextmanager
    def _hosted(self, entry: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Iterator[Talk]:
        plan = self.plan
        common = {"name": "local", "model": "bench", "context": plan.context}
        card = {
            "name": "bench",
            "title": "a replica",
            "file": "replica.gguf",
            "status": "approved",
            "reason": "random weights that a benchmark made; no person is answered",
            "licence": "none",
            "system_role": True,
        }
        job = {
            "entry": {name: value for name, value in ({**common, **entry}).items() if value is not None},
            "card": card,
            "tokens": plan.tokens,
            "cores": asdict(plan.cores),
        }
        with talking("eval.bench.host", job, env) as host:
            yield host

    @contextmanager
    def _without(self, worker: str, settings: Mapping[str, Any]) -> Iterator[Talk]:
        job = {"worker": worker, "settings": settings, "cores": asdict(self.plan.cores)}
        with talking("eval.bench.bare_worker", job) as bare:
            yield bare


def _asking(bare: Talk) -> Ask:
    return lambda questions: bare.ask({"ask": [asdict(question) for question in questions]})


def _openai_asked(settings: openai_request.OpenAISettings) -> Ask:
    server = Server(settings.url, "/chat/completions", openai_says, settings.key)
    return lambda questions: server.ask([openai_request.body(one.request(), settings) for one in questions])


def _ollama_asked(settings: ollama_request.OllamaSettings) -> Ask:
    server = Server(settings.url, "/api/chat", ollama_says)

    def ask(questions: Sequence[Question]) -> dict[str, Any]:
        asked = [one.request() for one in questions]
        chats = [(chat(one, prefill=False), one.max_tokens) for one in asked]
        return server.ask([ollama_request.body(settings, words, max_tokens=most) for words, most in chats])

    return ask


def _claude_asked(url: str, key: str) -> Ask:
    server, takes = Server(url, "/v1/messages", claude_says, key), capabilities(_CLAUDE)
    return lambda questions: server.ask([payload(one.request(), _CLAUDE, takes) for one in questions])
