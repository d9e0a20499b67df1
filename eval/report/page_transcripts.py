"""Every conversation on the page: closed at first, opened by a tap, failed ones first."""

from collections.abc import Mapping

from eval.report import wording
from eval.report.figures import ConversationFound, ExchangeFound, Found, Report
from eval.report.highlight import marked
from eval.report.markup import Html, command, element
from eval.transcripts import Exchange, Transcript

Key = tuple[str, str, str, int]


def section(report: Report, transcripts: Mapping[Key, Transcript]) -> Html:
    """The conversations, with a box that leaves out those that passed (no script: CSS alone)."""
    failed = sum(one.outcome != "pass" for one in report.conversations)
    shown = [_conversation(one, transcripts.get(one.key)) for one in report.ordered]
    return element(
        "section",
        element("h2", "Transcripts"),
        element(
            "p",
            f"{len(shown)} conversations with made-up people, {failed} not passed; those come first.",
            class_="soft",
        ),
        element(
            "label",
            element("input", type="checkbox", id="only-failed"),
            "Show only what did not pass",
            class_="choose",
        ),
        *shown,
        id="transcripts",
    )


def _conversation(found: ConversationFound, transcript: Transcript | None) -> Html:
    checks = ", ".join(dict.fromkeys(one.check for _, one in found.findings))
    return element(
        "details",
        element(
            "summary",
            element("span", wording.OUTCOMES[found.outcome], class_="state"),
            f" · {wording.conversation(found)}",
            element("span", f"{wording.category(found.category)}{f' · {checks}' if checks else ''}", class_="soft"),
        ),
        element("div", *_inside(found, transcript), class_="inside"),
        class_=found.outcome,
    )


def _inside(found: ConversationFound, transcript: Transcript | None) -> list[Html]:
    if transcript is None:
        return [element("p", "Its transcript is not in the folder."), *(_list(one.findings) for one in found.exchanges)]
    by_turn = {one.turn: one for one in found.exchanges}
    turns = [_turn(place, one, by_turn.get(place)) for place, one in enumerate(transcript.exchanges)]
    return [
        *_about(transcript),
        *turns,
        element("p", "Again, with one command:", class_="soft"),
        command(found.reproduce),
    ]


def _about(transcript: Transcript) -> list[Html]:
    scenario = transcript.scenario
    place = ", ".join(filter(None, (scenario.country, scenario.language, scenario.channel)))
    musts = [
        element("p", element("strong", title), " ", " ".join(lines))
        for title, lines in (("A good reply:", scenario.must), ("It must not:", scenario.must_not))
        if lines
    ]
    return [element("p", f"{scenario.persona} ({place}). {scenario.why}", class_="soft"), *musts]


def _turn(place: int, exchange: Exchange, found: ExchangeFound | None) -> Html:
    findings = found.findings if found else ()
    return element(
        "div",
        element("div", f"Turn {place + 1} · the person{_levels(found)}", class_="who"),
        element("div", exchange.user, class_="said"),
        element("div", _answered(exchange), class_="who reply-who"),
        element("div", marked(exchange.reply, findings), class_="reply"),
        *([element("p", element("strong", f"Broke off: {exchange.error}"), class_="error")] if exchange.error else []),
        _list(findings),
        class_="turn",
    )


def _levels(found: ExchangeFound | None) -> str:
    if found is None:
        return ""
    given = f", SHIELD gave {found.reported}" if found.reported is not None else ""
    return f" · calls for {found.expected}{given}"


def _answered(exchange: Exchange) -> str:
    total = exchange.timings.get("total_ms")
    parts = [
        exchange.source or exchange.model or "the model",
        "" if exchange.filter is None else f"filter: {exchange.filter['verdict']}",
        ", ".join(exchange.degraded),
        "" if total is None else wording.duration(total),
    ]
    return "Reply · " + " · ".join(filter(None, parts))


def _list(findings: tuple[Found, ...]) -> Html:
    items = [element("li", element("strong", one.check), f": {one.why}") for one in findings]
    return element("ol", *items, class_="found") if items else Html("")
