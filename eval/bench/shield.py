"""What SHIELD costs, beside open detectors on the same text: `make bench-shield` (python -m eval.bench.shield).

Time per message by the patterns alone and by the learned stage for the first time, hostile text, a conversation of 40
turns cold and warm, memory and cold start in fresh processes; then recall, false alarms and time of SHIELD and of the
peers that are installed (extra `peers`) on the report parts. Times are those of the processor, on one core, the best of
a few rounds, because machines are shared. Prints tables, or JSON with --json. The aims gate nothing.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from random import Random
from string import ascii_lowercase
from typing import Any

from rich.console import Console
from rich.table import Table

from eval.bench.figures import percentile
from eval.cases import ShieldCase, shield_cases
from eval.intervals import Proportion
from eval.peers import installed
from eval.tables import console
from shield.assessment import Turn
from shield.detect import Detector
from shield.learned import LearnedStage
from textrules.encoder import Encoder
from textrules.vocabulary import listed

SHORT, LONG, TURNS = 300, 16_000, 40  # characters, characters, turns: issue 6
AIM_MEDIAN_US, AIM_P99_US, AIM_LEARNED_MS, AIM_LONG_MS = 50, 500, 12, 20
_ROUNDS = 3
_LEARNED_SAMPLE = 100
_HOSTILE = (
    "i want to kill my ", "aaaa bbb! k1l ", "a.b.c ", "k i l l ", "!1!1!1 ", "want to ", "ж", "💀 ", "е а ", "3 1 4 5 ",
    "soooo ", "tehn ", "no way out of this ", "(((((", "\u200b", "i'm ",
)  # fmt: skip
_LEETSPEAK = str.maketrans("aeiost", "431057")
_VARIED: dict[str, Callable[[str, Random], str]] = {
    "starred words": lambda word, lot: word[0] + "*" * lot.randint(1, 3) + word[-2:],
    "leetspeak": lambda word, _: word.translate(_LEETSPEAK),
    "words spelled out": lambda word, _: " ".join(word),
    "stretched words": lambda word, lot: "".join(letter * lot.choice((1, 3, 5)) for letter in word),
    "dotted letters": lambda _, lot: ".".join(lot.choices(ascii_lowercase, k=3)),
    "any characters": lambda _, lot: "".join(chr(lot.randrange(32, 0xD000)) for _ in range(8)),
}
_FRESH = """
import re, sys, time
began = time.perf_counter()
from shield.assessment import Turn
from shield.detect import Detector
Detector.load(learned=sys.argv[1] == "learned").assess([Turn("user", "I had a rough day and everything feels heavy")])
print(time.perf_counter() - began, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m eval.bench.shield", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the figures as JSON instead of tables")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth message of the report parts")
    asked = parser.parse_args(arguments)
    report = measure(shield_cases(), asked.every)
    if asked.json:
        print(json.dumps(report, indent=2))
    else:
        _show(console(), report)
    return 0


def measure(cases: Sequence[ShieldCase], every: int = 1) -> dict[str, Any]:
    """Every figure, ready for JSON."""
    patterns = Detector.load(learned=False)
    # Remembering nothing, so that every opinion is paid for.
    forgetful = replace(LearnedStage.load(), encoder=Encoder.load(files("shield") / "learned_model"))
    report_part = [case for case in cases if case.split == "report"][::every]
    return {
        "patterns": _messages(patterns, cases),
        "learned_ms": _learned(forgetful, report_part),
        "hostile_ms": _hostile(patterns, Detector(patterns.rules, forgetful)),
        "conversation_ms": _conversation(patterns, Detector(patterns.rules, forgetful)),
        "fresh_process": {stages: _fresh(stages) for stages in ("patterns", "learned")},
        "detectors": list(_detectors(patterns, report_part)),
    }


def _messages(detector: Detector, cases: Sequence[ShieldCase]) -> dict[str, Any]:
    texts = [turn.text for case in cases for turn in case.turns[-1:] if len(turn.text) <= SHORT]
    for text in texts:
        detector.assess([Turn("user", text)])  # patterns are compiled when they first match
    taken = [1e6 * _best(lambda text=text: detector.assess([Turn("user", text)])) for text in texts]  # type: ignore[misc] # mypy cannot infer a lambda's default
    return {
        "messages": len(taken),
        "median_us": round(statistics.median(taken), 1),
        "p99_us": round(percentile(taken, 0.99), 1),
    }


def _learned(stage: LearnedStage, cases: Sequence[ShieldCase]) -> dict[str, Any]:
    texts = [case.turns[-1].text for case in cases if len(case.turns[-1].text) <= SHORT]
    sample = texts[:: max(1, len(texts) // _LEARNED_SAMPLE)]
    taken = [1000 * _best(lambda text=text: stage.opinion([Turn("user", text)], 0)) for text in sample]  # type: ignore[misc] # as above
    return {
        "messages": len(taken),
        "median": round(statistics.median(taken), 2),
        "p99": round(percentile(taken, 0.99), 2),
    }


def _hostile(patterns: Detector, both: Detector) -> dict[str, Any]:
    """Milliseconds for LONG characters: of a piece repeated, and of words in disguise, each time others; for the worst,
    also with the learned stage. The median after as many texts that warm it: a pattern is compiled when it is needed.
    """
    texts: dict[str, Callable[[int], str]] = {repr(piece): _repeated(piece) for piece in _HOSTILE}
    texts |= {name: _disguised(how) for name, how in _VARIED.items()}
    alone = {name: round(1000 * _usual(patterns, text), 2) for name, text in texts.items()}
    worst = max(alone, key=alone.__getitem__)
    return {"patterns": alone, "with_learned": round(1000 * _usual(both, texts[worst], first=10 * _ROUNDS), 2)}


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda number: (piece * LONG)[number : LONG + number]


def _disguised(how: Callable[[str, Random], str]) -> Callable[[int], str]:
    def text(number: int) -> str:
        lot = Random(number)  # noqa: S311 # the same texts each time, no secret
        words = lot.choices(listed()[:4000], k=LONG // 2)
        return " ".join(how(word, lot) for word in words)[:LONG]

    return text


def _usual(detector: Detector, text: Callable[[int], str], first: int = 0) -> float:
    turns = [[Turn("user", text(number))] for number in range(first, first + 2 * _ROUNDS)]
    taken = [_timed(lambda each=each: detector.assess(each)) for each in turns]  # type: ignore[misc] # as above
    return statistics.median(taken[_ROUNDS:])


def _conversation(patterns: Detector, forgetful: Detector) -> dict[str, Any]:
    """A conversation of TURNS turns: by the patterns; cold, none of it ever seen; warm, all but its last message."""
    exchanges = [Turn(*one) for number in range(TURNS // 2) for one in _exchange(number)]
    turns = [*exchanges[1:], Turn("user", "and now it is evening")]
    remembering = Detector.load()
    remembering.assess(turns[:-2])
    return {
        "patterns": round(1000 * _best(lambda: patterns.assess(turns)), 2),
        "cold": round(1000 * _best(lambda: forgetful.assess(turns)), 2),
        "warm": round(1000 * min(_warm(remembering, turns, number) for number in range(_ROUNDS)), 2),
    }


def _warm(remembering: Detector, turns: Sequence[Turn], number: int) -> float:
    new = [*turns[:-1], Turn("user", f"and now it is evening number {number}")]
    return _timed(lambda: remembering.assess(new))


def _exchange(number: int) -> Iterator[tuple[Any, str]]:
    yield "assistant", f"Tell me more about day {number}."
    yield "user", f"I had a rough day {number} at work and everything feels heavy"


def _fresh(stages: str) -> dict[str, Any]:
    """Seconds from the import to the first assessment and the most memory, in a process of its own."""
    ran = subprocess.run([sys.executable, "-c", _FRESH, stages], capture_output=True, text=True, check=True)  # noqa: S603 - our own program
    seconds, kib = ran.stdout.split()
    return {"seconds": round(float(seconds), 2), "most_mib": round(int(kib) / 1024)}


def _detectors(patterns: Detector, cases: Sequence[ShieldCase]) -> Iterator[dict[str, Any]]:
    both = Detector.load()
    yield _judged("SHIELD, patterns alone", cases, lambda turns: patterns.assess(turns).crisis)
    yield _judged("SHIELD, with the learned stage", cases, lambda turns: both.assess(turns).crisis)
    for peer in installed():
        yield _judged(f"{peer.name} {peer.version}", cases, peer.raises)


def _judged(name: str, cases: Sequence[ShieldCase], raises: Callable[[Sequence[Turn]], bool]) -> dict[str, Any]:
    """Each case once, timed as it is asked: what a first message costs."""
    raises([Turn("user", "hello")])
    said: list[tuple[ShieldCase, bool]] = []
    taken: list[float] = []
    for case in cases:
        began = time.thread_time()
        said.append((case, raises(case.turns)))
        taken.append(time.thread_time() - began)
    english = [(case, found) for case, found in said if case.language == "en"]
    return {
        "detector": name,
        "crisis_found": Proportion.count([found for case, found in said if case.crisis]).to_json(),
        "grave_found": Proportion.count([found for case, found in said if case.grave]).to_json(),
        "ordinary_raised": Proportion.count([found for case, found in said if not case.crisis]).to_json(),
        "english_crisis_found": Proportion.count([found for case, found in english if case.crisis]).to_json(),
        "median_us": round(1e6 * statistics.median(taken), 1),
    }


def _best(call: Callable[[], object]) -> float:
    return min(_timed(call) for _ in range(_ROUNDS))


def _timed(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def _show(out: Console, report: dict[str, Any]) -> None:
    table = Table("", "measured", "aim", title="SHIELD")
    for name, value, aim in _lines(report):
        table.add_row(name, value, aim)
    out.print(table)
    beside = Table("report parts", "crisis found", "high, imminent", "ordinary raised", "English crisis", "median")
    for one in report["detectors"]:
        shares = (one[key] for key in ("crisis_found", "grave_found", "ordinary_raised", "english_crisis_found"))
        beside.add_row(one["detector"], *map(_share, shares), f"{one['median_us']} µs")
    out.print(beside)
    if len(report["detectors"]) == 2:
        out.print("no peers here: pip install -e '.[peers]' (make bench-shield does)", markup=False)


def _lines(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    patterns, learned, talk = report["patterns"], report["learned_ms"], report["conversation_ms"]
    hostile = report["hostile_ms"]
    slowest = max(hostile["patterns"], key=hostile["patterns"].__getitem__)
    yield f"a message of up to {SHORT} characters, patterns, median", f"{patterns['median_us']} µs", f"{AIM_MEDIAN_US}"
    yield "… 99th percentile", f"{patterns['p99_us']} µs", f"{AIM_P99_US}"
    yield "the learned stage, never seen before, median", f"{learned['median']} ms", f"{AIM_LEARNED_MS}"
    yield "… 99th percentile", f"{learned['p99']} ms", ""
    yield (
        f"{LONG:,} hostile characters, patterns, worst ({slowest})",
        f"{hostile['patterns'][slowest]} ms",
        f"{AIM_LONG_MS}",
    )
    yield "… with the learned stage, never seen before", f"{hostile['with_learned']} ms", f"{AIM_LONG_MS}"
    yield f"a conversation of {TURNS} turns, patterns", f"{talk['patterns']} ms", f"{AIM_LONG_MS}"
    yield "… with the learned stage, its last message new", f"{talk['warm']} ms", f"{AIM_LONG_MS}"
    yield "… with the learned stage, nothing of it ever seen", f"{talk['cold']} ms", f"{AIM_LONG_MS}"
    for stages, fresh in report["fresh_process"].items():
        yield f"fresh process, {stages}: to the first assessment", f"{fresh['seconds']} s", ""
        yield f"fresh process, {stages}: most memory", f"{fresh['most_mib']} MiB", ""


def _share(rate: dict[str, Any]) -> str:
    return f"{rate['hits']} of {rate['of']}, {rate['share']:.1%}" if rate["of"] else "-"


if __name__ == "__main__":
    sys.exit(main())
