"""What Hyperscan is given for a whole pattern misses no text in which RE2 finds it: held for every shipped rule."""

from collections.abc import Sequence

import pytest

from safety_filter.readings import MARKS, marked
from shield.detect import rules
from textrules.database import Database
from textrules.matcher import regexp
from textrules.normalise import views
from textrules.rules import Rule, load_folder, needed, scanned

SHIELD, FILTER = rules(), load_folder("safety_filter", "rules")
ODD = ("…", "\v", "💀 ", "é", "耀", "\u00a0", "_", "\n", "-- ", "\x00")


def texts(of: Sequence[Rule]) -> list[str]:
    """Every example, plain and with something odd before, behind and between its words."""
    said = [example for rule in of for example in (*rule.matches, *rule.ignores)]
    odd = (
        (f"{one}{text}{one}", text.replace(" ", f" {one}"))[number % 2]
        for number, text in enumerate(said)
        for one in (ODD[number % len(ODD)],)
    )
    return [*said, *odd]


@pytest.mark.parametrize(
    ("of", "marks", "said"),
    [
        (SHIELD, (), [view.text for text in texts(SHIELD) for view in views(text)]),
        (FILTER, MARKS, [marked(text) for text in texts(FILTER)]),
    ],
    ids=["shield", "filter"],
)
def test_the_scan_misses_no_match(of: Sequence[Rule], marks: Sequence[str], said: Sequence[str]) -> None:
    whole = [pattern for rule in of for pattern in rule.patterns if not needed(pattern, marks)]
    assert len(whole) > 50
    database, located = Database([scanned(pattern) for pattern in whole]), [regexp(pattern) for pattern in whole]
    missed = []
    for text in said[:: max(1, len(said) // 2500)]:
        data = text.encode("utf-8", "replace")
        found = set(database.scan(data))
        missed += [
            (whole[number], text) for number, one in enumerate(located) if number not in found and one.occurs(data)
        ]
    assert missed == []
