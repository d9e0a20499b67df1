"""Every package that this project brings is held to one version."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def locked(root: Path) -> subprocess.CompletedProcess[str]:
    """What the audit says of a project's lock, without a network."""
    audit = [sys.executable, str(root / "scripts" / "audit.py"), "--locked"]
    return subprocess.run(audit, capture_output=True, text=True, timeout=60)


def test_every_installed_package_is_locked_at_its_version():
    ran = locked(ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_package_that_is_missing_or_of_another_version_is_named(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/audit.py", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    changed = [line for line in pins if not line.startswith("starlette==")]
    changed = ["uvicorn==0.0.1" if line.startswith("uvicorn==") else line for line in changed]
    (tmp_path / "constraints.txt").write_text("\n".join(changed) + "\n", encoding="utf-8")
    ran = locked(tmp_path)
    assert ran.returncode == 1
    assert "starlette is missing" in ran.stdout
    assert "uvicorn is 0.0.1" in ran.stdout
    assert len(ran.stdout.splitlines()) == 2
    (tmp_path / "constraints.txt").write_text("uvicorn>=1\n", encoding="utf-8")
    assert "constraints.txt:1" in locked(tmp_path).stderr
