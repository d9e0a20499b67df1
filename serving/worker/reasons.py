"""Why an engine stopped, in fixed words: the only thing that is kept of what a worker writes to its standard error.

llama.cpp's own output is read, matched against the table below and thrown away, because nobody can promise that no text
of a person is in it.
"""

import signal
from pathlib import Path

NO_MEMORY = "not enough memory for this model and context"
NOT_GGUF = "the model file is not a GGUF file"
TRUNCATED = "the model file is incomplete or damaged"
MISSING = "the model file is missing"
UNREADABLE = "the model file cannot be read"
BAD_TEMPLATE = "the model file's chat template does not take a plain conversation"
NO_TEMPLATE = "the model file carries no chat template"
UNSUPPORTED = "this build of llama.cpp does not know the model's architecture"
NOT_INSTALLED = "llama-cpp-python is not installed (mend it with: pip install 'crisis-support[llama-cpp]')"
NOT_EVALUATED = "llama.cpp failed while evaluating"
UNKNOWN_LOAD = "llama.cpp could not load the model"
NO_CONTEXT = "llama.cpp could not create a context with these settings (context, batch, KV types, flash attention)"

# The first that fits wins: causes before consequences.
_SIGNS: tuple[tuple[str, str], ...] = (
    ("out of memory", NO_MEMORY),
    ("cannot allocate memory", NO_MEMORY),
    ("failed to allocate", NO_MEMORY),
    ("unable to allocate", NO_MEMORY),
    ("bad_alloc", NO_MEMORY),
    ("memoryerror", NO_MEMORY),
    ("invalid magic", NOT_GGUF),
    ("not within the file bounds", TRUNCATED),
    ("corrupted or incomplete", TRUNCATED),
    ("failed to read", TRUNCATED),
    ("unexpectedly reached end of file", TRUNCATED),
    ("unknown model architecture", UNSUPPORTED),
    ("quantized v cache", "a quantised V cache needs flash attention"),
    ("v cache quantization", "a quantised V cache needs flash attention"),
    ("no module named 'llama_cpp'", NOT_INSTALLED),
    ("ggml_assert", "llama.cpp failed one of its own assertions"),
)


class LoadFailure(Exception):
    """The model cannot be loaded; the message is one of the reasons above."""


def classify(line: str) -> str | None:
    """The fixed reason that a line of llama.cpp's output stands for; None for most lines."""
    lowered = line.lower()
    return next((reason for sign, reason in _SIGNS if sign in lowered), None)


def rank(reason: str) -> int:
    """Lower is nearer to the cause."""
    reasons = [known for _, known in _SIGNS]
    return reasons.index(reason) if reason in reasons else len(reasons)


def of_fault(fault: BaseException) -> str:
    """A fault of our own in the worker: its type and place, never its words, which may quote what it choked on."""
    at = fault.__traceback__
    while at and at.tb_next:
        at = at.tb_next
    where = f" in {Path(at.tb_frame.f_code.co_filename).name}, line {at.tb_lineno}" if at else ""
    return f"the worker broke with {type(fault).__name__}{where}"


def of_exit(returncode: int | None) -> str:
    """What a process's end means when it gave no reason itself."""
    if returncode is None:
        return "the engine's process closed its pipe"
    if returncode >= 0:
        return f"the engine's process ended with status {returncode}"
    name = signal.Signals(-returncode).name if -returncode in set(signal.Signals) else f"signal {-returncode}"
    hint = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"the engine's process was ended by {name}{hint}"
