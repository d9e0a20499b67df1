"""From a transcript to its findings: the checks over every exchange, and what they make of the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.findings import Check, Dimension, Expected, Finding, Outcome, Seen, findings
from eval.invariants import CHECKS
from eval.phrases import Phrases
from eval.spotting import Spotter
from eval.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class Verdict:
    """A conversation and the findings of each of its exchanges, in the order of the turns."""

    transcript: Transcript
    exchanges: tuple[tuple[Finding, ...], ...]

    @property
    def outcome(self) -> Outcome:
        """The worst there is. A conversation without a single finding was not checked, which is an error."""
        return worst([one.outcome for found in self.exchanges for one in found])

    def of(self, *dimensions: Dimension) -> Outcome | None:
        """The worst outcome in these dimensions; None where nothing in them applied."""
        kept = [one.outcome for found in self.exchanges for one in found if one.dimension in dimensions]
        return worst(kept) if kept else None

    def to_json(self) -> list[dict[str, Any]]:
        """For each exchange: the level it calls for, the level given, and the findings that are not a pass."""
        return [
            {
                "turn": place,
                "expected": said.level,
                "reported": exchange.level,
                "findings": [one.to_json() for one in found if one.outcome != "pass"],
            }
            for place, ((said, exchange), found) in enumerate(
                zip(self.transcript.answered, self.exchanges, strict=True)
            )
        ]


@dataclass(frozen=True, slots=True)
class Examiner:
    """The checks with what they need, loaded once."""

    spotter: Spotter
    phrases: Phrases
    checks: Sequence[Check] = CHECKS

    @classmethod
    def load(cls) -> "Examiner":
        return cls(Spotter.load(), Phrases.load())

    def examine(self, transcript: Transcript) -> Verdict:
        """Every check that applies to each exchange that was had."""
        scenario = transcript.scenario
        expected = Expected(self.spotter.numbers(scenario), self.spotter.emergency(scenario), self.spotter.directory())
        found = []
        for place, (_, exchange) in enumerate(transcript.answered):
            seen = Seen(
                scenario=scenario,
                place=place,
                exchange=exchange,
                earlier=tuple(one.reply for one in transcript.exchanges[:place]),
                kind=transcript.subject.kind,
                expected=expected,
                spots=self.spotter.spots(scenario, place, exchange.reply),
                phrases=self.phrases,
            )
            found.append(findings(seen, self.checks))
        return Verdict(transcript, tuple(found))


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """error before fail before pass; error where there is none at all."""
    if not outcomes or "error" in outcomes:
        return "error"
    return "fail" if "fail" in outcomes else "pass"
