"""What an operator installs: the health check, the unit, the container. They name what exists."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from commands import crisis
from running import service

from cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"


def test_health_is_asked_of_a_running_service_without_a_key(tmp_path: Path):
    (key,) = crisis(["keys", "add", "agent", "--file", str(tmp_path / "keys.toml")], env={})
    assert key.status == 0
    config = f'[server]\nhost = "127.0.0.1"\nkeys_file = "{tmp_path / "keys.toml"}"\n'
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with service(tmp_path, config, env=env) as running:
        port = running.url.rsplit(":", 1)[1]
        at = ["--config", str(tmp_path / "crisis.toml"), "--port", port]
        alive, ready = crisis(["health", *at], ["health", "--ready", *at], env=env)
    (gone,) = crisis(["health", *at], env=env)
    assert (alive.status, alive.out, ready.status, ready.out) == (0, "ok\n", 0, "ready\n")
    assert gone.status == 1
    assert len(gone.err.splitlines()) == 1
    assert "does not answer" in gone.err


def test_health_does_not_take_another_server_for_ours(tmp_path: Path):
    from http_server import running
    from starlette.applications import Starlette

    with running(Starlette()) as url:  # type: ignore[arg-type]  # any app will do
        (ran,) = crisis(
            ["health", "--port", url.rsplit(":", 1)[1]], env={"XDG_CONFIG_HOME": str(tmp_path)}, cwd=tmp_path
        )
    assert ran.status == 1


def test_the_image_holds_every_package_and_starts_what_exists():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = {package.split(".")[0] for package in project["tool"]["setuptools"]["packages"]}
    assert rooms == {
        words[1] for line in text.splitlines() if (words := line.split())[:1] == ["COPY"] and words[1] == words[-1]
    }
    extras = re.search(r"^ARG EXTRAS=(.*)$", text, re.MULTILINE)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["project"]["optional-dependencies"])
    assert "USER 10001:10001" in text
    for command in re.findall(r'CMD \["crisis", "(\w+)"', text):
        assert command in COMMANDS


def test_the_compose_file_can_be_read_and_gives_away_nothing():
    (found,) = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    assert found["healthcheck"]["test"][1] == "crisis"
    assert found["healthcheck"]["test"][2] in COMMANDS
    assert found["read_only"] is True
    assert found["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in found["ports"])
    assert (DEPLOY / found["build"]["dockerfile"].removeprefix("deploy/")).is_file()


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path):
    text = (DEPLOY / "crisis.service").read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=\S+/crisis (\w+)", text, re.MULTILINE)
    assert command is not None
    assert command[1] in COMMANDS
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    unit = tmp_path / "crisis.service"
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE), encoding="utf-8")
    ran = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    complaints = [line for line in ran.stderr.splitlines() if "crisis.service" in line]
    assert complaints == []
