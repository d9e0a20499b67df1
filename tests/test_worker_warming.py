"""What goes wrong while a worker evaluates the protocol costs the warmth, and nothing else."""

import asyncio
import io
from pathlib import Path

import pytest

from models import replica
from models.shape import Shape
from serving.backend import Request
from serving.llama.engine import LlamaEngine
from serving.llama.runtime import Runtime
from serving.llama.settings import LlamaSettings
from serving.worker.answering import Loaded, Worker
from serving.worker.cores import Threads
from serving.worker.desk import Desk, Outlet
from serving.worker.prompt import PromptBuilder
from serving.worker.protocol import Info, Message, decode
from serving.worker.runtime import FATAL_EXIT, EngineFault
from serving.worker.template import ChatTemplate
from shield.assessment import Turn

PROTOCOL = "Be calm and kind. Listen first. " * 4
TINY = Shape.from_table(
    {"architecture": "qwen2", "layers": 1, "width": 256, "heads": 4, "kv_heads": 2, "head_size": 64,
     "feed_forward": 512, "vocabulary": 300},
    context_trained=2048,
)  # fmt: skip


@pytest.fixture
def without_a_blank(tmp_path: Path) -> LlamaSettings:
    """A vocabulary of single bytes: SentencePiece's mark for a blank is three of them."""
    path = tmp_path / "bytes.gguf"
    replica.write(path, TINY, "Q4_K_M")
    return LlamaSettings(path, context=2048, batch=64)


@pytest.mark.engine
def test_a_text_may_have_more_tokens_than_bytes(without_a_blank: LlamaSettings) -> None:
    runtime = Runtime(without_a_blank, Threads(1, 1))
    text = "a b " * 50
    tokens = runtime.tokenise(text, False)
    assert len(tokens) > len(text)
    assert b"".join(map(runtime.piece, tokens)).decode().replace("\u2581", " ").strip() == text.strip()


@pytest.mark.engine
def test_such_a_model_is_warmed_and_answers(without_a_blank: LlamaSettings) -> None:
    async def said() -> tuple[bool, int]:
        engine = LlamaEngine(name="bytes", model="bytes", settings=without_a_blank)
        await engine.warm(PROTOCOL)
        await engine.start()
        try:
            await asyncio.wait_for(engine.warmed.wait(), 30)
            request = Request((Turn("user", "I feel alone"),), PROTOCOL, protocol_prefix=PROTOCOL, max_tokens=4)
            [_ async for _ in engine.stream(request)]
            return engine.warmed.is_set(), engine.stats.n_cached
        finally:
            await engine.close()

    warmed, n_cached = asyncio.run(said())
    assert warmed
    assert n_cached > len(PROTOCOL), "the blanks of a protocol that was evaluated before anybody asked"


class Breaking:
    """A runtime that cannot evaluate."""

    context = 512

    def __init__(self, *, fatal: bool) -> None:
        self.fatal = fatal
        self.forgot = 0

    def begin(self, prompt: object, *, room: int) -> int:
        return 0

    def evaluate(self, tokens: object, progress: object = None) -> None:
        raise EngineFault("broken", fatal=self.fatal)

    def keeps(self, tokens: list[int]) -> bool:
        return not tokens

    def forget(self) -> None:
        self.forgot += 1


def warmed(runtime: Breaking) -> Message:
    """What a worker tells that is asked to warm the protocol, and then looks after itself."""
    told = io.BytesIO()
    template = ChatTemplate("{% for m in messages %}{{ m['content'] }}{% endfor %}", bos="", eos="")
    prompts = PromptBuilder(template, lambda text, _: list(text.encode()), bos=None, context=512)
    info = Info("", 512, 512, 1, 1, False, True, 0.0, ())
    worker = Worker(Loaded(runtime, prompts, info), Desk(), Outlet(told))  # type: ignore[arg-type] # only what warming asks
    worker._serve({"op": "warm", "prefix": PROTOCOL, "rest": ""})
    assert worker._cold()
    worker._warm()
    assert not worker._cold(), "not tried again and again"
    return decode(told.getvalue())


def test_a_protocol_that_cannot_be_evaluated_leaves_the_worker_alive() -> None:
    runtime = Breaking(fatal=False)
    assert warmed(runtime)["n_prefix"] == 0
    assert runtime.forgot == 1


def test_an_engine_beyond_help_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(status: int) -> None:
        raise SystemExit(status)

    monkeypatch.setattr("serving.worker.answering.os._exit", gone)
    with pytest.raises(SystemExit, match=str(FATAL_EXIT)):
        warmed(Breaking(fatal=True))
