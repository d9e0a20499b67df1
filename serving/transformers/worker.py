"""The transformers process (`python -m serving.transformers.worker`): loads what serving/worker answers with."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from serving.transformers import packages, reasons
from serving.transformers.folder import FolderProblem, look
from serving.transformers.settings import TransformersSettings
from serving.worker import cores
from serving.worker.process import limit_memory, serve
from serving.worker.protocol import Info
from serving.worker.reasons import BAD_TEMPLATE, NO_TEMPLATE, LoadFailure

if TYPE_CHECKING:  # at run time imported when loading, so that a missing package is one clear reason
    from serving.transformers.loading import LoadedModel
    from serving.worker.answering import Loaded
    from serving.worker.template import ChatTemplate

_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def load(values: dict[str, Any]) -> "Loaded":
    """The model as these settings say. Raises LoadFailure with a fixed reason."""
    began = time.perf_counter()
    settings = TransformersSettings.from_json(values)
    if (wrong := packages.problem(settings.load)) is not None:
        raise LoadFailure(wrong)
    os.environ.update(_OFFLINE)
    try:
        folder = look(settings.folder)
    except FolderProblem as problem:
        raise LoadFailure(str(problem)) from None
    if not folder.template:
        raise LoadFailure(NO_TEMPLATE)
    try:
        from serving.transformers import loading
        from serving.transformers.runtime import Runtime
        from serving.worker.answering import Loaded
        from serving.worker.prompt import PromptBuilder
    except ImportError as exc:
        raise LoadFailure(reasons.NOT_IMPORTED) from exc
    free = cores.available()
    threads = cores.plan(free, generate=settings.threads, prompt=settings.prompt_threads)
    if loading.choose_device(settings) == "cpu":
        limit_memory(settings.memory_limit_bytes)
    loaded = loading.load(settings, folder)
    template = _template(folder.template, loaded, settings)
    context = min(settings.context, loaded.context_trained)
    runtime = Runtime(
        loaded.model, loaded.vocabulary, settings.sampling, context=context, batch=settings.batch, threads=threads
    )
    info = Info(
        description=f"{folder.names[0]}, {settings.load} on {loaded.device}",
        context=context,
        context_trained=loaded.context_trained,
        threads=threads.generate,
        prompt_threads=threads.prompt,
        gpu=loaded.device == "cuda",
        system_role=template.system_role,
        load_ms=round((time.perf_counter() - began) * 1000, 1),
        notes=tuple(_notes(settings, loaded, free)),
    )
    vocabulary = loaded.vocabulary
    prompts = PromptBuilder(template, vocabulary.tokenise, bos=vocabulary.bos, context=context)
    return Loaded(runtime, prompts, info, stop=settings.stop)


def _template(source: str, loaded: "LoadedModel", settings: TransformersSettings) -> "ChatTemplate":
    from serving.worker.template import ChatTemplate, TemplateRejected

    bos, eos = loaded.vocabulary.bos_text, loaded.vocabulary.eos_text
    try:
        return ChatTemplate(source, bos=bos, eos=eos, system_role=settings.system_role)
    except TemplateRejected as exc:
        raise LoadFailure(BAD_TEMPLATE) from exc


def _notes(settings: TransformersSettings, loaded: "LoadedModel", free: int) -> Iterator[str]:
    if settings.context > loaded.context_trained:
        yield f"context {settings.context} is more than the model's {loaded.context_trained}: using the latter"
    if max(settings.threads, settings.prompt_threads) > free:
        yield f"more threads were asked for than the {free} cores this process may use: using {free}"
    if settings.device == "auto" and loaded.device == "cpu":
        yield "torch sees no GPU: everything runs on the CPU, which is slow for a model of this kind"


if __name__ == "__main__":
    serve(load)
