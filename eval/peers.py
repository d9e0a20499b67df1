"""Open crisis detectors from PyPI that run offline, as baselines on our own corpora (extra `peers`).

Each is asked as its own documentation asks it, about the person's messages; a conversation counts as found where any of
its messages is. They answer yes or no: whoever grades is counted from his mildest alarm on.
"""

import importlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from shield.assessment import Turn

Alarm = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Peer:
    """A detector of another house and its version."""

    name: str
    version: str
    alarm: Alarm

    def raises(self, turns: Sequence[Turn]) -> bool:
        """Whether it raises an alarm at any message of the person."""
        return any(self.alarm(turn.text) for turn in turns if turn.role == "user")


def installed() -> Iterator[Peer]:
    """Those that are there; `pip install -e '.[peers]'` installs them."""
    for name, made in (("pantheon-guardrails", _pantheon), ("cogno-aegis", _cogno), ("rrt-advocate", _rrt)):
        try:
            yield Peer(name, version(name), made())
        except ImportError:  # PackageNotFoundError is one
            continue


def _pantheon() -> Alarm:
    protocol = importlib.import_module("pantheon_guardrails.crisis").CrisisProtocol()
    return lambda text: bool(protocol.check(text).triggered)


def _cogno() -> Alarm:
    guard = importlib.import_module("cogno_aegis.input_guard")
    rules = importlib.import_module("cogno_aegis.safety").DEFAULT_CRISIS_RULES
    logging.getLogger(guard.log.name).setLevel(logging.ERROR)  # it logs a line for each alarm
    screen = guard.InputGuard(crisis_rules=rules)
    return lambda text: not screen.check_crisis(text).ok


def _rrt() -> Alarm:
    package = importlib.import_module("rrt_advocate")

    engine = package.CrisisEngine("bench")

    def alarm(text: str) -> bool:
        engine.reset_session()  # it compares with the messages before, and each of ours stands for itself
        return bool(engine.assess(text).crisis_level is not package.CrisisLevel.GREEN)

    return alarm
