"""Which things that are said together, each too weak alone, make a level. The table is the whole policy."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from shield.assessment import Level

Kinds = frozenset[tuple[str, str]]  # (kind, id of the rule that showed it)


@dataclass(frozen=True, slots=True)
class Combination:
    """`needs` names kinds; one named twice must be shown by two different rules. `across`: also over several turns."""

    name: str
    needs: tuple[str, ...]
    level: Level
    category: str
    why: str
    across: bool = True


_IDEATION = ("direct_ideation", "indirect_ideation", "despair", "self_harm", "farewell", "plan_or_means")


def _rows() -> Iterator[Combination]:
    row = Combination
    for kind in ("loss", "despair", "calm", *_IDEATION):
        name = f"{kind.replace('_', '-')}-access"
        yield row(name, (kind, "access"), "high", "method_seeking", "a loss or despair, then a question about access")
    for kind in ("direct_ideation", "indirect_ideation", "despair"):
        name = kind.replace("_", "-")
        yield row(
            f"{name}-means", (kind, "means"), "high", "plan_or_means", "ideation with means at hand", across=False
        )
        yield row(f"{name}-prepare", (kind, "prepare"), "high", "plan_or_means", "ideation with preparation")
        yield row(f"{name}-thanks", (kind, "thanks"), "high", "farewell", "thanks or apologies after despair")
    yield row("ideation-calm", ("indirect_ideation", "calm"), "high", "farewell", "calm after despair", across=False)
    yield row("prepare-prepare", ("prepare", "prepare"), "high", "plan_or_means", "several preparations")
    yield row(
        "prepare-finality", ("prepare", "finality"), "high", "plan_or_means", "preparations for a time after oneself"
    )
    yield row("prepare-calm", ("prepare", "calm"), "high", "plan_or_means", "preparations and a sudden calm")
    yield row(
        "prepare-secrecy", ("prepare", "secrecy"), "high", "plan_or_means", "preparations kept secret", across=False
    )
    yield row("prepare-thanks", ("prepare", "thanks"), "high", "farewell", "preparations and thanks that sum up")
    yield row(
        "means-secrecy", ("means", "secrecy"), "high", "plan_or_means", "alone on purpose with means", across=False
    )
    yield row("means-finality", ("means", "finality"), "high", "plan_or_means", "last things and means", across=False)
    yield row("means-calm", ("means", "calm"), "high", "plan_or_means", "a decision and means", across=False)
    yield row("means-drink", ("means", "drink"), "high", "plan_or_means", "drink and means", across=False)
    yield row(
        "means-loss", ("means", "loss"), "moderate", "plan_or_means", "a loss, and means on the mind", across=False
    )
    yield row("calm-finality", ("calm", "finality"), "high", "farewell", "calm, and last things", across=False)
    yield row("thanks-finality", ("thanks", "finality"), "high", "farewell", "thanks, and last things", across=False)
    yield row("thanks-calm", ("thanks", "calm"), "moderate", "farewell", "thanks, and a decision", across=False)
    yield row(
        "loss-finality", ("loss", "finality"), "moderate", "indirect_ideation", "a loss, and last things", across=False
    )
    yield row("despair-finality", ("despair", "finality"), "moderate", "indirect_ideation", "despair, and last things")
    yield row("hidden-hour", ("hidden", "over_by_then"), "imminent", "plan_or_means", "a hidden place, and an hour")
    yield row("farewell-hidden", ("farewell", "hidden"), "imminent", "plan_or_means", "a goodbye from a hidden place")
    yield row("farewell-hour", ("farewell", "over_by_then"), "imminent", "plan_or_means", "a goodbye, and an hour")
    yield row(
        "concern-gift", ("third_party_concern", "gift"), "high", "third_party_concern", "they part with dear things"
    )
    yield row("history-despair", ("history", "despair"), "moderate", "direct_ideation", "an old attempt, distress now")


COMBINATIONS: tuple[Combination, ...] = tuple(_rows())
_COUNTED = tuple((row, frozenset(row.needs), tuple(Counter(row.needs).items())) for row in COMBINATIONS)


def unsure(row: Combination, kinds: Kinds) -> bool:
    """Whether a part of the combination was shown by unsure rules alone: together they are no surer than that part."""
    sure = {rule for kind, rule in kinds if kind == "sure"}
    shown = [kind for kind, rule in kinds if rule in sure]
    return any(shown.count(kind) < row.needs.count(kind) for kind in row.needs)


def combined(kinds: Kinds, *, across: bool = False) -> tuple[Combination, ...]:
    """The combinations that these kinds make, gravest knowledge of the table included, none left out."""
    if len(kinds) < 2:
        return ()
    counts = Counter(kind for kind, _ in kinds)
    shown = counts.keys()
    return tuple(
        row
        for row, kinds_needed, numbers in _COUNTED
        if kinds_needed <= shown
        and (row.across or not across)
        and all(counts[kind] >= number for kind, number in numbers)
    )
