"""Does a local model fit where it is to run? Asked before it is loaded, so that nobody wonders why replies crawl.

Notes are sentences for the operator: they go to the log, to /readyz and to `crisis doctor`. Nothing is refused: the
engine itself may know better, and the chain answers without it where it does not.
"""

from collections.abc import Iterator
from pathlib import Path

from models import device
from models.catalogue import ModelCard
from models.device import Device
from models.header import HeaderUnread
from models.memory import memory
from models.plan import RESERVE_BYTES, Engine, Subject, make, on_device, subject
from models.plan import Settings as Wanted
from serving.settings import LlamaEntry, LlamaServerEntry

_GIB = 2**30


def notes(entry: LlamaEntry | LlamaServerEntry, card: ModelCard, path: Path) -> tuple[str, ...]:
    """What an operator should know before this entry is loaded. Raises WeightsDamaged for a file that is no model.

    The catalogue's shape is used where there is one: reading a header takes a good part of a second.
    """
    try:
        about = subject(card, None if card.shape else path)
    except HeaderUnread:
        return ()
    return tuple(_notes(entry, about, device.gpus(), device.main_memory()))


def _notes(
    entry: LlamaEntry | LlamaServerEntry, about: Subject, gpus: tuple[Device, ...], ram: Device
) -> Iterator[str]:
    trained = about.shape.context_trained
    if entry.context > trained:
        yield f"context = {entry.context} is more than the {trained} tokens it was trained for: it gets {trained}"
    if entry.gpu_layers == 0:
        yield from _on_the_cpu(entry, about, ram)
    elif not gpus:
        yield "gpu_layers is set, but no GPU is seen here: if there is none, every layer runs on the CPU"
    else:
        yield from _on_the_gpu(entry, about, max(gpus, key=lambda gpu: gpu.free_bytes))


def _on_the_cpu(entry: LlamaEntry | LlamaServerEntry, about: Subject, ram: Device) -> Iterator[str]:
    need = memory(about.shape, about.weights, _wanted(entry).run(_engine(entry))).total
    if ram.total_bytes and need > ram.free_bytes:
        yield (
            f"it needs about {need / _GIB:.1f} GiB of main memory and {ram.free_bytes / _GIB:.1f} GiB are free: "
            "a smaller context or model"
        )


def _on_the_gpu(entry: LlamaEntry | LlamaServerEntry, about: Subject, gpu: Device) -> Iterator[str]:
    layers = about.shape.layers + 1
    asked = layers if entry.gpu_layers < 0 else min(entry.gpu_layers, layers)
    plan = make(about, _wanted(entry), gpu.free_bytes, engine=_engine(entry))
    need = on_device(about, plan.settings.run(plan.engine), asked)
    if need > gpu.free_bytes:
        yield (
            f"{asked} of {layers} layers need about {need / _GIB:.1f} GiB and {gpu.name} has "
            f"{gpu.free_bytes / _GIB:.1f} GiB free: {plan.suggestion.text if plan.suggestion else 'free some of it'}"
        )
    if asked < layers:
        fits = on_device(about, plan.settings.run(plan.engine), layers) + RESERVE_BYTES <= gpu.free_bytes
        mend = "; all of them would fit: gpu_layers = -1" if fits else ""
        yield f"{layers - asked} of {layers} layers run on the CPU: replies will be several times slower{mend}"


def _wanted(entry: LlamaEntry | LlamaServerEntry) -> Wanted:
    return Wanted(
        context=entry.context,
        parallel=entry.parallel if isinstance(entry, LlamaServerEntry) else 1,
        kv=entry.kv_type,
        batch=entry.batch,
        flash=entry.flash_attention != "off",
    )


def _engine(entry: LlamaEntry | LlamaServerEntry) -> Engine:
    return entry.engine
