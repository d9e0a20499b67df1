"""From what was measured to figures with their spread, ratios with their intervals, and the aims beside them."""

import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from eval.bench.contenders import TOGETHER
from eval.bench.contest import SITUATIONS, Record, Run
from eval.bench.figures import summary

MOST_OVERHEAD = 0.03
MOST_CACHED_OF_COLD = 0.1
MOST_SLOWEST_OF_QUEUED = 1 / 3
QUEUED, TOGETHER_ENGINE = "llama_cpp", "llama_server"
FIRST = ("cold", "protocol", "cached")

_SAMPLES, _SEED = 2000, 1
_ENOUGH = 5  # pairs, for an interval to say anything


def figures(record: Record, tokens: int) -> dict[str, Any]:
    """All of one engine's, as JSON. Milliseconds; tokens a second of all conversations together."""
    first, bare = record.first, record.bare_first
    return {
        "engine": record.name,
        "first_token_ms": {what: _summary_ms(first[what]) for what in FIRST if what in first},
        "bare_first_token_ms": {what: _summary_ms(bare[what]) for what in FIRST if what in bare},
        "cached_of_cold": _ratio(first.get("cached", ()), first.get("cold", ())),
        "bare_cached_of_cold": _ratio(bare.get("cached", ()), bare.get("cold", ())),
        "slowest_first_token_ms": {what: _summary_ms(record.together[what]) for what in record.together},
        "at_once": {str(count): _at_once(record, count, tokens) for count in sorted(record.path)},
        "runs_that_do_not_count": record.short,
        "memory_mib": round(record.memory_bytes / 2**20) if record.memory_bytes else None,
    }


def _at_once(record: Record, count: int, tokens: int) -> dict[str, Any]:
    path, bare = record.path[count], record.bare[count]
    overheads = [one.wall_s / other.wall_s - 1 for one, other in zip(path, bare, strict=True)]
    low, high = interval(overheads)
    return {
        "tokens_per_s": summary([_rate(run, count * tokens) for run in path], 1),
        "bare_tokens_per_s": summary([_rate(run, count * tokens) for run in bare], 1),
        "overhead": {**summary(overheads, 4), "interval_95": [round(low, 4), round(high, 4)]},
        "slowest_first_token_ms": _summary_ms([max(run.first_s) for run in path]),
    }


def aims(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The issue's aims, each with what was reached."""
    reached: list[dict[str, Any]] = []
    for row in rows:
        for count, at_once in row["at_once"].items():
            overhead = at_once["overhead"]
            name = f"{row['engine']}: our path over the bare engine, {count} at once"
            reached.append(_aim(name, overhead["median"], MOST_OVERHEAD) | _doubt(overhead, MOST_OVERHEAD))
        if row["cached_of_cold"] is not None:
            name = f"{row['engine']}: first token, cached over cold"
            reached.append(_aim(name, row["cached_of_cold"], MOST_CACHED_OF_COLD))
    by_name = {row["engine"]: row["slowest_first_token_ms"] for row in rows}
    for what in SITUATIONS:
        queued, together = (by_name.get(name, {}).get(what) for name in (QUEUED, TOGETHER_ENGINE))
        if queued and together:
            name = f"slowest first token of {TOGETHER} at once, {TOGETHER_ENGINE} over {QUEUED}, {what}"
            value = round(together["median"] / queued["median"], 3)
            reached.append(_aim(name, value, MOST_SLOWEST_OF_QUEUED))
    return reached


def _doubt(overhead: Mapping[str, Any], most: float) -> dict[str, Any]:
    """certain: the whole interval lies on one side, of enough pairs."""
    low, high = overhead["interval_95"]
    return {
        "interval_95": [low, high],
        "pairs": overhead["n"],
        "certain": overhead["n"] >= _ENOUGH and not low <= most < high,
    }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by drawing from the values again and again."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_SAMPLES))
    return medians[int(_SAMPLES * 0.025)], medians[int(_SAMPLES * 0.975)]


def table(rows: Sequence[Mapping[str, Any]], counts: Sequence[int]) -> str:
    """One line an engine. With our path; behind it, in per cent, how much slower that is than the bare engine."""
    heads = [
        "engine",
        "cold",
        "protocol",
        "cached",
        "cached/cold",
        *(f"{n} at once" for n in counts),
        f"slowest of {TOGETHER}, ms",
        "MiB",
    ]
    body = [[*_first(row), *(_cell(row, n) for n in counts), *_last(row)] for row in rows]
    widths = [max(len(line[at]) for line in (heads, *body)) for at in range(len(heads))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *body)]
    return "\n".join(lines)


def _first(row: Mapping[str, Any]) -> list[str]:
    told = row["first_token_ms"]
    first = [f"{told[what]['median']:.0f} ms" if what in told else "-" for what in FIRST]
    ratio = row["cached_of_cold"]
    return [str(row["engine"]), *first, "-" if ratio is None else f"{ratio:.3f}"]


def _cell(row: Mapping[str, Any], count: int) -> str:
    at_once = row["at_once"].get(str(count))
    if at_once is None:
        return "-"
    overhead = at_once["overhead"]
    low, high = overhead["interval_95"]
    rate = f"{at_once['tokens_per_s']['median']:.1f} tok/s {overhead['median']:+.1%}"
    return f"{rate} [{low:+.1%} {high:+.1%}]" if overhead["n"] > 1 else rate


def _last(row: Mapping[str, Any]) -> list[str]:
    slowest = row["slowest_first_token_ms"]
    cells = [f"{slowest[what]['median']:.0f}" if what in slowest else "-" for what in SITUATIONS]
    return [" / ".join(cells) if slowest else "-", str(row["memory_mib"] or "-")]


def _rate(run: Run, tokens: int) -> float:
    return tokens / run.wall_s


def _summary_ms(seconds: Sequence[float]) -> dict[str, Any]:
    return summary([1000 * value for value in seconds], 1)


def _ratio(values: Sequence[float], others: Sequence[float]) -> float | None:
    return round(statistics.median(values) / statistics.median(others), 4) if values and others else None


def _aim(name: str, value: float, most: float) -> dict[str, Any]:
    return {"what": name, "value": value, "at_most": round(most, 3), "met": value <= most}
