"""The parts of a reply that we write ourselves, put together for one plan: opening, body without a model, ending."""

from collections.abc import Iterator
from dataclasses import dataclass

from prompts.wording import Wording
from safety_filter.completion import resource_text
from serving.draft import glue
from serving.plan import Plan
from serving.scene import Scene, said_by_us
from shield.assessment import Assessment


@dataclass(frozen=True, slots=True)
class OwnWords:
    """Our words for one reply."""

    wording: Wording
    scene: Scene
    assessment: Assessment
    plan: Plan
    channel: str = "chat"

    def opening(self) -> str:
        """Our first words. They wait for no model, and they carry the safety question where it is due."""
        answer = self._answer()
        parts = [answer, self._hearing(answered=bool(answer)), self._next_question()]
        if (
            self.plan.ask_safety or self.assessment.level == "imminent"
        ):  # nothing delays the question or the call for help
            parts[:2] = parts[1], parts[0]
        said = ""
        for part in parts:
            said += glue(said, part)
        return said

    def body(self, *, opened: bool, continues: bool) -> str:
        """What stands where a model would have spoken: a closing sentence after one that did, else a whole reply."""
        if continues:
            return self.wording.closing(
                level=self.assessment.level,
                kind=self.plan.kind,
                language=self.scene.language,
                variant=self.plan.variant,
            )
        return self.wording.static_reply(
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            variant=self.plan.variant,
            previous=said_by_us(self.scene.turns),
            after_opening=opened,
            channel=self.channel,
            emergency=self.scene.resources.emergency or "",
        )

    def ending(self, said: str) -> Iterator[str]:
        """What code completes every reply with: the lines, faith offered once (never last), and who is speaking."""
        language, variant, previous = self.scene.language, self.plan.variant, said_by_us(self.scene.turns)
        yield self.lines(said)
        if self.plan.gospel:
            yield self.wording.gospel(language=language, variant=variant, previous=previous)
        if self.plan.disclose and (self.plan.gospel or not self.wording.says_ai(said, language)):
            yield self.wording.disclosure(
                language=language,
                variant=variant,
                first=self.plan.first,
                plain=not self.assessment.crisis,
                previous=previous,
            )

    def lines(self, said: str) -> str:
        """The contacts that `said` does not give yet, worded for the level and the channel."""
        return resource_text(
            self.scene.resources,
            mode=self.plan.resources,
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            channel=self.channel,
            variant=self.plan.variant,
            said=said,
        )

    def _answer(self) -> str:
        """One line that answers what the person told or asked of us."""
        return self.wording.signal_line(
            self.assessment.signals,
            language=self.scene.language,
            variant=self.plan.variant,
            level=self.assessment.level,
            kind=self.plan.kind,
            previous=said_by_us(self.scene.turns),
            said=self.scene.user,
        )

    def _hearing(self, *, answered: bool) -> str:
        """A line of having heard, and the safety question; on a later turn the line that answers is enough."""
        if answered and not self.plan.ask_safety and self.assessment.level != "imminent":
            return ""
        return self.wording.opening(
            level=self.assessment.level,
            kind=self.plan.kind,
            categories=self.assessment.categories,
            language=self.scene.language,
            variant=self.plan.variant,
            ask_safety=self.plan.ask_safety,
            previous=said_by_us(self.scene.turns),
            emergency=self.scene.resources.emergency or "",
            said=self.scene.user,
        )

    def _next_question(self) -> str:
        if not self.plan.ask_next:
            return ""
        return self.wording.next_question(
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            variant=self.plan.variant,
            previous=said_by_us(self.scene.turns),
        )
