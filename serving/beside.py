"""Can new models be loaded while the old ones go on? Asked before a swap, of the card where there is one, else of RAM.

What cannot be told counts as no: then the old model is closed first, and the rest of the chain answers meanwhile.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models import device
from models.catalogue import ModelCard, ModelError
from models.device import Device
from models.memory import memory
from models.plan import RESERVE_BYTES, Settings, on_device, subject
from serving.settings import LlamaEntry, LlamaServerEntry

GgufEntry = LlamaEntry | LlamaServerEntry
_HEADROOM_BYTES = 256 * 2**20  # of main memory, for the service itself and for what one more process takes


@dataclass(frozen=True, slots=True)
class Load:
    """A model that we load ourselves."""

    entry: GgufEntry
    card: ModelCard
    path: Path


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes on the card and in main memory."""

    card_bytes: int
    main_bytes: int


def fits_beside(loads: Sequence[Load]) -> bool:
    """Whether all of these find room in what is free at this moment. Asks the driver: up to some seconds."""
    return room_for(loads, device.gpus(), device.main_memory())


def room_for(loads: Sequence[Load], gpus: Sequence[Device], ram: Device) -> bool:
    """The same for devices that are known."""
    try:
        needs = [_need(load, on_a_card=bool(gpus)) for load in loads]
    except ModelError:
        return False
    card = max((gpu.free_bytes for gpu in gpus), default=0)
    wanted = sum(need.card_bytes for need in needs)
    main = sum(need.main_bytes for need in needs)
    return wanted <= card and (main == 0 or main + _HEADROOM_BYTES <= ram.free_bytes)


def ports(entries: Iterable[GgufEntry]) -> set[int]:
    """The fixed ports that these need for themselves."""
    return {entry.port for entry in entries if isinstance(entry, LlamaServerEntry) and entry.port}


def _need(load: Load, *, on_a_card: bool) -> Need:
    entry, about = load.entry, subject(load.card, None if load.card.shape else load.path)
    wanted = Settings(
        context=min(entry.context, about.shape.context_trained),
        parallel=entry.parallel if isinstance(entry, LlamaServerEntry) else 1,
        kv=entry.kv_type,
        batch=entry.batch,
        flash=entry.flash_attention != "off",
    )
    run = wanted.run(entry.engine)
    total = memory(about.shape, about.weights, run).total
    layers = about.shape.layers + 1
    asked = layers if entry.gpu_layers < 0 else min(entry.gpu_layers, layers)
    if not on_a_card or asked == 0:
        return Need(0, total)
    held = on_device(about, run, asked)
    return Need(held + RESERVE_BYTES, max(total - held, 0))
