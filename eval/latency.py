"""How long the stages of a reply took: percentiles in milliseconds, and medians in yardsticks to compare machines by.

shield              SHIELD's own work
first_help          until the resources were there (no model is asked before)
first_sentence      until the first words were there; raw: until the model's first text
model_first_text    from a backend's request to its first text, of the first backend that gave any
model_total         all requests to backends of one reply, together
total               the whole reply
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from eval.bench.figures import percentile
from eval.transcripts import Exchange, Transcript

Stage = Callable[[Exchange], float | None]


def _timing(name: str) -> Stage:
    return lambda exchange: exchange.timings.get(name)


def _model_first_text(exchange: Exchange) -> float | None:
    return next((call.first_text_ms for call in exchange.calls if call.first_text_ms is not None), None)


def _model_total(exchange: Exchange) -> float | None:
    return sum(call.total_ms for call in exchange.calls) if exchange.calls else None


STAGES: dict[str, Stage] = {
    "shield": _timing("shield_ms"),
    "first_help": _timing("resources_ms"),
    "first_sentence": _timing("first_sentence_ms"),
    "model_first_text": _model_first_text,
    "model_total": _model_total,
    "total": _timing("total_ms"),
}


def stages(transcripts: Sequence[Transcript]) -> dict[str, Any]:
    """latency_ms, latency_yardsticks and tokens_per_second. Replies that broke off are left out: they took the time of
    a failure."""
    taken = {name: _values(transcripts, stage) for name, stage in STAGES.items()}
    return {
        "latency_ms": {name: summary([ms for ms, _ in pairs]) for name, pairs in taken.items()},
        "latency_yardsticks": {
            name: round(statistics.median(ms / yardstick for ms, yardstick in pairs), 2) if pairs else None
            for name, pairs in taken.items()
        },
        "tokens_per_second": summary(_speeds(transcripts)),
    }


def summary(values: Sequence[float]) -> dict[str, Any] | None:
    """n, p50, p95, p99, max; None where nothing was measured."""
    if not values:
        return None
    figures = {f"p{share}": round(percentile(values, share / 100), 2) for share in (50, 95, 99)}
    return {"n": len(values), **figures, "max": round(max(values), 2)}


def _values(transcripts: Sequence[Transcript], stage: Stage) -> list[tuple[float, float]]:
    """(milliseconds, the yardstick then) of every reply that has the stage."""
    pairs = [(stage(one), each.yardstick_ms) for each in transcripts for one in each.exchanges if not one.error]
    return [(ms, yardstick) for ms, yardstick in pairs if ms is not None]


def _speeds(transcripts: Sequence[Transcript]) -> list[float]:
    """Tokens a second of each request that the engine counted."""
    usages = [call.usage for each in transcripts for one in each.exchanges for call in one.calls if call.usage]
    return [
        used["n_generated"] / used["generate_ms"] * 1000
        for used in usages
        if used.get("generate_ms") and used.get("n_generated")
    ]
