"""Are the dependencies locked, and is anything known against the locked versions?

    python scripts/audit.py            both; a database that cannot be reached is said, and is no failure
    python scripts/audit.py --locked   the first only: needs no network

Locked: every package that this project's extras bring, as far as they are installed here, has its exact version in
constraints.txt, and that version is the installed one. Exit status: 0 in order, 1 not.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
TOOL = "pip-audit==2.10.1"
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)")
_UNREACHABLE = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "NameResolution", "ProxyError", "SSLError")
_WITH_PYTHON = frozenset({"pip", "setuptools"})  # what a fresh environment brings is not ours to choose
_LATER = frozenset({"nvidia", "triton", "cuda"})  # torch's wheels for NVIDIA GPUs; `make setup` never installs them


def main() -> int:
    parser = argparse.ArgumentParser(description="Are the dependencies locked, and is anything known against them?")
    parser.add_argument("--locked", action="store_true", help="look at constraints.txt only")
    asked = parser.parse_args()
    pins = locked()
    problems = list(unlocked(pins))
    print(
        *(problems or [f"locked: {len(pins)} packages, all installed ones of this project's extras among them"]),
        sep="\n",
    )
    if problems:
        return 1
    return 0 if asked.locked else audited(pins)


def locked() -> dict[str, str]:
    """The versions of constraints.txt by name. Exits for a line that pins nothing."""
    pins: dict[str, str] = {}
    for number, line in enumerate((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines(), start=1):
        pin = _PIN.fullmatch(line.strip())
        if pin is None:
            sys.exit(f"constraints.txt:{number}: is not 'name==version'")
        pins[canonicalize_name(pin[1])] = pin[2]
    return pins


def unlocked(pins: dict[str, str]) -> Iterator[str]:
    """What is not held to one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for name, version in sorted(installed(map(Requirement, wanted)).items()):
        if pins.get(name) is None:
            yield f"constraints.txt: {name} is missing; {version or 'no version'} is installed here"
        elif (
            version is not None and pins[name] != version.split("+")[0]
        ):  # 2.13.0+cpu is 2.13.0 for one kind of machine
            yield f"constraints.txt: {name} is {pins[name]}, but {version} is installed here; run `make setup`"


def installed(wanted: Iterable[Requirement]) -> dict[str, str | None]:
    """The version here of each requirement and of all that they need; None for one that is not installed."""
    found: dict[str, str | None] = {}
    todo = [(one, "") for one in wanted]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        requirement, extra = todo.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if (name, frozenset(requirement.extras)) in seen or name.split("-")[0] in _LATER | _WITH_PYTHON:
            continue
        seen.add((name, frozenset(requirement.extras)))
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            found.setdefault(name, None)
            continue
        found[name] = distribution.version
        for line in distribution.requires or ():
            todo += [(Requirement(line), given) for given in (*requirement.extras, "")]
    return found


def audited(pins: dict[str, str]) -> int:
    """Asks OSV about every locked version, with pip-audit in an environment of its own."""
    folder = ROOT / "build" / "audit"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    quiet = [
        str(python),
        "-m",
        "pip",
        "install",
        "-qq",
        "--disable-pip-version-check",
        "-c",
        str(ROOT / "constraints.txt"),
    ]
    subprocess.run([*quiet, TOOL], check=True)  # noqa: S603 - our own words
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{name}=={version}\n" for name, version in pins.items())
        file.flush()
        asked = [
            str(python),
            "-m",
            "pip_audit",
            "--no-deps",
            "--disable-pip",
            "-s",
            "osv",
            "--timeout",
            "15",
            "-r",
            file.name,
        ]
        ran = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if ran.returncode and any(word in ran.stderr for word in _UNREACHABLE):
        print("NOT AUDITED: the vulnerability database (api.osv.dev) cannot be reached from this machine")
        return 0
    print(ran.stdout or ran.stderr)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
