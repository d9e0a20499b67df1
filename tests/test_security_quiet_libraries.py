"""No library of ours reports to its makers: nothing leaves the machine, and nothing is queued on it to leave later."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OURS = ".cache/crisis-support/"  # compiled rules (docs/privacy.md)
ASSESS = """
from shield.detect import Detector
from shield.assessment import Turn
print(Detector.load().assess((Turn("user", "I want to die"),)).level)
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home, in which no telemetry was switched off by anybody."""
    kept = {
        name: value for name, value in os.environ.items() if "TELEMETRY" not in name and not name.startswith("XDG_")
    }
    return {**kept, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_the_learned_stage_leaves_nothing_in_the_home_folder(home: dict[str, str]) -> None:
    ran = subprocess.run([sys.executable, "-c", ASSESS], env=home, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() != "none"
    left = {str(path.relative_to(home["HOME"])) for path in Path(home["HOME"]).rglob("*") if path.is_file()}
    assert {path for path in left if not path.startswith(OURS)} == set()
