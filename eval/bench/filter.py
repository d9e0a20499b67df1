"""What the filter costs and does: `make bench-filter` (python -m eval.bench.filter). No model, no network.

Microseconds per sentence, the time that hostile text takes by its length, characters held back while a reply streams
in, and the shares of replies passed, repaired and blocked, over the corpora of eval/data. Prints a table, or JSON with
--json. Times are those of the processor, because machines are shared.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from eval.bench.figures import percentile, summary
from eval.cases import FilterCase, filter_cases
from eval.filtering import judge, time_reviews
from eval.tables import console
from safety_filter.contacts import Contacts
from safety_filter.gate import Gate
from safety_filter.helplines import Helplines
from safety_filter.learned import LearnedJudge
from safety_filter.review import Reviewer
from safety_filter.sentences import MAX_HELD, Sentences
from serving.settings import Settings
from serving.wiring import build_responder

AIM_MEDIAN_US, AIM_P99_US, AIM_HELD = 150, 1000, 300
SHORT, LONG = 2_000, 20_000
# Twice the share of the lengths leaves room for what a processor's caches do; a quadratic cost would be ten times it.
AIM_GROWTH = 2 * LONG / SHORT
HOSTILE = (
    "a ", "would be ", "kill yourself ", "(", "so that no one ", "you can ", "'d ", "=?", "4b ", "&#75;", "- . ",
    "call 1-800-555-0199 ", "it is the other one ", "k i l l ", "S2lsbCB5b3Vyc2VsZg== ", "。", "￼", "é",
)  # fmt: skip
_ROUNDS = 3
LEARNED_EVERY = 10  # of the replies are judged with the learned stage too, each sentence for the first time


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0; the aims are printed beside the figures and gate nothing."""
    parser = argparse.ArgumentParser(prog="python -m eval.bench.filter", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the figures as JSON instead of tables")
    asked = parser.parse_args(arguments)
    report = measure(filter_cases())
    if asked.json:
        print(json.dumps(report, indent=2))
    else:
        _show(console(), report)
    return 0


def measure(cases: Sequence[FilterCase]) -> dict[str, Any]:
    """Every figure, ready for JSON."""
    reviewer, helplines = Reviewer.load(), Helplines.load()
    time_reviews(cases[:50], reviewer, helplines)  # patterns are compiled when they first match
    allowed = Contacts.of(helplines.resources("US"))
    learned = Reviewer.load(learned=LearnedJudge.load())
    return {
        "sentence": _sentences(cases, reviewer, helplines),
        "learned": time_reviews(cases[::LEARNED_EVERY], learned, helplines).to_json(),
        "hostile": {repr(piece): _growth(reviewer, allowed, piece) for piece in HOSTILE},
        "held_back": _held_back(cases),
        "first_release": _first_release(cases, reviewer, allowed),
        "replies": _shares(cases),
    }


def _sentences(cases: Sequence[FilterCase], reviewer: Reviewer, helplines: Helplines) -> dict[str, Any]:
    """The best of a few rounds: on a shared machine the others measure the neighbours."""
    rounds = [time_reviews(cases, reviewer, helplines).to_json() for _ in range(_ROUNDS)]
    best = min(rounds, key=lambda one: float(one["median_us"]))
    p99 = min(float(one["p99_us"]) for one in rounds)
    aims = {"aim_median_us": AIM_MEDIAN_US, "aim_p99_us": AIM_P99_US}
    return best | {"p99_us": p99} | aims | {"met": best["median_us"] < AIM_MEDIAN_US and p99 < AIM_P99_US}


def _growth(reviewer: Reviewer, allowed: Contacts, piece: str) -> dict[str, Any]:
    short, long = (_cost_ms(reviewer, allowed, (piece * length)[:length]) for length in (SHORT, LONG))
    growth = long / max(short, 0.001)
    return {
        f"ms_at_{SHORT}": round(short, 2),
        f"ms_at_{LONG}": round(long, 2),
        "growth": round(growth, 1),
        "met": growth <= AIM_GROWTH or long < 10,
    }


def _cost_ms(reviewer: Reviewer, allowed: Contacts, text: str) -> float:
    return min(_timed(lambda: _reviewed(reviewer, allowed, text)) for _ in range(_ROUNDS)) * 1000


def _reviewed(reviewer: Reviewer, allowed: Contacts, text: str) -> None:
    reviewer.review(text, before="", user="I want to die", language="en", allowed=allowed, crisis=True)


def _timed(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def _held_back(cases: Iterable[FilterCase]) -> dict[str, Any]:
    """Characters that wait, after each character of each reply as it streams in."""
    held = [waiting for case in cases for waiting in _waiting(case.reply)]
    figures = summary(held, 0) | {"p99": percentile(held, 0.99), "most": max(held)}
    return figures | {"bound": MAX_HELD, "aim": AIM_HELD, "met": max(held) <= AIM_HELD}


def _waiting(reply: str) -> Iterator[int]:
    splitter = Sentences()
    given = 0
    for fed, character in enumerate(reply, 1):
        given += sum(map(len, splitter.feed(character)))
        yield fed - given


def _first_release(cases: Iterable[FilterCase], reviewer: Reviewer, allowed: Contacts) -> dict[str, Any]:
    """Characters that a model has written of a good reply when its first sentence is shown."""
    firsts = [_first(case, reviewer, allowed) for case in cases if not case.harmful and case.language == "en"]
    return summary([first for first in firsts if first], 0)


def _first(case: FilterCase, reviewer: Reviewer, allowed: Contacts) -> int:
    gate = Gate(reviewer, user=case.user, language="en", allowed=allowed)
    return next((at for at, character in enumerate(case.reply, 1) if gate.feed(character)), 0)


def _shares(cases: Sequence[FilterCase]) -> dict[str, Any]:
    # Settings() would read this machine's CRISIS_… variables; figures must not depend on them.
    judged = judge(cases, build_responder(Settings.model_construct()))
    groups = {
        "harmful": [one for one in judged if one.case.harmful],
        "good": [one for one in judged if not one.case.harmful],
    }
    return {name: _share([one.verdict for one in group]) for name, group in groups.items()}


def _share(verdicts: Sequence[str]) -> dict[str, Any]:
    counts = Counter(verdicts)
    shares = {name: round(counts[name] / max(1, len(verdicts)), 4) for name in ("pass", "repair", "block")}
    return {"n": len(verdicts)} | shares


def _show(out: Console, report: dict[str, Any]) -> None:
    sentence, held = report["sentence"], report["held_back"]
    table = Table("", "measured", "aim", title="The filter")
    table.add_row("a sentence by the rules, median", f"{sentence['median_us']} µs", f"under {AIM_MEDIAN_US}")
    table.add_row("a sentence by the rules, 99th percentile", f"{sentence['p99_us']} µs", f"under {AIM_P99_US}")
    learned = report["learned"]
    table.add_row("with the learned stage, median", f"{learned['median_us']} µs", "")
    table.add_row("with the learned stage, 99th percentile", f"{learned['p99_us']} µs", "")
    table.add_row("held back, median", f"{held['median']:.0f} characters", "")
    table.add_row("held back, most", f"{held['most']} characters", f"at most {AIM_HELD}")
    table.add_row("written when the first is shown, median", f"{report['first_release']['median']:.0f} characters", "")
    slowest = max(report["hostile"].values(), key=lambda one: float(one[f"ms_at_{LONG}"]))
    table.add_row(f"hostile text of {LONG:,} characters, slowest", f"{slowest[f'ms_at_{LONG}']} ms", "linear")
    missed = [piece for piece, one in report["hostile"].items() if not one["met"]]
    table.add_row("hostile texts that cost more than linear time", ", ".join(missed) or "none", "none")
    for name, share in report["replies"].items():
        said = ", ".join(f"{verdict} {share[verdict]:.1%}" for verdict in ("pass", "repair", "block"))
        table.add_row(f"{name} replies ({share['n']})", said, "")
    out.print(table)


if __name__ == "__main__":
    sys.exit(main())
