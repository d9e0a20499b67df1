"""How one llama.cpp engine is run: plain, frozen values that settings.py of the service fills in."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

FlashAttention = Literal["auto", "on", "off"]
KvType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. temperature 0 is greedy. The penalties look at the reply only, never at the prompt:
    a person's own words may always be said back."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last: int = 128
    frequency_penalty: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """context: tokens of prompt and reply together. threads, prompt_threads: 0 chooses from the cores really available.
    gpu_layers: -1 for all. batch: prompt tokens evaluated between two signs of life. queue: requests that may wait.
    system_role: None asks the model's own template. ready_wait_s: how long a request may wait for an engine that is not
    ready. stall_s: an engine that is silent for so long is killed. memory_limit_bytes: the worker's address space."""

    model_path: Path
    context: int = 4096
    threads: int = 0
    prompt_threads: int = 0
    gpu_layers: int = 0
    batch: int = 256
    flash_attention: FlashAttention = "auto"
    type_k: KvType = "f16"
    type_v: KvType = "f16"
    mmap: bool = True
    system_role: bool | None = None
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    queue: int = 8
    ready_wait_s: float = 0.0
    start_timeout_s: float = 180.0
    stall_s: float = 30.0
    backoff_s: float = 0.5
    backoff_cap_s: float = 30.0
    healthy_s: float = 60.0
    stop_timeout_s: float = 2.0
    memory_limit_bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """What the worker is sent."""
        return asdict(self) | {"model_path": str(self.model_path)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The inverse of to_json."""
        built = values | {"model_path": Path(values["model_path"]), "sampling": Sampling(**values["sampling"])}
        return cls(**built | {"stop": tuple(values["stop"])})
