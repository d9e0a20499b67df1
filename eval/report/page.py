"""The report as one HTML file: no script, no request, nothing but what a browser and a phone have.

The policy in its head forbids everything but its own style, which is named by its hash.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from eval.report import page_drawings, page_tables, page_transcripts, wording
from eval.report.figures import GateLine, Report, SubjectFigures, SuiteFigures
from eval.report.markup import Html, breakable, command, element, joined, row, table
from eval.tables import TITLES as CORPUS_TITLES
from eval.transcripts import Transcript

_MAIN = "crisis25"


def render(report: Report, transcripts: Sequence[Transcript]) -> str:
    """The whole page."""
    style = files("eval.report").joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
        f"<title>Evaluation {_day(report)}</title><style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{_body(report, transcripts)}</body></html>\n'


def _body(report: Report, transcripts: Sequence[Transcript]) -> Html:
    by_key = {one.key: one for one in transcripts}
    return joined(
        [
            _top(report),
            element(
                "main",
                _gates(report),
                element(
                    "section",
                    element("h2", "Detection"),
                    _source(report),
                    page_tables.detection(report),
                    id="detection",
                ),
                *(_suite(report, name, transcripts) for name in _suites(report)),
                element("section", element("h2", "Corpora"), page_tables.corpora(report, CORPUS_TITLES), id="corpora"),
                page_transcripts.section(report, by_key),
            ),
        ]
    )


def _top(report: Report) -> Html:
    run = report.run
    machine = ", ".join(f"{key} {value}" for key, value in run.machine.items())
    links = [("gates", "Gates"), ("detection", "Detection"), *((f"suite-{one}", one) for one in _suites(report))]
    links += [("corpora", "Corpora"), ("transcripts", "Transcripts")]
    return element(
        "header",
        element("h1", "How the service and its models answer"),
        element(
            "p",
            f"{run.started_at} · version {run.version}{f', commit {run.commit}' if run.commit else ''} · {run.done} of "
            f"{run.planned} conversations, repeat {run.repeat}, seed {run.seed} · {machine}",
            class_="soft",
        ),
        _verdict(report),
        element(
            "nav", *(element("a", title, href=f"#{place}") for place, title in links), aria_label="Parts of the report"
        ),
    )


def _verdict(report: Report) -> Html:
    failed = report.failed_gates
    if not report.run.complete:
        state, line = (
            "error",
            f"Unfinished: {report.run.done} of {report.run.planned} conversations. It passes no gate.",
        )
    elif not report.gates:
        state, line = "error", "No gate was checked: nothing here says that this may be put in front of people."
    elif failed:
        state, line = "fail", f"{len(failed)} of {len(report.gates)} gates failed."
    else:
        state, line = "pass", f"All {len(report.gates)} gates passed."
    note = "25 scenarios carry coarse claims only: read the intervals (95 % Wilson) with every share."
    return element("div", element("strong", line), element("p", note, class_="soft"), class_=f"verdict {state}")


def _gates(report: Report) -> Html:
    rows = [
        row(
            breakable(wording.gate_name(gate)),
            element("span", wording.GATES[gate.outcome], class_="state"),
            wording.measured(gate),
            gate.limit,
            gate.why,
            kind=gate.outcome,
        )
        for gate in (*report.failed_gates, *(one for one in report.gates if one.outcome == "pass"))
    ]
    return element(
        "section",
        element("h2", "Gates"),
        *(_failed(gate) for gate in report.failed_gates if gate.where),
        table(["", "", "Measured", "Limit", "Why"], rows, "Every gate") if rows else Html(""),
        id="gates",
    )


def _failed(gate: GateLine) -> Html:
    places = [
        element(
            "li",
            f"{one.suite} · {one.scenario}{'' if one.turn is None else f', turn {one.turn + 1}'}: {one.why}",
            command(one.reproduce),
        )
        for one in gate.where
    ]
    title = f"{wording.gate_name(gate)}: {wording.measured(gate)}, must be {gate.limit}"
    return element(
        "details",
        element("summary", element("span", wording.GATES[gate.outcome], class_="state"), f" · {title}"),
        element("div", element("p", gate.why), element("ul", *places) if places else Html(""), class_="inside"),
        class_=gate.outcome,
        open=True,
    )


def _source(report: Report) -> Html:
    source = str(report.client.get("source", ""))
    if not source:
        return Html("")
    return element("p", element("span", page_tables.THEIRS, class_="theirs-label"), f" {source}", class_="soft")


def _suite(report: Report, name: str, transcripts: Sequence[Transcript]) -> Html:
    answered = _answered(report, name)
    client = report.client if name == _MAIN else {}
    told = [one for one in transcripts if one.suite == name]
    return element(
        "section",
        element("h2", f"Suite {name}"),
        page_tables.compliance(answered, client),
        page_tables.quality(answered, client),
        element("div", *page_drawings.figures(answered, told), class_="plots"),
        page_tables.latency(answered, client),
        page_tables.checks(answered),
        page_tables.behind(answered),
        id=f"suite-{name}",
    )


def _answered(report: Report, name: str) -> list[tuple[SubjectFigures, SuiteFigures]]:
    return [(subject, subject.suites[name]) for subject in report.subjects if name in subject.suites]


def _suites(report: Report) -> list[str]:
    return list(dict.fromkeys(name for subject in report.subjects for name in subject.suites))


def _day(report: Report) -> str:
    return report.run.started_at[:10]
