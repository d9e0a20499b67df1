"""How one transformers engine is run: plain, frozen values that settings.py of the service fills in."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from serving.llama.settings import Sampling

Load = Literal["nf4", "8bit", "none"]
DeviceName = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class TransformersSettings:
    """folder: the model's own (config.json, *.safetensors, tokenizer.json). load: how its weights are held; none is as
    the device computes, 32 or 16 bits. context: tokens of prompt and reply together. threads, prompt_threads: 0 chooses
    from the cores really available. batch: prompt tokens evaluated between two signs of life. system_role: None asks
    the model's own template. memory_limit_bytes: the worker's address space, on a CPU only. The others:
    serving/worker/settings.py."""

    folder: Path
    load: Load = "nf4"
    device: DeviceName = "auto"
    context: int = 4096
    threads: int = 0
    prompt_threads: int = 0
    batch: int = 256
    system_role: bool | None = None
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    queue: int = 8
    ready_wait_s: float = 0.0
    start_timeout_s: float = 600.0
    stall_s: float = 60.0
    backoff_s: float = 0.5
    backoff_cap_s: float = 30.0
    healthy_s: float = 60.0
    stop_timeout_s: float = 2.0
    memory_limit_bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """What the worker is sent."""
        return asdict(self) | {"folder": str(self.folder)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The inverse of to_json."""
        built = values | {"folder": Path(values["folder"]), "sampling": Sampling(**values["sampling"])}
        return cls(**built | {"stop": tuple(values["stop"])})
