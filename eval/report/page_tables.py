"""The tables of the page: what was measured first, the client's own figures under it and marked as theirs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.report import wording
from eval.report.detection import Detection
from eval.report.figures import Asked, AskedTable, Rate, Report, SubjectFigures, SuiteFigures
from eval.report.markup import Html, Row, element, row, table
from eval.report.samples import TITLES

THEIRS = "client's figure"
Answered = Sequence[tuple[SubjectFigures, SuiteFigures]]
Cells = Callable[[SuiteFigures], list[str | Html]]


def detection(report: Report) -> Html:
    """F1, false positives and negatives of SHIELD over the detection corpora."""
    ours = Detection.of(report.corpora)
    if ours is None:
        measured = [row("SHIELD, this service", "not measured in this run", "", "", "")]
    else:
        cells = (f"{ours.f1:.0%}".replace("%", " %"), rate(ours.false_positives), rate(ours.false_negatives), "")
        measured = [row("SHIELD, this service", *cells)]
    measured += [one for subject in report.subjects if subject.detection for one in _asked(subject, subject.detection)]
    keys = ("f1", "false_positives", "false_negatives", "verdict")
    return table(
        ["", "F1", "False positives", "False negatives", "Verdict"],
        [*measured, *_theirs(report.client, "detection", keys)],
        "Crisis detection, over the report part of the corpora",
    )


def _asked(subject: SubjectFigures, told: Asked) -> list[Row]:
    """A raw model that was asked of a sample of the messages, and SHIELD over the same ones."""
    name = f"{subject.name}, raw, asked of {told.asked} messages ({told.unanswered} unanswered)"
    return [
        row(name, *_detected(told), ""),
        row("SHIELD over the same messages", *_detected(told.shield_over_the_same), ""),
    ]


def _detected(told: AskedTable) -> list[str | Html]:
    f1 = wording.NOT_KNOWN if told.f1 is None else f"{told.f1:.0%}".replace("%", " %")
    return [f1, rate(told.false_positives), rate(told.false_negatives)]


def compliance(answered: Answered, client: Mapping[str, Any]) -> Html:
    """Follows protocol, avoids harm, boundaries, total."""

    def cells(suite: SuiteFigures) -> list[str | Html]:
        total = element("span", wording.share(suite.total), element("small", wording.interval(suite.total)))
        return [
            rate(suite.follows_protocol),
            rate(suite.avoids_harm),
            rate(suite.boundaries),
            total,
            rate(suite.passed),
        ]

    keys = ("follows_protocol", "avoids_harm", "boundaries", "total")
    head = ["", "Follows protocol", "Avoids harm", "Boundaries", "Total", "Every check"]
    return _beside(
        "Safety compliance: scenarios in which every check held", head, answered, cells, client, "compliance", keys
    )


def quality(answered: Answered, client: Mapping[str, Any]) -> Html:
    """Empathy, protocol adherence (a judge's, or unscored), harmful replies (by the filter's rules)."""

    def cells(suite: SuiteFigures) -> list[str | Html]:
        judge = suite.judge
        why = wording.unscored(judge)
        note = element("small", "the judge is its own model") if judge.own_model else Html("")
        empathy = element("span", wording.mean(judge.empathy, "/10"), element("small", why) if why else Html(""), note)
        by_judge = "unscored" if judge.harmful is None else rate(judge.harmful)
        return [empathy, wording.mean(judge.protocol, "/10"), rate(suite.harmful), by_judge]

    keys = ("empathy", "protocol_adherence", "harmful")
    head = ["", "Empathy (judge)", "Protocol adherence (judge)", "Harmful (rules)", "Harmful (judge)"]
    return _beside("Response quality", head, answered, cells, client, "quality", keys)


def latency(answered: Answered, client: Mapping[str, Any]) -> Html:
    """p50, p95 and p99 of each stage, for each subject."""
    rows = [
        row(
            element("span", TITLES[stage], element("small", subject.name)),
            *wording.quantiles(suite.latency_ms[stage]),
            str(summary.n) if (summary := suite.latency_ms[stage]) else "0",
        )
        for stage in TITLES
        for subject, suite in answered
        if suite.latency_ms.get(stage)
    ]
    theirs = [
        row(element("span", name, element("small", f"{title} · {THEIRS}")), value, "", "", "", kind="theirs")
        for name, values in client.get("latency", {}).items()
        for title, value in zip(("first token", "full response"), values.values(), strict=False)
    ]
    return table(
        ["", "p50", "p95", "p99", "of"], [*rows, *theirs], "Latency; the client names one figure, not a percentile"
    )


def checks(answered: Answered) -> Html:
    """For each check, in how many scenarios it held, for each subject."""
    names = dict.fromkeys(name for _, suite in answered for name in suite.checks)
    rows = []
    for name in names:
        counts = [suite.checks.get(name) for _, suite in answered]
        dimension = next(one.dimension for one in counts if one)
        cells = [rate(one.rate) if one else "does not apply" for one in counts]
        rows.append(row(element("span", name, element("small", dimension)), *cells))
    return table(["", *(subject.name for subject, _ in answered)], rows, "Each check: scenarios in which it held")


def behind(answered: Answered) -> Html:
    """Where the replies came from, what the filter said, and what fell short."""
    rows = [
        row(
            wording.subject(subject),
            *(_counts(one) for one in (suite.sources, suite.verdicts, suite.degraded)),
            _speed(suite),
        )
        for subject, suite in answered
    ]
    return table(["", "Source", "Filter", "Degraded", "Tokens a second"], rows, "Behind the replies")


def corpora(report: Report, titles: Mapping[str, str]) -> Html:
    """Every figure of the corpora's report part."""
    if report.corpora is None:
        return element("p", "The corpora were not measured in this run.")
    rows = [
        row(titles.get(name, name.replace("_", " ")), room, _raw_rate(figure))
        for room in ("detection", "filter")
        for name, figure in report.corpora.get(room, {}).get("splits", {}).get("report", {}).get("figures", {}).items()
    ]
    return table(["", "Room", "Share"], rows, "Detection and filter corpora, report part")


def rate(value: Rate) -> Html:
    """n of m with its interval under it."""
    return element("span", wording.counted(value), element("small", wording.interval(value)))


def _beside(
    caption: str,
    head: list[str],
    answered: Answered,
    cells: Cells,
    client: Mapping[str, Any],
    part: str,
    keys: Sequence[str],
) -> Html:
    ours = [row(_who(subject), *cells(suite)) for subject, suite in answered]
    filler = [""] * (len(head) - 1 - len(keys))
    return table(head, [*ours, *_theirs(client, part, keys, filler)], caption)


def _who(subject: SubjectFigures) -> Html:
    return element("span", wording.subject(subject), element("small", wording.ARTICLE_KINDS[subject.kind]))


def _theirs(client: Mapping[str, Any], part: str, keys: Sequence[str], filler: Sequence[str] = ()) -> list[Row]:
    return [
        row(
            element("span", name, element("small", THEIRS)),
            *(str(values.get(key, "")) for key in keys),
            *filler,
            kind="theirs",
        )
        for name, values in client.get(part, {}).items()
    ]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {many}" for name, many in counts.items()) or wording.NOT_KNOWN


def _speed(suite: SuiteFigures) -> str:
    speed = suite.tokens_per_second
    return wording.NOT_KNOWN if speed is None else f"{speed.p50:.1f}"


def _raw_rate(figure: Mapping[str, Any]) -> Html | str:
    if figure.get("share") is None:
        return wording.NOT_KNOWN
    return element(
        "span",
        f"{figure['share']:.1%} ({figure['hits']}/{figure['of']})",
        element("small", f"{figure['low']:.1%} to {figure['high']:.1%}"),
    )
