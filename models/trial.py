"""The process in which llama.cpp is tried: it takes one job as JSON on standard input and answers with one on output.

{"path", "runs": [Run as a table…], "simulate": true}   what it would allocate, without allocating: milliseconds
{"path", "runs": [one], "threads", "prompt_threads", "gpu_layers", "prompt", "generate"}   what it takes, how fast it is

A process of its own, because llama.cpp may run out of memory or abort, and must not take the caller with it. Answers:
{"reports": [Reported…]} or {"report", "load_ms", "first_token_ms", "prompt_tokens_per_s", "tokens_per_s", "rss_bytes",
"anonymous_bytes", "gpu"}; {"failed": reason} where the model cannot be loaded.
"""

import ctypes
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as c

from models import reported
from models.memory import Run

_KV_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "bf16": 30}
_ALL_LAYERS = 0x7FFFFFFF


class Engine:
    """llama.cpp with one model loaded, and what it logged."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.lines: list[str] = []
        self._listener = c.llama_log_callback(self._listen)  # kept: C holds only its address
        c.llama_log_set(self._listener, ctypes.c_void_p())
        c.llama_backend_init()
        began = time.perf_counter()
        self.model = self._load(job)
        self.load_ms = (time.perf_counter() - began) * 1000

    def context(self, run: Run, threads: int = 1, prompt_threads: int = 1) -> Any:
        """A context as this run wants it; None if llama.cpp would not make one."""
        params = c.llama_context_default_params()
        params.n_ctx = run.context * run.streams
        params.n_batch = params.n_ubatch = run.batch
        params.n_seq_max = run.sequences * run.streams
        params.kv_unified = run.streams == 1
        params.swa_full = run.full_window
        params.flash_attn_type = -1 if run.flash else 0
        params.type_k = params.type_v = _KV_TYPES[run.kv]
        params.n_outputs_max = run.outputs
        params.n_threads, params.n_threads_batch = threads, prompt_threads
        return c.llama_init_from_model(self.model, params)

    def _load(self, job: Mapping[str, Any]) -> Any:
        params = c.llama_model_default_params()
        layers = job.get("gpu_layers", 0)
        params.n_gpu_layers = _ALL_LAYERS if layers is None else layers
        if job.get("simulate"):
            params.no_alloc, params.load_mode = True, c.LLAMA_LOAD_MODE_NONE
        return c.llama_model_load_from_file(job["path"].encode(), params)

    def _listen(self, _level: int, text: bytes, _data: object) -> None:
        self.lines.append(text.decode("utf-8", "replace"))


def simulate(engine: Engine, runs: list[Run]) -> dict[str, Any]:
    """What each run would take, as llama.cpp reckons it."""
    loaded, reports = list(engine.lines), []
    for run in runs:
        engine.lines.clear()
        context = engine.context(run)
        if not context:
            return {"failed": f"no context for {run}"}
        c.llama_free(context)
        reports.append(asdict(reported.read([*loaded, *engine.lines])))
    return {"reports": reports}


def measure(engine: Engine, run: Run, job: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluates a prompt, then lets every stream generate; the tokens do not matter."""
    context = engine.context(run, job["threads"], job["prompt_threads"])
    if not context:
        return {"failed": "llama.cpp could not make a context with these settings"}
    vocabulary = c.llama_vocab_n_tokens(c.llama_model_get_vocab(engine.model))
    room = run.context - job["generate"] - 1
    prompt = [7 + number % (vocabulary - 7) for number in range(min(job["prompt"], room))]
    _decode(
        context, run.batch, [(0, position, token) for position, token in enumerate(prompt[: run.batch])]
    )  # warms up
    c.llama_memory_clear(c.llama_get_memory(context), True)
    began = time.perf_counter()
    _decode(context, run.batch, [(0, position, token) for position, token in enumerate(prompt)])
    first_s = time.perf_counter() - began
    began = time.perf_counter()
    for step in range(job["generate"]):
        rows = [(stream, (len(prompt) if stream == 0 else 0) + step, 7 + step) for stream in range(run.streams)]
        _decode(context, run.batch, rows)
    generated_s = time.perf_counter() - began
    resident, anonymous = memory_in_use()
    return {
        "report": asdict(reported.read(engine.lines)),
        "load_ms": engine.load_ms,
        "prompt_tokens": len(prompt),
        "first_token_ms": first_s * 1000,
        "prompt_tokens_per_s": len(prompt) / first_s,
        "tokens_per_s": job["generate"] * run.streams / generated_s,
        "rss_bytes": resident,
        "anonymous_bytes": anonymous,
        "gpu": bool(c.llama_supports_gpu_offload()),
    }


def memory_in_use() -> tuple[int, int]:
    """This process's resident memory and the part of it that no file stands behind; (0, 0) where it cannot be told."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0, 0
    kib = {name: int(rest.split()[0]) for name, rest in _numbers(text)}
    return kib.get("VmRSS", 0) * 1024, kib.get("RssAnon", 0) * 1024


def _numbers(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if rest.strip().endswith(" kB"):
            yield name, rest


def _decode(context: Any, batch_size: int, rows: list[tuple[int, int, int]]) -> None:
    """(sequence, position, token): a row's last one asks for its scores."""
    batch = c.llama_batch_init(batch_size, 0, 1)
    try:
        for start in range(0, len(rows), batch_size):
            part = rows[start : start + batch_size]
            batch.n_tokens = len(part)
            last = {sequence: at for at, (sequence, _, _) in enumerate(part)}
            for at, (sequence, position, token) in enumerate(part):
                batch.token[at], batch.pos[at] = token, position
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
                batch.logits[at] = last[sequence] == at
            if (code := c.llama_decode(context, batch)) != 0:
                raise RuntimeError(f"llama_decode returned {code}")
    finally:
        c.llama_batch_free(batch)


def answer(job: Mapping[str, Any]) -> dict[str, Any]:
    engine = Engine(job)
    if not engine.model:
        told = [line.strip() for line in engine.lines if "error" in line.lower()]
        return {"failed": told[-1] if told else "llama.cpp could not load the model"}
    runs = [Run(**run) for run in job["runs"]]
    return simulate(engine, runs) if job.get("simulate") else measure(engine, runs[0], job)


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
