"""What every `crisis models` command needs: settings, catalogue, the folder of the weights, sizes in words."""

import re
from dataclasses import dataclass
from pathlib import Path

import typer

from cli.console import Failure, settings
from models.catalogue import Catalogue, ModelCard, ModelError
from models.weights import locate
from serving.settings import Settings, weights_dir

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_DECIMAL = {"kb": 10**3, "mb": 10**6, "gb": 10**9}
_LEAST = 2**20
_MIB_FROM = 512  # 8192 without a unit is what nvidia-smi shows of a card of 8 GiB
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class Opened:
    """The settings in force, the catalogue with the operator's own models, and where weights are."""

    settings: Settings
    cards: Catalogue
    folder: Path

    def card(self, name: str) -> ModelCard:
        try:
            return self.cards.get(name)
        except ModelError as error:
            raise Failure(str(error), 2) from None

    def where(self, card: ModelCard) -> Path | None:
        """The model's file on this machine, if it is here."""
        try:
            return locate(card, weights_dir=self.folder, path=None)
        except ModelError:
            return None


def opened(config: Path | None) -> Opened:
    """Failure, with status 2, for settings, a catalogue or a folder of weights that cannot be used."""
    chosen = settings(config)
    try:
        cards = Catalogue.load(chosen.catalogue)
    except ModelError as error:
        raise Failure(str(error), 2) from None
    folder = weights_dir(chosen)
    if folder.exists() and not folder.is_dir():
        raise Failure(f"{folder}: is no folder; set weights_dir or CRISIS_WEIGHTS_DIR to one", 2)
    return Opened(chosen, cards, folder)


def size(text: str) -> int:
    """Bytes of "8GiB", "8G", "7.5gib", "8GB" (of a thousand) or "8589934592". No card has less than 1 MiB: "8" is a
    unit that was forgotten."""
    found = _SIZE.fullmatch(text.strip().lower())
    unit = found[2] if found else "?"
    factor = _DECIMAL.get(unit) or _UNITS.get(unit.removesuffix("b"))
    if found is None or factor is None or float(found[1]) <= 0:
        raise typer.BadParameter("a size such as 8GiB is wanted")
    if factor == 1 and float(found[1]) < _LEAST:
        meant = "GiB" if float(found[1]) < _MIB_FROM else "MiB"
        raise typer.BadParameter(f"{found[1]} bytes is no size of a card: did you mean {found[1]}{meant}?")
    return round(float(found[1]) * factor)


def gib(size_bytes: float) -> str:
    """For people: GiB with two digits, MiB below a tenth of one."""
    return f"{size_bytes / 2**30:.2f} GiB" if size_bytes >= 2**30 / 10 else f"{size_bytes / 2**20:.0f} MiB"
