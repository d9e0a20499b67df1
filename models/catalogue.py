"""Which models exist and which may speak to people: catalogue.toml, read into named cards.

ModelError
├── UnknownModel       no card of that name
├── ModelNotAllowed    refused, or unapproved without the operator's explicit word
├── CatalogueError     a catalogue file that cannot be used
├── WeightsMissing     (weights.py) the file is not on this machine
├── WeightsDamaged     (weights.py) it is not the file it should be
├── HeaderUnread       (header.py) the package that reads a file's header is missing
├── LockError          (lock.py) models.lock cannot be used
├── PullFailed         (hub.py) the file cannot be had: network, hub, disk
├── NoRoom             (room.py) the disk has no room
└── TrialFailed        (measure.py) the engine would not run a replica
"""

import datetime
import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from models.shape import Recipe, Shape

Status = Literal["approved", "demo", "refused", "unapproved"]
Purpose = Literal["chat", "guard"]

_BUILT_IN = Path(__file__).with_name("catalogue.toml")
_SHA256 = re.compile("[0-9a-f]{64}")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "status": get_args(Status),
    "purpose": get_args(Purpose),
    "quantisation": ("", *get_args(Recipe)),
}


class ModelError(Exception):
    """A model cannot be used. The message is one line: what, why, how to mend it."""


class UnknownModel(ModelError):
    pass


class ModelNotAllowed(ModelError):
    pass


class CatalogueError(ModelError):
    pass


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of one model file; the fields are explained at the head of catalogue.toml."""

    name: str
    title: str
    file: str
    status: Status
    reason: str
    licence: str
    family: str = ""
    repo: str = ""
    package: str = ""
    size_bytes: int = 0
    sha256: str = ""
    approved_by: str = ""
    approved_on: str = ""
    default: bool = False
    system_role: bool = True
    prefill: bool = True
    stop: tuple[str, ...] = ()
    purpose: Purpose = "chat"
    gated: bool = False
    source: str = ""
    context_trained: int = 0
    quantisation: Recipe | Literal[""] = ""
    shape: Shape | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    client: Mapping[str, str | float] = field(default_factory=dict)


class Catalogue:
    """The cards by name, in the catalogue's order. complaint: why an operator's own cards are missing, if they are."""

    def __init__(self, cards: Iterable[ModelCard], complaint: str = "") -> None:
        self._cards = {card.name: card for card in cards}
        self.complaint = complaint

    @classmethod
    def load(cls, extra: Path | None = None) -> Self:
        """The built-in cards and an operator's own. Raises CatalogueError.

        An operator's file adds models. It cannot change a built-in one, and a model of a family that is refused stays
        refused under any other name.
        """
        built_in = _read(_BUILT_IN)
        own = _read(extra) if extra else []
        names = [card.name for card in built_in]
        refused = {card.family: card for card in built_in if card.status == "refused"}
        for card in own:
            if card.name in names:
                raise CatalogueError(f"{extra}: {card.name} is already a model of the catalogue; give it another name")
            _check_family(card, refused, extra)
            _check_approval(card, extra)
        return cls([*built_in, *own])

    @classmethod
    def tolerant(cls, extra: Path | None) -> Self:
        """The same for a service that has to start: a file that cannot be used costs its own cards only."""
        try:
            return cls.load(extra)
        except CatalogueError as error:
            return cls(_read(_BUILT_IN), complaint=str(error))

    def get(self, name: str) -> ModelCard:
        """Raises UnknownModel, which names the models there are. A name of a refused family gets its card."""
        if name in self._cards:
            return self._cards[name]
        refused = [card for card in self._cards.values() if card.status == "refused"]
        if named := next((card for card in refused if _plain(card.family) in _plain(name)), None):
            return named
        near = difflib.get_close_matches(name, self._cards, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        missing = f" (your own catalogue could not be used: {self.complaint})" if self.complaint else ""
        raise UnknownModel(f"no model is called {name!r}; {hint}known: {', '.join(self._cards)}{missing}")

    def names(self) -> tuple[str, ...]:
        return tuple(self._cards)

    def default(self) -> ModelCard:
        """The model to use when nobody chose one."""
        return next(card for card in self._cards.values() if card.default)


def require_allowed(card: ModelCard, *, allow_unapproved: bool) -> None:
    """Raises ModelNotAllowed unless the model may answer: approved, or unapproved with the operator's explicit word."""
    if card.status == "refused":
        raise ModelNotAllowed(f"{card.name} is refused: {card.reason}")
    if card.purpose != "chat":
        raise ModelNotAllowed(f"{card.name} is a {card.purpose} model: it judges texts and never answers people")
    if card.status != "approved" and not allow_unapproved:
        raise ModelNotAllowed(
            f"{card.name} is not approved to speak to people ({card.reason}); choose an approved model "
            "(crisis models list), or set allow_unapproved = true to try it out"
        )


def _read(path: Path) -> list[ModelCard]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise CatalogueError(f"{path}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise CatalogueError(f"{path}: not TOML: {exc}") from exc
    entries = table.get("model")
    if not isinstance(entries, list) or set(table) != {"model"}:
        raise CatalogueError(f"{path}: holds nothing but [[model]] tables")
    return [_card(entry, f"{path}, model {number}") for number, entry in enumerate(entries, 1)]


def _card(entry: dict[str, Any], where: str) -> ModelCard:
    known = {f.name: f for f in fields(ModelCard)}
    required = {name for name, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    if missing := required - entry.keys():
        raise CatalogueError(f"{where}: lacks {', '.join(sorted(missing))}")
    if unknown := entry.keys() - known.keys():
        raise CatalogueError(f"{where}: unknown {', '.join(sorted(unknown))}")
    for name, value in entry.items():
        _check_type(name, value, known[name].type, where)
    for name, allowed in _CHOICES.items():
        if entry.get(name, allowed[0]) not in allowed:
            raise CatalogueError(f"{where}: {name} is one of {', '.join(allowed)}")
    if entry.get("sha256") and not _SHA256.fullmatch(entry["sha256"]):
        raise CatalogueError(f"{where}: sha256 is 64 lower-case hexadecimal digits")
    if Path(entry["file"]).name != entry["file"]:
        raise CatalogueError(f"{where}: file is a name, not a path; the folder is weights_dir")
    return ModelCard(**{**entry, "stop": tuple(entry.get("stop", ())), "shape": _shape(entry, where)})


def _check_type(name: str, value: object, wanted: object, where: str) -> None:
    kinds: dict[object, type] = {int: int, bool: bool, tuple[str, ...]: list}
    tables = (Shape | None, Mapping[str, float], Mapping[str, str | float])
    kind = dict if wanted in tables else kinds.get(wanted, str)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CatalogueError(f"{where}: {name} has the wrong type")


def _shape(entry: Mapping[str, Any], where: str) -> Shape | None:
    if "shape" not in entry:
        return None
    if not entry.get("quantisation") or entry.get("context_trained", 0) <= 0:
        raise CatalogueError(f"{where}: a shape needs quantisation and context_trained")
    try:
        shape = Shape.from_table(entry["shape"], context_trained=entry["context_trained"])
    except KeyError as exc:
        raise CatalogueError(f"{where}: shape lacks {exc.args[0]}") from exc
    except (TypeError, ValueError) as exc:
        raise CatalogueError(f"{where}: shape: {exc}") from exc
    return shape


def _check_family(card: ModelCard, refused: Mapping[str, ModelCard], path: Path | None) -> None:
    said = _plain(f"{card.name} {card.title} {card.file} {card.repo} {card.family}")
    for family, known in refused.items():
        if _plain(family) in said and card.status != "refused":
            raise CatalogueError(f"{path}: {card.name} is a {family} model, which is refused: {known.reason}")


def _check_approval(card: ModelCard, path: Path | None) -> None:
    if card.status == "approved" and not (card.approved_by.strip() and _is_date(card.approved_on)):
        raise CatalogueError(
            f"{path}: {card.name} is approved by nobody: set approved_by (a name) and approved_on (YYYY-MM-DD)"
        )


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
