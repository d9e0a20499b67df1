"""The typed events of one answer, in the order in which they leave: assessment, resources, sentence…, done."""

from dataclasses import dataclass, field
from typing import Any, Literal

from safety_filter.helplines import Resources
from serving.cost import Cost
from shield.assessment import Assessment, Finding

Source = Literal["local", "claude", "static"]


@dataclass(frozen=True, slots=True)
class AssessmentEvent:
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class ResourcesEvent:
    resources: Resources


@dataclass(frozen=True, slots=True)
class SentenceEvent:
    """Checked text, ready to be shown; concatenated, the sentences are the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class FilterNote:
    """One violation that was kept from the person: the rule, never the text."""

    rule: str
    category: str


@dataclass(frozen=True, slots=True)
class Timings:
    shield_ms: float
    first_sentence_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer, as the JSON route returns it and as the `done` event carries it.

    usage: what the model named in `model` read and wrote for it.
    """

    id: str
    conversation_id: str
    reply: str
    resources: Resources
    assessment: Assessment
    source: Source
    model: str
    degraded: tuple[str, ...]
    verdict: Literal["pass", "repair", "block"]
    violations: tuple[FilterNote, ...]
    timings: Timings
    usage: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class DoneEvent:
    answer: Answer


Event = AssessmentEvent | ResourcesEvent | SentenceEvent | DoneEvent


def assessment_json(assessment: Assessment) -> dict[str, Any]:
    """The assessment as the contract in design.md words it."""
    return {
        "level": assessment.level,
        "crisis": assessment.crisis,
        "categories": list(assessment.categories),
        "findings": [_finding_json(finding) for finding in assessment.findings],
    }


def _finding_json(found: Finding) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rule": found.rule_id,
        "category": found.category,
        "level": found.level,
        "turn": found.turn,
        "start": found.start,
        "end": found.end,
        "stage": _stage(found),
    }
    return entry if found.probability is None else entry | {"probability": found.probability}


def _stage(found: Finding) -> str:
    if found.probability is None:
        return "pattern"
    return "model" if found.rule_id.startswith("model.") else "learned"


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer as the contract in design.md words it."""
    return {
        "id": answer.id,
        "conversation_id": answer.conversation_id,
        "reply": answer.reply,
        "resources": answer.resources.to_json(),
        "assessment": assessment_json(answer.assessment),
        "source": answer.source,
        "model": answer.model,
        "degraded": list(answer.degraded),
        "filter": {
            "verdict": answer.verdict,
            "violations": [{"rule": v.rule, "category": v.category} for v in answer.violations],
        },
        "timings": {
            "shield_ms": round(answer.timings.shield_ms, 3),
            "first_sentence_ms": round(answer.timings.first_sentence_ms, 1),
            "total_ms": round(answer.timings.total_ms, 1),
        },
        "usage": answer.usage.to_json(),
    }
