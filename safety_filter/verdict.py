"""The words in which a judgement is given: what was found in a sentence, and what becomes of the reply."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["cut", "block"]
Verdict = Literal["pass", "repair", "block"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing wrong with a sentence. `cut`: leave the sentence out. `block`: trust nothing more of this source."""

    rule_id: str
    category: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Found:
    """What rules found in a sentence. `everyday`: it answers somebody who shows no sign of distress. `certain`: not all
    of it comes from rules that say of themselves that they see too little.
    """

    all: tuple[Violation, ...] = ()
    everyday: bool = False
    certain: bool = False
