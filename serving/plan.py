"""Decides what a reply must hold, from the assessment and what was said before: no text, only choices.

The rulings are those of the client's spec: gospel once and held back where the care guide says so, contacts in full
first and then as a short reminder, the safety question at the first reply of crisis level and when the level rises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from prompts.told import NOTHING, Told
from safety_filter.completion import Mode
from shield.assessment import Assessment, Finding, Level, Turn, rank

Gospel = Literal["always", "invited", "off"]

# The gravest or most specific situation names the kind; the order is the order of care.md section 3.
_KINDS = (
    ("act_under_way", "act_under_way"),
    ("medical_emergency", "medical"),
    ("psychosis", "psychosis"),
    ("method_seeking", "method_seeking"),
    ("farewell", "farewell"),
    ("plan_or_means", "direct"),
    ("direct_ideation", "direct"),
    ("self_harm", "self_harm"),
    ("indirect_ideation", "direct"),
    ("despair", "despair"),
    ("violence", "violence"),
    ("abuse", "abuse"),
)
_OWN = frozenset({"direct_ideation", "indirect_ideation", "plan_or_means", "farewell", "self_harm", "act_under_way"})
_THEIRS = "third_party_concern"
# What SHIELD reads in a short answer; after "is it safe to write here?" it speaks of the one who does them harm.
_MEANT_OTHERWISE = ("answer.no-", "answer.place-", "answer.now-")
_NO_FAITH = frozenset({"declines_faith", "voices"})
_ONLY_IF_ASKED = frozenset({"fears_god", "religious_harm", "minor", "other_faith", "declines_resources"})
_ASKS_OF_US = frozenset({"asks_if_human", "asks_privacy", "asks_hospital", "insults_bot"})
_NO_MORE_QUESTIONS = frozenset({"denies", "insults_bot", "declines_resources"})
_NO_FAITH_KINDS = frozenset({"psychosis", "medical", "act_under_way", "unknown"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What this reply must hold. brief: the contacts in the fewest words, for who wanted none."""

    kind: str
    ask_safety: bool
    ask_next: bool
    resources: Mode
    gospel: bool
    disclose: bool
    first: bool
    variant: int
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Recall:
    """What our earlier replies in this conversation already held."""

    replies: int = 0
    disclosed: bool = False
    offered_faith: bool = False
    asked_safety: int = 0
    gave_lines: bool = False
    refused_lines: bool = False


def recall(
    turns: Sequence[Turn],
    *,
    says_ai: Callable[[str], bool],
    offers_faith: Callable[[str], bool],
    asks_safety: Callable[[str], bool],
    main_contact: str,
    refuses: Callable[[str], bool],
) -> Recall:
    """Read from the turns themselves: the service keeps no state of its own, so that it scales out and forgets.

    A plain refusal of numbers holds for the rest of the conversation, until they are asked for.
    """
    ours = [turn.text for turn in turns if turn.role == "assistant"]
    return Recall(
        replies=len(ours),
        disclosed=any(map(says_ai, ours)),
        offered_faith=any(map(offers_faith, ours)),
        asked_safety=sum(map(asks_safety, ours)),
        gave_lines=bool(main_contact) and any(main_contact in text for text in ours),
        refused_lines=bool(ours) and any(refuses(turn.text) for turn in turns[:-1] if turn.role == "user"),
    )


def kind_of(assessment: Assessment, told: Told = NOTHING) -> str:
    """The kind of situation that words are chosen by.

    Who speaks of nobody but another person is a helper, whatever was found. Who is hurt by somebody and has not said a
    word of dying is not spoken to of suicide: a no to "is it safe to write?" is about the one who hurts them.
    """
    if assessment.level == "none":
        return "none"
    categories = set(assessment.categories)
    hurt = "abuse" in categories or "abused_at_home" in assessment.signals
    guessed = all(found.probability is not None for found in assessment.findings if found.category == _THEIRS)
    if hurt and guessed and not _names_own(assessment):
        return "abuse"  # "no, he's in the next room" looks like worry about him to the learned stage
    if _THEIRS in categories and not _own_danger(assessment):
        return "third_party"
    if hurt and not _names_own(assessment):
        return "abuse"
    if told.of_another and not hurt:
        return "third_party"
    return next((kind for category, kind in _KINDS if category in categories), "direct")


def _names_own(assessment: Assessment) -> bool:
    """Whether the writer put a danger from themselves, or to their body or mind, in words: a bare answer does not."""
    named = _OWN | {"medical_emergency", "psychosis", "method_seeking", "violence"}
    return any(
        found.category in named and found.probability is None and not found.rule_id.startswith(_MEANT_OTHERWISE)
        for found in assessment.findings
    )


def _own_danger(assessment: Assessment) -> bool:
    """Whether the writer's own danger is at least as grave as that of the person they worry about.

    Beside a sure sign of the other's danger, one of the writer's own that is unsure of itself does not count, nor does
    one that was put together from cues, which do not say whose they are.
    """
    theirs = [found for found in assessment.findings if found.category == "third_party_concern"]
    sure = any(not found.unsure for found in theirs)
    since = min((found.turn for found in theirs), default=None)
    own = [
        rank(found.level)
        for found in assessment.findings
        if _is_own(found) and not (sure and _is_doubtful(found)) and not _answers_a_helper(found, since)
    ]
    return bool(own) and max(own) >= max((rank(found.level) for found in theirs), default=0)


def _is_own(found: Finding) -> bool:
    return found.category in _OWN and found.probability is None and found.level != "none"


def _answers_a_helper(found: Finding, since: int | None) -> bool:
    """Whether it is no more than a short answer, given after they had told of somebody else: we asked about them."""
    return since is not None and found.turn > since and found.rule_id.startswith("answer.")


def _is_doubtful(found: Finding) -> bool:
    return found.unsure or found.rule_id.startswith("together.")


def make_plan(
    assessment: Assessment,
    past: Recall,
    *,
    gospel: Gospel,
    channel: str,
    quiet_line: bool,
    kind: str,
    variant: int,
    told: Told = NOTHING,
) -> Plan:
    """The choices for one reply."""
    rose = _rose(assessment)
    mode = _resources(assessment, past, rose=rose, quiet_line=quiet_line)
    return Plan(
        kind=kind,
        ask_safety=_asks(assessment, past, rose=rose),
        ask_next=_asks_next(assessment, past) and not _asks(assessment, past, rose=rose),
        resources=mode,
        gospel=_offers(assessment, past, gospel=gospel, kind=kind, sms_is_full=channel == "sms" and mode == "full")
        and not told.young
        and not told.no_numbers,
        disclose=not past.disclosed or _matters_who_speaks(assessment, rose=rose),
        brief="declines_resources" in assessment.signals or told.no_numbers,
        first=not past.disclosed,
        variant=variant,
    )


def _matters_who_speaks(assessment: Assessment, *, rose: bool) -> bool:
    """Said once, it is said again where it changes what the person can count on: help has to come from elsewhere."""
    return assessment.crisis and (rose or bool(assessment.signals & _ASKS_OF_US))


def _rose(assessment: Assessment) -> bool:
    earlier: Sequence[Level] = assessment.per_turn[:-1]
    return rank(assessment.level) > max(map(rank, earlier), default=0)


def _asks(assessment: Assessment, past: Recall, *, rose: bool) -> bool:
    if not assessment.crisis:
        return False
    if past.asked_safety >= 2:
        return rose and assessment.level == "imminent"
    return rose or past.asked_safety == 0


def _asks_next(assessment: Assessment, past: Recall) -> bool:
    """The care guide's next question, on the two turns after the safety question; not into a refusal or a denial."""
    return assessment.crisis and 1 <= past.replies <= 2 and not assessment.signals & _NO_MORE_QUESTIONS


def _resources(assessment: Assessment, past: Recall, *, rose: bool, quiet_line: bool) -> Mode:
    signals = assessment.signals
    if not assessment.crisis:
        return "full" if "asks_resources" in signals else "quiet" if quiet_line else "none"
    if "asks_resources" in signals or not past.gave_lines:
        return "full"
    if "declines_resources" in signals or past.refused_lines:
        return "live" if rank(assessment.level) >= rank("high") else "none"
    return "full" if rose else "reminder"


def _offers(assessment: Assessment, past: Recall, *, gospel: Gospel, kind: str, sms_is_full: bool) -> bool:
    asked = "asks_faith" in assessment.signals
    if gospel == "off" or not assessment.crisis or past.offered_faith or assessment.level == "imminent":
        return False
    if kind in _NO_FAITH_KINDS or assessment.signals & _NO_FAITH:
        return False
    if not asked and (gospel == "invited" or assessment.signals & _ONLY_IF_ASKED):
        return False
    return not sms_is_full
