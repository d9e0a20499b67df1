"""A conversation in, an Assessment out: pure, no network, no language model, microseconds."""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from shield.assessment import LEVELS, Assessment, Finding, Level, Turn, rank
from shield.combine import Kinds, combined, unsure
from shield.dialogue import FLOOR, answered, carried, with_answer
from shield.learned import BEFORE, WINDOW, LearnedStage, Opinion
from shield.reading import EMPTY, Found, Reading, finding, read
from textrules.matcher import Matcher
from textrules.rules import Rule, load_folder

LEARNED_TURNS = 16  # how far back the learned stage looks: what is older has long been answered
DOUBTFUL = ("learned.", "together.prepare-", "together.means-loss", "together.loss-finality", "together.calm-finality")
UNDENIED = ("plain.", "answer.")  # what no stage contradicts: danger in plain words, and an answer to a plain question
SENTENCE_ENDS = ".!?\n"
RUN = 300  # characters of messages sent in a row that are read as one, too
TOO_SHORT = 16  # characters: of "done." the stage cannot be sure that it is ordinary, nor of anything as short
OUTLIVES = (
    0.96  # an opinion of "imminent" as sure as this is not withdrawn by an ordinary message behind it, no rule's is
)
EXPLAINED = 0.3  # said in one breath with what came before, a message explains it where the stage finds less than this
_ORDINARY = (Turn("user", "Work was fine today."), Turn("assistant", "I'm glad to hear it. How are you?"))
NOTHING = 0.045  # below it a later message of an ordinary talk ("thanks, that one it is") is an ordinary one itself
EVEN_SO = 0.5  # a message that is likelier a sign than not, behind ordinary words, is one behind grave words, too
LAST_TURN_SIGNALS = frozenset(
    {"declines_resources", "asks_resources", "denies", "affirms", "insults_bot", "asks_if_human"}
) | {"asks_privacy", "asks_hospital", "asks_line", "asks_blessing"}


_SAYS = {
    "says_not_safe": frozenset({"no-to-safe", "unsafe-after-risk", "yes-to-danger", "not-safe"}),
    "says_half_safe": frozenset({"hedged-to-safe", "not-yet-to-safe", "unsure-to-safe"}),
}
"""Signals of the last message, and the answers that show them."""


class Detector:
    """All rules compiled once. `assess` may be called from several threads; they take turns."""

    def __init__(self, rules: Sequence[Rule], learned: LearnedStage | None = None) -> None:
        self._matcher = Matcher(rules)
        self._learned = learned
        self._turn = threading.Lock()  # Hyperscan's scratch space and what the learned stage remembers have one user

    @classmethod
    def load(cls, *, learned: bool = True) -> "Detector":
        """The detector with every rules file of the package, and with the learned stage behind them."""
        return cls(rules(), LearnedStage.load() if learned else None)

    @classmethod
    def usable(cls, tell: Callable[[str], None]) -> "Detector":
        """The same; with the patterns alone where the learned stage cannot be had, which `tell` is told in one line."""
        try:
            return cls(rules(), LearnedStage.load())
        except (ImportError, OSError, ValueError) as error:
            tell(f"SHIELD's learned stage cannot be used, the patterns answer alone: {error}")
        return cls(rules())

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._matcher.rules

    @property
    def matcher(self) -> Matcher:
        """What finds the rules, for one thread at a time: explanations look closer than an assessment does."""
        return self._matcher

    @property
    def learned(self) -> LearnedStage | None:
        return self._learned

    def assess(self, turns: Sequence[Turn], *, learned: bool = True, earlier: Sequence[Turn] = ()) -> Assessment:
        """The level of the conversation as it stands after its last turn; without `learned`, by the patterns alone.

        `earlier` are turns before these that are too many to be read closely. Where the patterns are sure of crisis
        in one of them, the level is never `none` again, however long ago it was said.
        """
        with self._turn:
            found = self._assessed(turns, self._learned if learned else None)
            return self._remembered(found, earlier) if earlier and not found.crisis else found

    def _assessed(self, turns: Sequence[Turn], stage: LearnedStage | None) -> Assessment:
        readings = list(self._read(turns))
        if stage is None and all(reading is EMPTY for reading in readings):
            return Assessment("none", per_turn=tuple(reading.level for reading in readings))
        opening = next((number for number, turn in enumerate(turns) if turn.role == "user"), 0)
        own: list[list[Finding]] = []
        kinds: Kinds = frozenset()
        for number, (turn, reading) in enumerate(zip(turns, readings, strict=True)):
            own.append([])
            if turn.role != "user":
                continue
            standing = _level(one for each in own for one in each)
            found = [finding(one, number) for one in reading.findings]
            found += _together(turn, number, reading.kinds, kinds)
            found += answered(turns, readings, number, before=standing)
            kinds |= reading.kinds
            understood = reading.calm and not found  # an answer that is known whole leaves nothing to guess
            opinion = None if understood else self._opinion(turns, number, [*found, *_since(own, number)], stage)
            if opinion is None:
                own[number] = found
                continue
            asked = turns[number - 1] if number and readings[number - 1].asks else _ORDINARY[-1]
            opinion = self._in_itself(
                turn, opinion, standing, reading, stage, asked=None if number == opening else asked
            )
            own[number] = self._weighed(turn, number, found, opinion, stage)
            if stage is not None and _clears(opinion, turn) and not own[number]:
                for earlier in range(max(0, number - BEFORE), number):
                    left = [one for one in own[earlier] if not self.doubts(one) or _outlives(one)]
                    if len(left) < len(own[earlier]) and _explained(turns, earlier, number, stage):
                        own[earlier] = left
        per_turn = tuple(map(_level, own))
        findings = tuple(one for each in own for one in each)
        return Assessment(
            level=carried(turns, per_turn),
            categories=tuple(_categories(findings)),
            findings=findings,
            per_turn=per_turn,
            signals=_signals(turns, readings, own),
        )

    def _remembered(self, found: Assessment, earlier: Sequence[Turn]) -> Assessment:
        sure = [one for one in self._assessed(earlier, None).findings if not self.doubts(one)]
        return replace(found, level=FLOOR, categories=tuple(_categories(sure))) if sure else found

    def signals(self, text: str) -> frozenset[str]:
        """What one message says of the person that chooses words: its signals, without an assessment."""
        with self._turn:
            return read(text, self._matcher).signals

    def doubts(self, one: Finding) -> bool:
        """Whether the finding counts only where the learned stage is not as good as certain of an ordinary message."""
        return one.unsure or one.rule_id.startswith(DOUBTFUL)

    def undenied(self, one: Finding) -> bool:
        """Whether the finding counts whatever the learned stage thinks of the message."""
        return not self.doubts(one) and (one.level == "imminent" or one.rule_id.startswith(UNDENIED))

    def _opinion(
        self, turns: Sequence[Turn], number: int, found: Sequence[Finding], stage: LearnedStage | None
    ) -> Opinion | None:
        """The learned stage's opinion of one message: of each recent one, and wherever it could clear a doubt."""
        if stage is None or not turns[number].text.strip():
            return None
        recent = len(turns) - number <= LEARNED_TURNS
        return stage.opinion(turns, number) if recent or any(map(self.doubts, found)) else None

    def _in_itself(
        self,
        turn: Turn,
        opinion: Opinion,
        standing: Level,
        reading: Reading,
        stage: LearnedStage | None,
        *,
        asked: Turn | None,
    ) -> Opinion:
        """The opinion as far as the message itself bears it out.

        Read behind a crisis anything looks like one ("my friend is coming over"): where the talk stands at some level
        already, a message raises it only if it would be a sign behind ordinary words, too. Where it stands at none, a
        later message that is nothing at all behind ordinary words raises nothing, unless the stage is certain; one with
        a denial that no rule contradicts ("no, I would never do that") only if it is grave, or would be a sign there.
        In a first message the stage reads the denial with the rest: "I don't want to die, I just can't see anything
        good coming" is despair. What a rule says a message is (`settles`) it is, unless the stage is certain.

        asked: what it answers, where that is a question that a rule knows: then the ordinary words end with it
        ("alone and terrified" is one thing after "are you safe?" and another after "how was the film?"), else with an
        ordinary one; None for the first message.
        """
        settled = reading.settled
        if settled is not None and rank(reading.level) <= rank(settled) and opinion.probability < OUTLIVES:
            return replace(opinion, level=min(opinion.level, settled, key=rank), ordinary=False, plainly=False)
        if stage is None or opinion.level == "none" or (standing == "none" and asked is None):
            return opinion
        denied = "denies" in reading.signals and not reading.findings
        ordinary = (_ORDINARY[0], asked or _ORDINARY[-1], turn)
        even_so = stage.opinion(ordinary, len(ordinary) - 1).probability
        if standing == "none":
            heavy = rank(opinion.level) >= rank("high") if denied else opinion.probability >= OUTLIVES
            sign = heavy or even_so >= (EVEN_SO if denied else NOTHING)
            return opinion if sign else replace(opinion, level="none")
        if even_so >= EVEN_SO:
            return opinion
        return replace(opinion, level=min(opinion.level, "none" if denied else standing, key=rank))

    def _weighed(
        self, turn: Turn, number: int, found: list[Finding], opinion: Opinion, stage: LearnedStage | None
    ) -> list[Finding]:
        """The findings of one message once the learned stage has been heard.

        It adds its own where it raises the level. What an unsure rule found stands unless the stage is as good as
        certain that the message is an ordinary one. (What was doubtful in the messages that it read with this one goes
        then, too, if this one explains them: see `_explained`.) What another rule found stands unless the message is
        plainly ordinary to it, and the sentence by itself ordinary; danger in plain words and danger of minutes then
        stand all the same.
        """
        if _clears(opinion, turn):
            sure = [one for one in found if not self.doubts(one)]
            if stage is None or not opinion.plainly:
                return sure
            return [one for one in sure if self.undenied(one) or not _by_itself_too(turn.text, one, stage)]
        if rank(opinion.level) <= rank(_level(found)):
            return found
        end, probability = len(turn.text), round(opinion.probability, 3)
        return [*found, Finding("learned.crisis", opinion.category, opinion.level, number, 0, end, probability)]

    def _read(self, turns: Sequence[Turn]) -> Iterator[Reading]:
        story = False
        asked: tuple[str, Reading] | None = None
        in_a_row: list[str] = []  # what the person sent since the assistant spoke: "i want to", "kill", "myself"
        hesitant: list[str] = []  # those of them that are no answer yet: "honestly", "well"
        for turn in turns:
            reading = read(turn.text, self._matcher, story=story and turn.role == "user")
            if turn.role == "user":
                crossing = self._crossing(in_a_row, turn.text, story=story) if in_a_row else ()
                story = reading.third_person_context
                reading = replace(reading, findings=(*reading.findings, *crossing)) if crossing else reading
                in_a_row.append(turn.text)
                if asked is not None:
                    hesitant.append(turn.text)
                    reading = with_answer(reading, hesitant, after=asked[0], asks=asked[1].asks)
                    if reading.replies:
                        hesitant.clear()
                yield reading
            else:
                if turn.text.strip():  # an empty one takes no question back
                    asked = turn.text, reading
                    in_a_row.clear()
                    hesitant.clear()
                silent = reading is EMPTY
                yield reading if silent else replace(reading, findings=(), kinds=frozenset(), signals=frozenset())

    def _crossing(self, before: Sequence[str], text: str, *, story: bool) -> tuple[Found, ...]:
        """What is said across messages sent in a row, where each holds a piece of it: as found in the last of them."""
        pieces: list[str] = []
        room = RUN - len(text)
        for piece in reversed(before):
            room -= len(piece) + 1
            if room < 0:
                break
            pieces.insert(0, piece)
        if not pieces:
            return ()
        here = len(" ".join(pieces)) + 1
        found = read(" ".join([*pieces, text]), self._matcher, story=story).findings
        return tuple(
            replace(one, start=0, end=min(one.end - here, len(text))) for one in found if one.start < here < one.end
        )


@functools.cache
def _default() -> Detector:
    return Detector.load()


def detect(text: str) -> Assessment:
    """The assessment of one message on its own."""
    return _default().assess((Turn("user", text),))


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Every rule of shield/rules, file by file in alphabetical order."""
    return load_folder("shield", "rules")


def _clears(opinion: Opinion, turn: Turn) -> bool:
    return opinion.ordinary and len(turn.text) >= TOO_SHORT


def _explained(turns: Sequence[Turn], earlier: int, number: int, stage: LearnedStage) -> bool:
    """Whether what was said since explains an earlier message: told in one breath, the stage doubts it no longer.

    "With this printer, I mean" explains what cannot be taken any more. "Stop asking me that" explains nothing.
    """
    together = " ".join(turn.text for turn in turns[earlier : number + 1] if turn.role == "user")
    return stage.opinion((*turns[:earlier], Turn("user", together)), earlier).probability < EXPLAINED


def _by_itself_too(text: str, one: Finding, stage: LearnedStage) -> bool:
    """Whether the sentence with the finding is ordinary without the others, too: soup behind a goodbye says nothing
    about the goodbye."""
    first = 1 + max(text.rfind(mark, 0, one.start) for mark in SENTENCE_ENDS)
    last = min((at for mark in SENTENCE_ENDS if (at := text.find(mark, one.end)) >= 0), default=len(text))
    sentence = text[first:last].strip()
    return len(sentence) >= TOO_SHORT and stage.opinion((Turn("user", sentence),), 0).ordinary


def _outlives(one: Finding) -> bool:
    return one.level == "imminent" and (one.probability is None or one.probability >= OUTLIVES)


def _level(found: Iterable[Finding]) -> Level:
    return max((one.level for one in found), key=rank, default="none")


def _since(own: Sequence[Sequence[Finding]], number: int) -> Iterator[Finding]:
    """The findings of the messages that the learned stage reads with turn `number`."""
    return (one for each in own[max(0, number - BEFORE) : number] for one in each)


def _together(turn: Turn, number: int, here: Kinds, before: Kinds) -> Iterator[Finding]:
    if not here:
        return
    rows = dict.fromkeys(combined(here))
    if before:
        rows |= {
            row: None for row in combined(here | before, across=True) if {kind for kind, _ in here} & set(row.needs)
        }
    for row in rows:
        far_apart = len(turn.text) > WINDOW and row.level != "imminent"
        doubtful = unsure(row, here | before) or far_apart
        yield Finding(f"together.{row.name}", row.category, row.level, number, 0, len(turn.text), unsure=doubtful)


def _categories(findings: Sequence[Finding]) -> Iterator[str]:
    """Gravest first, each once."""
    ordered = sorted(findings, key=lambda one: -LEVELS.index(one.level))
    return iter(dict.fromkeys(one.category for one in ordered))


def _signals(turns: Sequence[Turn], readings: Sequence[Reading], own: Sequence[Sequence[Finding]]) -> frozenset[str]:
    users = [n for n, turn in enumerate(turns) if turn.role == "user"]
    anywhere = {name for n in users for name in readings[n].signals if name not in LAST_TURN_SIGNALS}
    last = {name for name in readings[users[-1]].signals if name in LAST_TURN_SIGNALS} if users else set()
    answers = {one.rule_id.removeprefix("answer.") for one in own[users[-1]]} if users else set()
    return frozenset(anywhere | last).union(name for name, shows in _SAYS.items() if shows & answers)
