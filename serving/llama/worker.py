"""The llama.cpp process (`python -m serving.llama.worker`): loads one model for serving/worker to answer with."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serving.llama.settings import LlamaSettings
from serving.worker import cores, reasons
from serving.worker.process import limit_memory, serve
from serving.worker.protocol import Info
from serving.worker.reasons import LoadFailure

if TYPE_CHECKING:  # at run time llama_cpp is imported when loading, so that its absence is one clear reason
    from serving.llama.runtime import Runtime
    from serving.worker.answering import Loaded


def load(values: dict[str, Any]) -> "Loaded":
    """The model as these settings say. Raises LoadFailure with a fixed reason."""
    settings = LlamaSettings.from_json(values)
    check_file(settings.model_path)
    try:
        from serving.llama.runtime import Runtime, supports_gpu
        from serving.worker.answering import Loaded
        from serving.worker.prompt import PromptBuilder
        from serving.worker.template import ChatTemplate, TemplateRejected
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
    prompts = PromptBuilder(template, runtime.tokenise, bos=runtime.bos, context=runtime.context)
    return Loaded(runtime, prompts, info, stop=settings.stop)


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


if __name__ == "__main__":
    serve(load)
