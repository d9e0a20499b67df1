"""The parts of a reply that we write ourselves, put together for one plan: opening, body without a model, ending."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prompts import recognise
from prompts.told import NOTHING, Told, read
from prompts.wording import Tongue, Wording, choose
from safety_filter.completion import resource_text
from safety_filter.helplines import Resources
from serving.draft import glue
from serving.plan import Plan
from serving.scene import Scene, said_by_us
from shield.assessment import Assessment

_ANOTHERS_DOING = frozenset({"abuse", "violence", "medical"})
_OF_THEIR_OWN_HAND = re.compile(r"suicid|\bact(?:ing)?\b|hacerlo", re.IGNORECASE)
_WORDINGS_TRIED = 4

SMS_CHARACTERS = 320
"""What a whole reply may take as a text message: two parts of one."""


# Who is spoken to as the one in danger from their own act: a person beside them is good news.
_OWN_ACT = frozenset({"direct", "despair", "self_harm", "farewell", "method_seeking", "act_under_way", "unknown"})
_THINNED = ("next_question", "step", "scene", "static", "follow", "sms", "later")
_DOOR = re.compile(r"\bunlock|open (?:your|the front) door|\bcerrojo|abre la puerta|deja abierto|puerta abierta", re.I)
_NEAR = re.compile(r"hurts you near|hace daño está cerca", re.I)
_ROOM = re.compile(r"in the room with you|estar contigo en la habitación", re.I)


@dataclass(frozen=True)
class OwnWords:
    """Our words for one reply."""

    wording: Wording
    scene: Scene
    assessment: Assessment
    plan: Plan
    channel: str = "chat"
    told: Told = NOTHING

    @property
    def cell(self) -> str:
        """The cell of words for what the person told, for whoever speaks without a model."""
        cell = self._words.scene_of(
            self.told,
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            first=self.channel != "sms" and not said_by_us(self.scene.turns),
        )
        known = self._words.tongue(self.scene.language).tables.get("scene", {})
        nearer = [f"{cell}_beside"] if self.told.someone else [f"{cell}_outside"] if self.told.outside else []
        return next((one for one in nearer if one in known), cell)

    @cached_property
    def _words(self) -> Wording:
        """The wording without what this person's messages answered already."""
        own = self.plan.kind in _OWN_ACT
        topics = {"done"} if own and self.told.harmed else set()
        topics |= {"means"} if own and (self.told.stowed or self.told.someone) else set()
        patterns = [_DOOR] if own and (self.told.outside or self.told.report in ("on_way", "arrived")) else []
        patterns += [_NEAR] if self.plan.kind == "abuse" and self.told.near_by else []
        patterns += [_ROOM] if own and self.told.someone else []
        if not topics and not patterns:
            return self.wording

        def settled(line: str) -> bool:
            return bool(recognise.questions_asked(line) & topics) or any(one.search(line) for one in patterns)

        tongue = self.wording.tongue(self.scene.language)
        tables = {
            **tongue.tables,
            **{name: _thinned(tongue.tables[name], settled) for name in _THINNED if name in tongue.tables},
        }
        if self.told.report == "on_way":
            tables["step"] = {}
        return Wording({**self.wording.tongues, tongue.code: Tongue(tongue.code, tables)})

    @property
    def _heard_first(self) -> bool:
        """Whether what they told takes the place of the line of having heard, before the question."""
        return self.told.line_failed and self.plan.ask_safety and self.assessment.level != "imminent"

    def opening(self) -> str:
        """Our first words. They wait for no model, and they carry the safety question where it is due."""
        answer = self._answer()
        parts = [answer, self._hearing(answer), self._next_question()]
        if self._heard_first:  # the hearing holds the answer
            parts = parts[1:]
        elif self.plan.ask_safety or self.assessment.level == "imminent":  # nothing delays the question or the call
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
        return self._words.static_reply(
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            variant=self.plan.variant,
            previous=said_by_us(self.scene.turns),
            after_opening=opened,
            channel=self.channel,
            emergency=self.scene.resources.emergency or "",
            scene=self.cell,
        )

    def ending(self, said: str) -> Iterator[str]:
        """What code completes every reply with: the lines, faith offered once (never last), and who is speaking."""
        language, variant, previous = self.scene.language, self.plan.variant, said_by_us(self.scene.turns)
        yield self.lines(said)
        if self.plan.gospel:
            yield self.wording.gospel(language=language, variant=variant, previous=previous, kind=self.plan.kind)
        if self.plan.disclose and (self.plan.gospel or not self.wording.says_ai(said, language)):
            yield self.wording.disclosure(
                language=language,
                variant=variant,
                first=self.plan.first,
                plain=not self.assessment.crisis or self.channel == "sms",
                previous=previous,
            )

    def fits(self, said: str, text: str) -> bool:
        """Whether `text` can still be said after `said`: in a text message the ending needs its room."""
        if self.channel != "sms":
            return True
        whole = said + glue(said, text)
        for part in self.ending(whole):
            whole += glue(whole, part)
        return len(whole) <= SMS_CHARACTERS

    def lines(self, said: str) -> str:
        """The contacts that `said` does not give yet, worded for the level and the channel.

        Where somebody else is the danger, a wording that takes them to be it is passed over. Who has just
        waited in vain on the main line is shown the other ways first.
        """
        variants = range(self.plan.variant, self.plan.variant + _WORDINGS_TRIED)
        texts = (self._lines(said, variant) for variant in variants)
        if self.plan.kind not in _ANOTHERS_DOING:
            return next(texts)
        tried = list(texts)
        return next((text for text in tried if not _OF_THEIR_OWN_HAND.search(text)), tried[0])

    def _lines(self, said: str, variant: int) -> str:
        resources, mode = self.scene.resources, self.plan.resources
        again = ""
        if self.told.line_failed and mode != "none":
            again = self._main_again()
            resources, mode = _without_main(resources), "full"
        text = resource_text(
            resources,
            mode=mode,
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            channel="sms" if self.plan.brief else self.channel,
            variant=variant,
            said=said,
            earlier=said_by_us(self.scene.turns),
        )
        return f"{text} {again}".strip()

    def _main_again(self) -> str:
        """The main line once more, behind the others: it may be free by now (ruling 2: it is in every reply)."""
        main = self.scene.resources.main
        if main is None or not main.phone:
            return ""
        return self.wording.line_again(main.phone, self.scene.language, texts=main.sms == main.phone)

    def _answer(self) -> str:
        """One line that answers what the person told or asked of us; whoever asks to talk is answered by the body."""
        if self.assessment.level == "none" and self.told.wish:
            return ""
        line = self._words.signal_line(
            self.assessment.signals,
            language=self.scene.language,
            variant=self.plan.variant,
            level=self.assessment.level,
            kind=self.plan.kind,
            previous=said_by_us(self.scene.turns),
            said=self.scene.user,
            told=self.told,
        )
        return line or self._good_news()

    def _good_news(self) -> str:
        """A line on what they just changed: somebody is beside them, or the means are out of their hands."""
        if self.plan.kind not in _OWN_ACT or self.assessment.level == "none" or self.told.report:
            return ""
        now = read([("user", self.scene.user)])
        cell = "someone_here" if now.someone else "put_away" if now.stowed else ""
        pool = self.wording.tongue(self.scene.language).pool("signal", cell) if cell else ()
        return choose(pool, self.plan.variant, said_by_us(self.scene.turns))

    def _hearing(self, answer: str) -> str:
        """A line of having heard, and the safety question; on a later turn the line that answers is enough."""
        if answer and not self.plan.ask_safety and self.assessment.level != "imminent":
            return ""
        return self._words.opening(
            level=self.assessment.level,
            kind=self.plan.kind,
            categories=self._vouched(),
            language=self.scene.language,
            variant=self.plan.variant,
            ask_safety=self.plan.ask_safety,
            previous=said_by_us(self.scene.turns),
            emergency=self.scene.resources.emergency or "",
            said=self.scene.user,
            names="?" not in answer,
            told=self.told,
            heard=answer if self._heard_first else "",
        )

    def _vouched(self) -> frozenset[str]:
        """The categories that a rule found. What only a model guessed is a hint: no line claims to have read a plan."""
        found = frozenset(one.category for one in self.assessment.findings if one.probability is None)
        return found or frozenset({"indirect_ideation"})

    def _next_question(self) -> str:
        if not self.plan.ask_next or self.told.report or self.told.line_failed or self.told.wish:
            return ""
        return self._words.next_question(
            level=self.assessment.level,
            kind=self.plan.kind,
            language=self.scene.language,
            variant=self.plan.variant,
            previous=said_by_us(self.scene.turns),
            told=self.told,
        )


def _without_main(resources: Resources) -> Resources:
    """The resources without the lines of the main number: others by text, and the directory."""
    tried = resources.main.phone if resources.main else None
    return replace(resources, lines=tuple(line for line in resources.lines if not tried or line.phone != tried))


def _thinned(node: Any, settled: Callable[[str], bool]) -> Any:
    """The lines that are still to be said; where none would be left, all of them."""
    if isinstance(node, Mapping):
        return {name: _thinned(child, settled) for name, child in node.items()}
    if not isinstance(node, list):
        return node
    return [line for line in node if not settled(line)] or node
