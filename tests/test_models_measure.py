"""What `crisis models plan --measure` leaves behind: nothing, however it ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import crisis

from models.catalogue import Catalogue
from models.measure import Machine, TrialFailed, of_shape
from models.plan import Settings

QWEN = Catalogue.load().get("qwen2.5-0.5b-instruct-q4_k_m")
_WRITING = """
import sys, time
from pathlib import Path
from models import measure, replica
from models.catalogue import Catalogue
from models.plan import Settings

def write(path, shape, recipe):
    path.write_bytes(b"GGUF")
    print("writing", flush=True)
    time.sleep(60)

replica.write = write
card = Catalogue.load().get("qwen2.5-0.5b-instruct-q4_k_m")
run = Settings(512).run("llama_cpp")
measure.of_shape(card.shape, card.quantisation, run, Path(sys.argv[1]), measure.Machine())
"""


def writing(folder: Path) -> subprocess.Popen[str]:
    """A process that is writing its replica into the folder."""
    process = subprocess.Popen([sys.executable, "-c", _WRITING, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_measurement_that_is_ended_takes_its_replica_with_it(tmp_path: Path, number: signal.Signals) -> None:
    with writing(tmp_path) as process:
        assert len(list(tmp_path.glob(".replica-*/replica.gguf"))) == 1
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert not list(tmp_path.iterdir())


def test_what_a_killed_one_left_is_removed_by_the_next_and_a_running_ones_is_not(tmp_path: Path) -> None:
    with writing(tmp_path) as killed:
        killed.kill()
        killed.wait(30)
    assert len(list(tmp_path.iterdir())) == 1
    with writing(tmp_path) as first, writing(tmp_path) as second:
        kept = {int(path.name.split("-")[1]) for path in tmp_path.iterdir()}
        assert kept == {first.pid, second.pid}
        for process in (first, second):
            process.terminate()
            process.wait(30)


def test_a_folder_that_is_a_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert QWEN.shape is not None
    with pytest.raises(TrialFailed) as told:
        of_shape(QWEN.shape, QWEN.quantisation, Settings(512).run("llama_cpp"), tmp_path / "file", Machine())
    assert "CRISIS_WEIGHTS_DIR" in str(told.value)


def test_a_refused_model_is_not_measured(tmp_path: Path) -> None:
    asked = ("models", "plan", "mistral-7b-instruct-q4_k_m", "--measure", "--vram", "8GiB")
    (ran,) = crisis(asked, env={"CRISIS_WEIGHTS_DIR": str(tmp_path)})
    assert ran.status == 1
    assert "refused" in ran.err
    assert not list(tmp_path.iterdir())
