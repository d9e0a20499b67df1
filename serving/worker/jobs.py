"""A request as the job that is sent to a worker, or to a llama-server, which both read the conversation themselves."""

from serving.backend import BackendMisconfigured, Request
from serving.worker.protocol import Job


def job_of(request: Request, number: int, *, who: str) -> Job:
    """The job with this number. Raises BackendMisconfigured where the last turn is not the user's."""
    if not request.turns or request.turns[-1].role != "user":
        raise BackendMisconfigured(f"{who}: the last turn must be the user's")
    known = request.system.startswith(request.protocol_prefix)
    return Job(
        id=number,
        system=request.system,
        prefix_chars=len(request.protocol_prefix) if known else 0,
        turns=tuple((turn.role, turn.text) for turn in request.turns),
        prefix=request.prefix,
        max_tokens=request.max_tokens,
        stop=request.stop,
    )
