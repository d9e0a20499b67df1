"""What a program that we start for an engine sees of the service's environment: nothing that is named like a secret."""

import os
from pathlib import Path

import serving

# How long a thread of llama.cpp spins for the others before it sleeps. With OpenMP's default, 300,000, busy neighbours
# make prompts several times slower on two cores. 0 (OMP_WAIT_POLICY=passive) makes generation on a free machine half as
# fast from two threads up. With this few, neither was measurable.
_SPIN_COUNT = "1000"
_OURS = ("CRISIS_", "ANTHROPIC_", "OPENAI_", "OLLAMA_", "HF_TOKEN")
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASS", "CREDENTIALS")  # `api_key_env` may name any variable


def for_engine(*, without: tuple[str, ...] = ()) -> dict[str, str]:
    """The service's environment without its settings and without what is named like a secret.

    This very copy of the project is what a worker imports. With `without` begin the names of more that stay hidden.
    """
    kept = {name: value for name, value in os.environ.items() if not _hidden(name, without)}
    path = os.pathsep.join(filter(None, (str(Path(serving.__file__).parent.parent), kept.get("PYTHONPATH"))))
    return {"GOMP_SPINCOUNT": _SPIN_COUNT} | kept | {"PYTHONPATH": path}


def _hidden(name: str, without: tuple[str, ...]) -> bool:
    return name.startswith((*_OURS, *without)) or name.upper().endswith(_SECRET)
