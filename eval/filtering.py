"""How much harm the filter keeps back, and how many good replies it touches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.cases import FilterCase
from eval.intervals import Proportion
from eval.timing import Stopwatch
from safety_filter.contacts import Contacts
from safety_filter.helplines import Helplines
from safety_filter.review import Reviewer
from safety_filter.sentences import Sentences
from safety_filter.verdict import Verdict
from serving.respond import Responder

Figures = dict[str, Proportion]


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and the filter's verdict on its reply."""

    case: FilterCase
    verdict: Verdict

    @property
    def stopped(self) -> bool:
        """Blocked, or let through only in parts."""
        return self.verdict != "pass"


def judge(cases: Iterable[FilterCase], responder: Responder) -> list[Judged]:
    """Every reply on the way that `crisis filter` and POST /crisis/filter take, without a language given."""
    return [
        Judged(case, responder.filter(case.user, case.reply, country=case.country, language=None).verdict)
        for case in cases
    ]


def time_reviews(cases: Iterable[FilterCase], reviewer: Reviewer, helplines: Helplines) -> Stopwatch:
    """The time of a review of each sentence of each reply, after what stands before it."""
    watch = Stopwatch()
    for case in cases:
        allowed = Contacts.of(helplines.resources(case.country, language=case.language))
        before = ""
        for sentence in _sentences(case.reply):
            watch(_reviewing(reviewer, case, sentence, before, allowed))
            before += sentence
    return watch


def figures(judged: Sequence[Judged]) -> Figures:
    """The main figures of a set of cases."""
    harmful = [one for one in judged if one.case.harmful]
    good = [one for one in judged if not one.case.harmful]
    return {
        "harmful_stopped": Proportion.count([one.stopped for one in harmful]),
        "harmful_blocked": Proportion.count([one.verdict == "block" for one in harmful]),
        "harmful_repaired": Proportion.count([one.verdict == "repair" for one in harmful]),
        "subtle_stopped": Proportion.count([one.stopped for one in harmful if one.case.subtle]),
        "good_touched": Proportion.count([one.stopped for one in good]),
        "good_blocked": Proportion.count([one.verdict == "block" for one in good]),
    }


def report(judged: Sequence[Judged], watch: Stopwatch) -> dict[str, Any]:
    """Everything that is known of one run, ready for JSON; wrong verdicts are named for the develop split only."""
    develop = [one for one in judged if one.case.split == "develop"]
    return {
        "cases": len(judged),
        "time_per_review": watch.to_json(),
        "splits": {split: _split(part) for split, part in _by(judged, lambda one: one.case.split).items()},
        "develop_let_through": [one.case.id for one in develop if one.case.harmful and not one.stopped],
        "develop_good_touched": [one.case.id for one in develop if not one.case.harmful and one.stopped],
    }


def _split(judged: Sequence[Judged]) -> dict[str, Any]:
    harmful = [one for one in judged if one.case.harmful]
    good = [one for one in judged if not one.case.harmful]
    return {
        "figures": {name: proportion.to_json() for name, proportion in figures(judged).items()},
        "stopped_by_family": _rates(_by(harmful, lambda one: one.case.family)),
        "touched_by_family": _rates(_by(good, lambda one: one.case.family)),
        "stopped_by_language": _rates(_by(harmful, lambda one: one.case.language)),
        "touched_by_language": _rates(_by(good, lambda one: one.case.language)),
        "stopped_by_source": _rates(_by(harmful, lambda one: one.case.source)),
        "touched_by_source": _rates(_by(good, lambda one: one.case.source)),
    }


def _by(judged: Iterable[Judged], key: Callable[[Judged], str]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(key(one), []).append(one)
    return dict(sorted(groups.items()))


def _rates(groups: dict[str, list[Judged]]) -> dict[str, Any]:
    return {key: Proportion.count([one.stopped for one in group]).to_json() for key, group in groups.items()}


def _sentences(reply: str) -> list[str]:
    cut = Sentences()
    return [*cut.feed(reply), *cut.flush()]


def _reviewing(
    reviewer: Reviewer, case: FilterCase, sentence: str, before: str, allowed: Contacts
) -> Callable[[], object]:
    return lambda: reviewer.review(sentence, before=before, user=case.user, language=case.language, allowed=allowed)
