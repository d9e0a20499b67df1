"""A short Markdown summary for a pull request: the gates that failed and where, then one table."""

import re

from eval.report import wording
from eval.report.figures import GateLine, Report, SubjectFigures, SuiteFigures

MOST_PLACES = 5


def render(report: Report) -> str:
    """Failures first; nothing that a reader does not need to decide."""
    parts = [_headline(report), *_failed(report), *_tables(report), _foot(report)]
    return "\n\n".join(parts) + "\n"


def _headline(report: Report) -> str:
    failed = len(report.failed_gates)
    if not report.run.complete:
        return f"### Evaluation: unfinished, {report.run.done} of {report.run.planned} conversations"
    if not report.gates:
        return "### Evaluation: no gate was checked"
    if failed:
        return f"### Evaluation: {failed} of {len(report.gates)} gates failed"
    return f"### Evaluation: all {len(report.gates)} gates passed"


def _failed(report: Report) -> list[str]:
    return ["\n".join(map(_gate, report.failed_gates))] if report.failed_gates else []


def _gate(gate: GateLine) -> str:
    lines = [f"- **{_plain(wording.gate_name(gate))}**: {wording.measured(gate)}, must be `{gate.limit}`"]
    for one in gate.where[:MOST_PLACES]:
        turn = "" if one.turn is None else f", turn {one.turn + 1}"
        lines.append(f"  - {_plain(one.scenario)}{turn}: {_plain(one.why)}<br>`{one.reproduce.replace('`', '')}`")
    if len(gate.where) > MOST_PLACES:
        lines.append(f"  - and {len(gate.where) - MOST_PLACES} more")
    return "\n".join(lines)


def _tables(report: Report) -> list[str]:
    names = dict.fromkeys(name for subject in report.subjects for name in subject.suites)
    return [_table(name, [(one, one.suites[name]) for one in report.subjects if name in one.suites]) for name in names]


def _table(name: str, answered: list[tuple[SubjectFigures, SuiteFigures]]) -> str:
    head = (
        f"| {name} | every check | protocol | no harm | boundaries | whole reply p50, p95 |\n|---|---|---|---|---|---|"
    )
    return "\n".join([head, *(_row(subject, suite) for subject, suite in answered)])


def _row(subject: SubjectFigures, suite: SuiteFigures) -> str:
    p50, p95, _ = wording.quantiles(suite.latency_ms.get("total"))
    rates = (suite.passed, suite.follows_protocol, suite.avoids_harm, suite.boundaries)
    shares = [f"{wording.counted(rate)} ({wording.interval(rate)})" if rate.of else wording.NOT_KNOWN for rate in rates]
    kind = " raw" if subject.kind == "raw" else ""
    return f"| {_plain(subject.name)}{kind} | {' | '.join(shares)} | {p50}, {p95} |"


def _foot(report: Report) -> str:
    run = report.run
    commit = f", commit {run.commit}" if run.commit else ""
    about = f"Version {run.version}{commit}, seed {run.seed}, {run.started_at}."
    return f"<sub>95 % Wilson intervals over scenarios. {about}</sub>"


def _plain(text: str) -> str:
    """Nothing in it is markup, a mention or the end of a table cell."""
    return re.sub(r"([\\`*_\[\]<>|#@])", r"\\\1", " ".join(text.split()))
