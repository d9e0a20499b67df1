"""Which things that are said together, each too weak alone, make a level. The table is the whole policy."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shield.assessment import Level

Kinds = frozenset[tuple[str, str]]  # (kind, id of the rule that showed it)


@dataclass(frozen=True, slots=True)
class Combination:
    """`needs` names kinds; a kind named twice must be shown by two different rules. `across`: also over several turns."""

    name: str
    needs: tuple[str, ...]
    level: Level
    category: str
    why: str
    across: bool = True


def _rows() -> Iterator[Combination]:
    ideation = ("direct_ideation", "indirect_ideation")
    yield Combination(
        "loss-access", ("loss", "access"), "high", "method_seeking", "a loss, then a question about access"
    )
    yield Combination("despair-access", ("despair", "access"), "high", "method_seeking", "despair, then access")
    for kind in (*ideation, "self_harm", "farewell"):
        yield Combination(
            f"{kind.replace('_', '-')}-access", (kind, "access"), "high", "method_seeking", "ideation, then access"
        )


COMBINATIONS: tuple[Combination, ...] = tuple(_rows())


def combined(kinds: Kinds, *, across: bool = False) -> tuple[Combination, ...]:
    """The combinations that these kinds make, gravest knowledge of the table included, none left out."""
    counts = Counter(kind for kind, _ in kinds)
    return tuple(row for row in COMBINATIONS if (row.across or not across) and _met(row.needs, counts))


def _met(needs: Iterable[str], counts: Counter[str]) -> bool:
    return all(counts[kind] >= number for kind, number in Counter(needs).items())
