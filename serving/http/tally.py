"""What is counted and written down of an answer: closed words and numbers, never a piece of text."""

from collections.abc import Iterable, Mapping
from typing import Any

from serving.last_resort import is_emergency


def names_a_line(reply: str, lines: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the reply itself names one of these helplines: the emergency number alone is no referral."""
    ways = (line.get(way) for line in lines if not is_emergency(dict(line)) for way in ("phone", "sms", "url"))
    return any(way in reply for way in ways if way)


def audit_facts(done: Mapping[str, Any]) -> dict[str, Any]:
    """Of a `done` object, what an auditor needs to see that the answer was made as it should be."""
    assessment, checked = done["assessment"], done["filter"]
    return {
        "answer": done["id"],
        "level": assessment["level"],
        "rules": sorted({finding["rule"] for finding in assessment["findings"]}),
        "source": done["source"],
        "model": done["model"],
        "degraded": list(done["degraded"]),
        "verdict": checked["verdict"],
        "violations": sorted({violation["rule"] for violation in checked["violations"]}),
        "lines": [line["id"] for line in done["resources"]],
        "timings": dict(done["timings"]),
    }
