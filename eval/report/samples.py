"""The single measurements behind the quantiles of a report, for the plots that show a distribution."""

from collections.abc import Iterable

from eval.latency import STAGES
from eval.transcripts import Transcript

TITLES = {
    "first_help": "First help shown (helplines)",
    "first_sentence": "First sentence of the reply",
    "total": "Whole reply",
    "model_first_text": "Model: first text",
    "model_total": "Model: whole text",
    "shield": "SHIELD's own work",
}
"""Every stage of eval.latency, in the order in which a person meets them."""


def samples(transcripts: Iterable[Transcript], stage: str) -> dict[str, list[float]]:
    """By subject, the milliseconds of each reply that reached the stage. Replies that broke off have no latency."""
    found: dict[str, list[float]] = {}
    for one in transcripts:
        taken = [STAGES[stage](exchange) for exchange in one.exchanges if not exchange.error]
        found.setdefault(one.subject.name, []).extend(ms for ms in taken if ms is not None)
    return {name: values for name, values in found.items() if values}
