"""Why a model could not be loaded or went wrong in this engine, in fixed words."""

from serving.worker.reasons import NO_MEMORY

NO_GPU = 'device = "cuda", but torch sees no GPU it could use'
UNSUPPORTED = "this version of transformers does not know the model's architecture"
NOT_DIVISIBLE = "the model keeps a kind of state that this engine cannot continue from"
UNKNOWN_TOKENISER = "the model's tokenizer is of a kind that this engine does not know"
INCOMPLETE = "the model's folder is incomplete: not every weight of its config.json is in its *.safetensors files"
DAMAGED = "the model's weights are damaged"
UNKNOWN_LOAD = "transformers could not load the model"
NOT_IMPORTED = "torch or transformers is installed, but cannot be imported"
NOT_EVALUATED = "torch failed while evaluating"
NO_ROOM = "torch had not enough memory to evaluate this conversation"

_SIGNS = (
    ("out of memory", NO_MEMORY),
    ("can't allocate memory", NO_MEMORY),
    ("cannot allocate memory", NO_MEMORY),
    ("not recognize this architecture", UNSUPPORTED),
    ("unrecognized configuration class", UNSUPPORTED),
    ("unrecognized model", UNSUPPORTED),
)


def of_load_fault(fault: BaseException) -> str:
    """The fixed reason that an exception while loading stands for."""
    if isinstance(fault, MemoryError):
        return NO_MEMORY
    if type(fault).__name__ == "SafetensorError":
        return DAMAGED
    said = str(fault).lower()
    return next((reason for sign, reason in _SIGNS if sign in said), UNKNOWN_LOAD)


def of_fault(fault: BaseException) -> str:
    """The same for one while evaluating."""
    return NO_ROOM if of_load_fault(fault) == NO_MEMORY else NOT_EVALUATED
