"""SHIELD's third stage: one question to the loaded model, where patterns and learned stage leave a case unsure.

It may only raise a level, and never to imminent: that an act is under way is for words that say so. It is asked when
the resources have left, for a bounded time; no answer, a late one and an unclear one change nothing. Off by default.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from prompts.questions import RISK_LEVELS, Question, quoted
from serving.backend import BackendError, Classifier, Request
from serving.classification import Classification
from serving.settings import ShieldSettings
from shield.assessment import LEVELS, Assessment, Finding, Level, Turn, rank

LEAST_MASS = 0.5
"""Less probability for all four words together means that the model did not take up the question."""

CATEGORY = "indirect_ideation"


@dataclass(frozen=True, slots=True)
class ModelStage:
    """between: probabilities of the learned stage that count as unsure. sure: how likely the model has to think that
    the danger is at least of a level. limit_s: how long it may take."""

    classifier: Classifier
    question: Question
    between: tuple[float, float]
    sure: float
    limit_s: float

    def wants(self, assessment: Assessment) -> bool:
        """Whether the first two stages leave the last message unsure, and a model could change anything."""
        if rank(assessment.level) >= rank("high"):
            return False
        found = [one for one in assessment.findings if one.turn == len(assessment.per_turn) - 1]
        sure = max((rank(one.level) for one in found if not self._doubtful(one)), default=0)
        return any(self._doubtful(one) and rank(one.level) > sure for one in found)

    async def look(self, turns: Sequence[Turn], assessment: Assessment) -> Assessment:
        """The assessment, raised where the model is sure enough."""
        said = quoted([(turn.role, turn.text) for turn in turns])
        asked = self.question
        request = Request((Turn("user", said),), asked.system, protocol_prefix=asked.protocol, max_tokens=1)
        try:
            async with asyncio.timeout(self.limit_s):
                answer = await self.classifier.classify(request, RISK_LEVELS)
        except (BackendError, TimeoutError):
            return assessment
        return self._raised(turns, assessment, answer)

    def _doubtful(self, one: Finding) -> bool:
        low, high = self.between
        return one.unsure if one.probability is None else low <= one.probability < high

    def _raised(self, turns: Sequence[Turn], assessment: Assessment, answer: Classification) -> Assessment:
        level, probability = vouched(answer.shares, self.sure)
        if answer.mass < LEAST_MASS or rank(level) <= rank(assessment.level):
            return assessment
        rule, last = f"model.risk-level-{self.question.version}", len(turns) - 1
        found = Finding(rule, CATEGORY, level, last, 0, len(turns[last].text), round(probability, 3))
        return replace(
            assessment,
            level=level,
            categories=tuple(dict.fromkeys((CATEGORY, *assessment.categories))),
            findings=(*assessment.findings, found),
            per_turn=(*assessment.per_turn[:-1], level),
        )


def vouched(shares: Mapping[str, float], sure: float) -> tuple[Level, float]:
    """The gravest level that the danger reaches at least, with enough probability, and that probability."""
    reached = 0.0
    for level in reversed(LEVELS[1 : len(RISK_LEVELS)]):
        reached += shares.get(level, 0.0)
        if reached >= sure:
            return level, min(reached, 1.0)
    return "none", 1.0 - reached


def make_model_stage(settings: ShieldSettings, approved: Iterable[object]) -> ModelStage | None:
    """The stage on the first of the approved engines that can; None where it is off, or none can."""
    if not settings.model_stage:
        return None
    classifier = next((engine for engine in approved if isinstance(engine, Classifier)), None)
    if classifier is None:
        return None
    low, high = settings.model_between
    return ModelStage(classifier, Question.load("risk_level"), (low, high), settings.model_sure, settings.model_s)
