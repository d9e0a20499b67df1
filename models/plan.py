"""Will it fit? A model, a card and settings, weighed against each other, and the best settings that do fit.

Best means: the whole model stays on the card, for one layer on the CPU costs more speed than anything else; then the
finest cache that is known to be harmless (q8_0 at least: Qwen2.5 is reported fragile below it), then every
conversation that was asked for, then as much context as there is room for.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from models import header
from models.catalogue import ModelCard, ModelError
from models.memory import COMPARED, KvType, Memory, Run, compute, layer_kv, memory
from models.shape import Shape, Weights, weights

Engine = Literal["llama_cpp", "llama_server"]

# What the driver, its libraries and a desktop take of a card before the first tensor: our judgement, to be confirmed
# on hardware. The token embedding, which llama.cpp leaves in main memory, makes up for most of it where it is untied.
RESERVE_BYTES = 400 * 2**20
LEAST_CONTEXT = 2048  # protocol, a short conversation and a reply
_STEP = 512


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator can turn. context: tokens of one conversation. gpu_layers: of layers + 1 (the output is the
    first that goes to the card); None is all of them."""

    context: int
    parallel: int = 1
    kv: KvType = "f16"
    gpu_layers: int | None = None
    batch: int = 0
    flash: bool = True

    def run(self, engine: Engine) -> Run:
        if engine == "llama_cpp":
            return Run.in_process(self.context, kv=self.kv, batch=self.batch or 256, flash=self.flash)
        return Run.server(self.context, self.parallel, kv=self.kv, batch=self.batch or 128, flash=self.flash)


@dataclass(frozen=True, slots=True)
class Subject:
    """The model that is planned for, and where its numbers come from."""

    model: str
    shape: Shape
    weights: Weights
    source: Literal["file", "catalogue"]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Settings that fit, the engine they are for, what they take on the card, and the same in words."""

    settings: Settings
    engine: Engine
    total_bytes: int
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The contract's plan (shared design), with what it was made from. All sizes in bytes.

    fits: weights, cache and compute buffers are no more than vram_bytes. tight: they fit, but leave less than a driver
    usually takes. gpu_layers_that_fit: how many of layers + 1 could be on the card with exactly these settings.
    """

    subject: Subject
    settings: Settings
    engine: Engine
    vram_bytes: int
    memory: Memory
    device_bytes: int
    gpu_layers_that_fit: int
    suggestion: Suggestion | None
    notes: tuple[str, ...]

    @property
    def fits(self) -> bool:
        return self.memory.total <= self.vram_bytes

    @property
    def tight(self) -> bool:
        return self.fits and self.device_bytes + RESERVE_BYTES > self.vram_bytes

    def to_json(self) -> dict[str, Any]:
        suggestion = self.suggestion
        return {
            "model": self.subject.model,
            "weights_bytes": self.memory.weights,
            "kv_bytes": self.memory.kv,
            "compute_bytes": self.memory.compute,
            "total_bytes": self.memory.total,
            "vram_bytes": self.vram_bytes,
            "fits": self.fits,
            "suggestion": None
            if suggestion is None
            else {
                "text": suggestion.text,
                "total_bytes": suggestion.total_bytes,
                "engine": suggestion.engine,
                **asdict(suggestion.settings),
            },
            "tight": self.tight,
            "driver_bytes": RESERVE_BYTES,
            "kv_full_bytes": self.memory.kv_full,
            "kv_sliding_bytes": self.memory.kv_sliding,
            "layers": self.subject.shape.layers,
            "gpu_layers_that_fit": self.gpu_layers_that_fit,
            "engine": self.engine,
            "settings": asdict(self.settings),
            "source": self.subject.source,
            "notes": list(self.notes),
        }


def subject(card: ModelCard, path: Path | None) -> Subject:
    """From the file's header when the file is here, else from the catalogue. Raises ModelError where neither tells.

    Without the gguf package the catalogue has to do, where it knows the shape.
    """
    if path is not None:
        try:
            read = header.read(path)
            return Subject(card.name, read.shape, read.weights, "file")
        except header.HeaderUnread:
            if card.shape is None:
                raise
    if card.shape is None or not card.quantisation:
        raise ModelError(
            f"{card.name}: its file is not here and the catalogue does not know its shape; pull the file, or add "
            "shape and quantisation to its entry"
        )
    return Subject(card.name, card.shape, weights(card.shape, card.quantisation), "catalogue")


def engine_for(shape: Shape, settings: Settings) -> Engine:
    """Who serves it best: our worker takes one conversation at a time, and keeps the whole context of layers that need
    only a window of it."""
    slides = any(shape.sliding) and settings.context > shape.window
    return "llama_server" if settings.parallel > 1 or slides else "llama_cpp"


def make(subject: Subject, settings: Settings, vram_bytes: int, *, engine: Engine | None = None) -> Plan:
    """Weigh it. engine: None chooses (see engine_for)."""
    chosen = engine or engine_for(subject.shape, settings)
    shape, kept = subject.shape, replace(settings, context=min(settings.context, subject.shape.context_trained))
    run = kept.run(chosen)
    taken = memory(shape, subject.weights, run)
    device = on_device(subject, run, shape.layers + 1)
    enough = taken.total <= vram_bytes and device + RESERVE_BYTES <= vram_bytes
    return Plan(
        subject=subject,
        settings=kept,
        engine=chosen,
        vram_bytes=vram_bytes,
        memory=taken,
        device_bytes=device,
        gpu_layers_that_fit=layers_that_fit(subject, run, vram_bytes),
        suggestion=None if enough else suggest(subject, kept, vram_bytes, engine=chosen),
        notes=tuple(_notes(subject, settings, chosen)),
    )


def on_device(subject: Subject, run: Run, gpu_layers: int) -> int:
    """Bytes on the card with so many of layers + 1 there.

    The token embedding stays in main memory, except that a tied one is copied to serve as the output. llama.cpp of the
    pinned version puts the output on the card first, then the last layers (llama-model.cpp, load_tensors). While
    layers are left on the CPU, a prompt's batch has one of their tensors at a time copied to the card.
    """
    parts, shape = subject.weights, subject.shape
    here = range(max(shape.layers + 1 - gpu_layers, 0), shape.layers)
    if gpu_layers <= 0:
        return 0
    copied = max(parts.layers) // 3 if len(here) < shape.layers else 0  # no single tensor of a layer is larger
    held = sum(parts.layers[layer] + layer_kv(shape, run, layer) for layer in here)
    return (parts.output or parts.embedding) + parts.rest + held + compute(shape, run) + copied


def layers_that_fit(subject: Subject, run: Run, vram_bytes: int) -> int:
    """How many of layers + 1 a card of this size holds beside the driver's own."""
    room = vram_bytes - RESERVE_BYTES
    every = range(subject.shape.layers + 1, 0, -1)
    return next((number for number in every if on_device(subject, run, number) <= room), 0)


def suggest(subject: Subject, settings: Settings, vram_bytes: int, *, engine: Engine) -> Suggestion:
    """The best settings that fit with room for the driver: the whole model if at all possible, else the most layers.

    Where layers slide, llama_server is tried beside our worker: there they take no more than their window.
    """
    layers = subject.shape.layers + 1
    engines: tuple[Engine, ...] = (
        (engine, "llama_server") if engine == "llama_cpp" and any(subject.shape.sliding) else (engine,)
    )
    for candidate, chosen in product(_candidates(settings), engines):
        run = candidate.run(chosen)
        total, device = memory(subject.shape, subject.weights, run).total, on_device(subject, run, layers)
        if max(total, device + RESERVE_BYTES) <= vram_bytes:
            words = _words(settings, candidate, layers, instead=chosen if chosen != engine else "")
            return Suggestion(candidate, chosen, total, words)
    least = replace(settings, context=min(settings.context, LEAST_CONTEXT), kv=_coarser(settings.kv), parallel=1)
    number = layers_that_fit(subject, least.run(engine), vram_bytes)
    spilt = replace(least, gpu_layers=number)
    return Suggestion(spilt, engine, on_device(subject, spilt.run(engine), number), _words(settings, spilt, layers))


def _candidates(settings: Settings) -> Iterator[Settings]:
    """From the least loss to the greatest."""
    coarser = _coarser(settings.kv)
    for parallel in range(settings.parallel, 0, -1):
        for context in _contexts(settings.context):
            yield replace(settings, parallel=parallel, context=context)
            yield replace(settings, parallel=parallel, context=context, kv=coarser)


def _contexts(wanted: int) -> Iterator[int]:
    yield wanted
    yield from range((wanted - 1) // _STEP * _STEP, LEAST_CONTEXT - 1, -_STEP)


def _coarser(kv: KvType) -> KvType:
    return "q8_0" if kv in ("f32", "f16", "bf16") else kv


def _words(wanted: Settings, fitting: Settings, layers: int, *, instead: str = "") -> str:
    changes = [f"{instead}, whose sliding layers keep their window only"] if instead else []
    if fitting.kv != wanted.kv:
        changes.append(f"a {fitting.kv} cache")
    if fitting.context != wanted.context:
        changes.append(f"a context of {fitting.context}")
    if fitting.parallel != wanted.parallel:
        changes.append("one conversation at a time" if fitting.parallel == 1 else f"{fitting.parallel} at a time")
    if fitting.gpu_layers is not None:
        changes.append(
            f"gpu_layers = {fitting.gpu_layers} of {layers}; the others on the CPU make replies several times slower"
            if fitting.gpu_layers
            else "gpu_layers = 0: everything on the CPU, several times slower; better a smaller model"
        )
    return f"it fits with {', '.join(changes)}" if changes else "it fits as it is"


def _notes(subject: Subject, settings: Settings, engine: Engine) -> Iterator[str]:
    shape = subject.shape
    if settings.context > shape.context_trained:
        yield f"trained for {shape.context_trained:,} tokens: a context of {settings.context:,} is cut to that"
    if engine == "llama_cpp" and settings.parallel > 1:
        yield "llama_cpp answers one conversation at a time; llama_server answers several"
    if shape.architecture not in COMPARED:
        yield f"{shape.architecture} models were never compared with the engine's own figures: a rough guess"
    if settings.kv in ("q5_1", "q5_0", "q4_1", "q4_0"):
        yield f"a {settings.kv} cache is reported to harm Qwen2.5; q8_0 is not"
    if settings.kv.startswith("q") and not settings.flash:
        yield "a quantised cache needs flash attention"
