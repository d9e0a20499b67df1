"""`crisis models use NAME`: another model in the first local entry of [[chain]], in the file and in what runs now."""

import hashlib
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.chain_file import Edit, put_model, write
from cli.console import ConfigOption, Failure
from cli.models_catalogue import Opened, opened
from cli.presence import Found, services
from cli.undisturbed import Signals, alone, noted
from models.catalogue import ModelCard, ModelError, require_allowed
from models.weights import locate, verify
from serving.settings import Settings, SettingsError, find_file, load, state_folder

_TICK_S = 0.1
_NO_FILE = "no settings file: copy crisis.example.toml to crisis.toml, or name one with --config"


def use(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `crisis models list`.")],
    config: ConfigOption = None,
    entry: Annotated[
        str | None, typer.Option("--entry", metavar="ENTRY", help="The chain entry; default: the first local one.")
    ] = None,
    path: Annotated[
        Path | None, typer.Option("--path", metavar="FILE", help="The model's file; default: from the weights folder.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=1, help="How long the running service may take.")
    ] = 600.0,
) -> None:
    """Use another model: change [[chain]] in the settings file, and have the running service take it without an outage.

    The old model answers until the new one is loaded and has passed its check; where both don't fit, the rest of the
    chain answers meanwhile. If that fails the file is as it was, the old model goes on, and the exit status is 1.
    """
    known, file = opened(config), find_file(config)
    if file is None:
        raise Failure(_NO_FILE, 2)
    card = known.card(name)
    _require_allowed(card, known)
    with alone(file, "crisis models use"):
        before = file.read_bytes()
        edit = put_model(before.decode(), card.name, entry=entry, path=path.resolve() if path else None)
        found = _genuine(card, known, Path(edit.path) if edit.path else None)
        with noted() as signals:
            _require_effect(edit, file, card)
            change = Change(file, before, edit, [Waiting(service) for service in services(state_folder(), file)])
            change.make(signals, found, card, ends_at=time.monotonic() + wait)


def _require_allowed(card: ModelCard, known: Opened) -> None:
    try:
        require_allowed(card, allow_unapproved=known.settings.allow_unapproved)
    except ModelError as error:
        raise Failure(str(error)) from None


def _genuine(card: ModelCard, known: Opened, path: Path | None) -> Path:
    """The model's file, where it is what it should be. Failure says why not, before anything changes."""
    try:
        found = locate(card, weights_dir=known.folder, path=path)
        verify(found, card, named=path is not None)
    except ModelError as error:
        raise Failure(str(error)) from None
    return found


def _require_effect(edit: Edit, file: Path, card: ModelCard) -> None:
    """The changed settings can be read, and no variable overrides them. Failure otherwise, with nothing changed."""
    trial = _trial(file, edit.text)
    try:
        chosen = load(trial)
    except SettingsError as error:
        raise Failure(str(error).replace(str(trial), str(file)), 2) from None
    finally:
        trial.unlink(missing_ok=True)
    if card.name not in _models(chosen):
        raise Failure("a CRISIS_… variable sets the chain, so that the file's [[chain]] has no effect", 2)


def _trial(file: Path, text: str) -> Path:
    """The text in a file beside this one, that only its owner can read. Raises Failure."""
    try:
        with tempfile.NamedTemporaryFile(
            dir=file.parent, prefix=f".{file.name}.", suffix=".trial", delete=False
        ) as made:
            made.write(text.encode())
    except OSError as error:
        raise Failure(f"{file.parent}: cannot be written to: {error.strerror}") from None
    return Path(made.name)


def _models(settings: Settings) -> set[str]:
    return {entry.model for entry in settings.chain}


@dataclass(slots=True)
class Waiting:
    """One running service, and how many swaps it had before this one."""

    service: Found
    since: int = field(init=False)
    doing: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.since = int((self.service.swap() or {}).get("swaps", 0))

    def outcome(self, digest: str) -> dict[str, Any] | None:
        """The swap that read our file, once there is one. Raises Failure when the service has ended."""
        told = self.service.swap()
        if told is None:
            raise Failure("the service ended meanwhile")
        self._show(str(told.get("state", "")))
        newer = [swap for swap in told.get("recent", ()) if swap["number"] > self.since]
        return next((dict(swap) for swap in reversed(newer) if swap["digest"] == digest), None)

    def _show(self, doing: str) -> None:
        if doing not in ("", "idle", self.doing):
            print(f"  {doing} …", file=sys.stderr, flush=True)
            self.doing = doing


@dataclass(frozen=True, slots=True)
class Change:
    """The file's new text, from when it is written until the services took it over, or it is put back."""

    file: Path
    before: bytes
    edit: Edit
    running: list[Waiting]

    @property
    def ours(self) -> bytes:
        return self.edit.text.encode()

    def make(self, signals: Signals, found: Path, card: ModelCard, *, ends_at: float) -> None:
        """Raises Failure when it did not work out; however it ends then, the file is as it was."""
        if self.file.read_bytes() != self.before:
            raise Failure(f"{self.file}: somebody else changed it meanwhile; nothing was done")
        try:
            signals.heed()
            if self.ours != self.before:
                write(self.file, self.ours)
            print(f"{self.file}: chain entry {self.edit.entry} is {card.name} now ({found})")
            if self.edit.old_path and not self.edit.path:
                print(f"its path ({self.edit.old_path}) belonged to the old model and is gone")
            self._carry_over(signals, ends_at)
        except (Failure, OSError) as error:
            status = error.status if isinstance(error, Failure) else 1
            raise Failure(f"{error}; {self._put_back()}", status) from None
        except BaseException:
            self._put_back()
            raise

    def _carry_over(self, signals: Signals, ends_at: float) -> None:
        asked = self._asked()
        if len(asked) < len(self.running):
            print("a service that runs with --demo keeps its demo model")
        if not asked:
            print("no service runs with this file: the model is used from the next start on")
            return
        for one in asked:
            one.service.reload()
        for one in asked:
            _conclude(self._awaited(one, signals, ends_at), one.service)

    def _asked(self) -> list[Waiting]:
        return [one for one in self.running if not one.service.demo]

    def _awaited(self, one: Waiting, signals: Signals, ends_at: float) -> dict[str, Any]:
        digest = hashlib.sha256(self.ours).hexdigest()
        while (swap := one.outcome(digest)) is None:
            signals.heed()
            if time.monotonic() > ends_at:
                raise Failure("the service did not come to an end in time; --wait gives it longer")
            if self.file.read_bytes() != self.ours:
                raise Failure("somebody else changed the file meanwhile")
            time.sleep(_TICK_S)
        return swap

    def _put_back(self) -> str:
        """The file as it was, and the services that took the new one back to it; what was done, in words."""
        if self.file.read_bytes() == self.before:
            return f"{self.file} is as it was"
        if self.file.read_bytes() != self.ours:
            return f"{self.file} was left as it is"
        write(self.file, self.before)
        for one in self._asked():
            with suppress(OSError):  # it has ended
                one.service.reload()
        return f"{self.file} is as it was"


def _conclude(swap: dict[str, Any], service: Found) -> None:
    if swap["outcome"] == "rolled-back":
        raise Failure(f"the service (process {service.pid}) goes on with the old model: {swap['reason']}")
    note = f" ({swap['reason']})" if swap["reason"] else ""
    done = "had it already" if swap["outcome"] == "unchanged" else f"took it over in {swap['seconds']:.1f} s"
    print(f"the service (process {service.pid}) {done}{note}")
