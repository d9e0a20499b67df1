"""How a llama.cpp server is run or reached: plain, frozen values that settings.py of the service fills in."""

from dataclasses import dataclass, field
from pathlib import Path

from serving.llama.settings import FlashAttention, KvType, Sampling
from serving.supervision import Pauses


@dataclass(frozen=True, slots=True)
class Launch:
    """A server that we start. binary: llama-server; model_path: a GGUF file. port: 0 takes a free one each time.
    threads, prompt_threads: 0 chooses from the cores really available. gpu_layers: -1 for all. batch: prompt tokens
    evaluated at once; while they are, the replies being written wait, and a smaller one lets those who came together
    begin one after the other instead of all at the end."""

    binary: Path
    model_path: Path
    port: int = 0
    threads: int = 0
    prompt_threads: int = 0
    gpu_layers: int = 0
    batch: int = 128
    flash_attention: FlashAttention = "auto"
    type_k: KvType = "f16"
    type_v: KvType = "f16"


@dataclass(frozen=True, slots=True)
class Reach:
    """A server that somebody else runs, at an address that was checked (wire.checked_url)."""

    url: str
    key: str = field(default="", repr=False)
    connect_s: float = 3.0


@dataclass(frozen=True, slots=True)
class LlamaServerSettings:
    """context: tokens of prompt and reply together, for each conversation; 0 takes what a reached server has.
    parallel: conversations at once; 0 as for context. queue: requests that may wait beyond them.
    system_role: None asks the model's own template. start_timeout_s: loading the weights, or answering at all.
    stall_s: a server that makes no move for so long is killed (or given up, where it is not ours)."""

    site: Launch | Reach
    context: int = 4096
    parallel: int = 4
    queue: int = 8
    system_role: bool | None = None
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    start_timeout_s: float = 120.0
    stall_s: float = 30.0
    stop_timeout_s: float = 3.0
    pauses: Pauses = field(default_factory=Pauses)
