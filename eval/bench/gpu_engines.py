"""One engine of the GPU benchmark at work: first tokens, whole replies, several conversations at once, peak memory."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from eval.bench.figures import summary
from eval.bench.stand_in import Question, listen, messages
from eval.bench.talk import Broken
from models import device
from models.plan import Engine as EngineName
from models.plan import Settings
from prompts.protocol import protocol_prefix, urgent_notes
from serving.backend import BackendError
from serving.llama.engine import LlamaEngine
from serving.llama.settings import LlamaSettings
from serving.llama_server.engine import LlamaServerEngine
from serving.llama_server.settings import Launch, LlamaServerSettings
from serving.supervision import Engine

_LOAD_S, _WARM_S = 600.0, 600.0
_STALL_S = 300.0
_LOOK_S = 0.2
_BATCH = {"llama_cpp": 256, "llama_server": 128}


@dataclass(frozen=True, slots=True)
class Trial:
    """One engine in one setting. counts: how many conversations at once."""

    engine: EngineName
    settings: Settings
    planned_bytes: int
    counts: tuple[int, ...]

    @property
    def text(self) -> str:
        many = f"{self.settings.parallel} conversations" if self.settings.parallel > 1 else "one conversation"
        return f"{many} of {self.settings.context} tokens on {self.engine}, {self.settings.kv} cache"


class Peak:
    """The most memory that was in use while it looked: of the card, beyond what others had; without one, of a process
    and its children."""

    def __init__(self, *, on_card: bool) -> None:
        self._on_card = on_card
        self._before = _card_in_use() if on_card else 0
        self.peak_bytes = 0
        self.pid: int | None = None

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(_LOOK_S)

    def look(self) -> None:
        used = _card_in_use() - self._before if self._on_card else _resident(self.pid)
        self.peak_bytes = max(self.peak_bytes, used)


async def on_llama_cpp(trial: Trial, model: Path, tokens: int, rounds: int, gpu_layers: int) -> dict[str, Any]:
    """Raises Broken."""
    settings = LlamaSettings(
        model,
        context=trial.settings.context,
        gpu_layers=gpu_layers,
        batch=_BATCH["llama_cpp"],
        type_k=trial.settings.kv,
        type_v=trial.settings.kv,
        start_timeout_s=_LOAD_S,
        stall_s=_STALL_S,
    )
    engine = LlamaEngine(name="bench", model="replica", settings=settings)
    async with _running(engine, on_card=gpu_layers != 0) as peak:
        if gpu_layers and engine.info is not None and not engine.info.gpu:
            raise Broken("this build of llama-cpp-python has no GPU support")
        return await _measured(engine, trial, tokens, rounds, peak)


async def on_llama_server(
    trial: Trial, model: Path, tokens: int, rounds: int, gpu_layers: int, *, binary: Path
) -> dict[str, Any]:
    """Raises Broken."""
    launch = Launch(
        binary,
        model,
        gpu_layers=gpu_layers,
        batch=_BATCH["llama_server"],
        type_k=trial.settings.kv,
        type_v=trial.settings.kv,
    )
    settings = LlamaServerSettings(
        launch,
        context=trial.settings.context,
        parallel=trial.settings.parallel,
        start_timeout_s=_LOAD_S,
        stall_s=_STALL_S,
    )
    engine = LlamaServerEngine(name="bench", model="replica", settings=settings)
    async with _running(engine, on_card=gpu_layers != 0) as peak:
        return await _measured(engine, trial, tokens, rounds, peak)


@asynccontextmanager
async def _running(engine: LlamaEngine | LlamaServerEngine, *, on_card: bool) -> AsyncIterator[Peak]:
    peak = Peak(on_card=on_card)
    watching = asyncio.create_task(peak.watch())
    try:
        await engine.warm(protocol_prefix(), urgent_notes(language="en"))
        await engine.start()
        await engine.wait_ready(_LOAD_S)
        peak.pid = engine.pid
        await asyncio.wait_for(engine.warmed.wait(), _WARM_S)
        yield peak
    except (BackendError, TimeoutError) as error:
        raise Broken(str(error) or "the protocol was not evaluated in time") from None
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await engine.close()


async def _measured(engine: Engine, trial: Trial, tokens: int, rounds: int, peak: Peak) -> dict[str, Any]:
    texts = messages()

    def questions(count: int, most: int, *, cold: bool = False) -> list[Question]:
        return [Question(text, most, cold=cold) for text in islice(texts, count)]

    cold: list[float] = []
    cached: list[float] = []
    whole: list[float] = []
    rates: dict[int, list[float]] = {count: [] for count in trial.counts}
    await _together(engine, questions(1, 2))
    for _ in range(rounds):
        cold.append((await _together(engine, questions(1, 2, cold=True)))[1][0]["first_s"])
        await _together(engine, questions(trial.settings.parallel, 2))  # every place has this situation again
        reply = (await _together(engine, questions(1, tokens)))[1][0]
        cached.append(reply["first_s"])
        whole.append(reply["total_s"] * tokens / reply["pieces"])
        for count, kept in rates.items():
            wall_s, heard = await _together(engine, questions(count, tokens))
            kept.append(sum(one["pieces"] for one in heard) / wall_s)
    peak.look()
    return {
        "first_token_s": summary(cold),
        "cached_first_token_s": summary(cached),
        "full_response_s": summary(whole),
        "tokens_per_s": {str(count): summary(kept, 1) for count, kept in rates.items()},
        "peak_bytes": peak.peak_bytes,
        "prompt_tokens": engine.stats.n_prompt,
    }


async def _together(engine: Engine, asked: Sequence[Question]) -> tuple[float, list[dict[str, Any]]]:
    """Seconds in all, and what was heard of each. A whole reply has at least one piece."""
    began = time.perf_counter()
    heard = await asyncio.gather(*(listen(engine, question) for question in asked))
    if any(not one["pieces"] for one in heard):
        raise Broken("a reply came without text")
    return time.perf_counter() - began, list(heard)


def _card_in_use() -> int:
    """Of the fullest card, in bytes."""
    return max((gpu.total_bytes - gpu.free_bytes for gpu in device.gpus()), default=0)


def _resident(pid: int | None) -> int:
    """Of one process; 0 where it cannot be told."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = [line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")]
    return int(found[0]) * 1024 if found else 0
