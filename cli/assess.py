"""`crisis assess`: what SHIELD makes of a message, a conversation, or a file of them. No model is asked."""

import functools
import json
import sys
from typing import Annotated, Any

import typer

from cli.console import Failure, JsonOption, console, one_text
from cli.explaining import STYLES, record, tell
from cli.lines import Answer, BadRecord, JsonlOption, OutOption, Record, each, string
from serving.events import assessment_json
from shield.assessment import Assessment, Turn
from shield.detect import Detector
from shield.explain import explain


def assess(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="What the person wrote, in quotes; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    jsonl: JsonlOption = None,
    out: OutOption = None,
    explained: Annotated[
        bool, typer.Option("--explain", help="Why: each rule's reason, the learned stage, what was withdrawn.")
    ] = False,
) -> None:
    """Say how grave a message is, in which ways, and which words of it say so.

    The levels are none, low, moderate, high and imminent. With --jsonl, a line {"id", "text"} or {"id", "turns":
    [{"role", "text"}]} gives a line {"id", "level", "crisis", "categories", "findings", "per_turn"}; a line that cannot
    be used gives {"id", "error"} and, at the end, exit status 2. No model is asked and nothing is kept. A text that
    begins with a dash goes after -- or through standard input. --explain also says why: it works with --json and
    --jsonl too.
    """
    if jsonl is not None:
        if text is not None:
            raise Failure("give a text or --jsonl, not both; see crisis assess --help", 2)
        each(jsonl, out, functools.partial(_answering, explained=explained))
        return
    if out is not None:
        raise Failure("--out needs --jsonl; one text is answered on standard output", 2)
    message = one_text(text, "assess")
    if explained:
        _explained(message, as_json=as_json)
        return
    assessment = _detector().assess([Turn("user", message)])
    if as_json:
        print(json.dumps(_record(assessment), ensure_ascii=False))
    else:
        _show(assessment, message)


def _explained(message: str, *, as_json: bool) -> None:
    said = explain(_detector(), [Turn("user", message)])
    if as_json:
        print(json.dumps(record(said), ensure_ascii=False))
    else:
        tell(console(), said)


def _show(assessment: Assessment, message: str) -> None:
    """The assessment for a person: the level, then each finding with the words it stands on."""
    out = console()
    out.print("level       ", end="")
    out.print(assessment.level, style=STYLES[assessment.level])
    out.print(f"categories  {', '.join(assessment.categories) or '-'}", markup=False)
    if assessment.signals:
        out.print(f"signals     {', '.join(sorted(assessment.signals))}", markup=False)
    width = max((len(found.rule_id) for found in assessment.findings), default=0)
    for found in assessment.findings:
        words = message[found.start : found.end]
        place = f"{found.start}-{found.end}"
        out.print(f"  {found.level:<9} {found.rule_id:<{width}}  {place:<8}  {words!r}", markup=False)


def _detector() -> Detector:
    return Detector.usable(lambda fault: print(fault, file=sys.stderr))


def _record(assessment: Assessment) -> Record:
    found: dict[str, Any] = assessment_json(assessment)
    return {**found, "per_turn": list(assessment.per_turn)}


def _answering(*, explained: bool) -> Answer:
    detector = _detector()
    if explained:
        return lambda line: {"id": line.get("id"), **record(explain(detector, _turns(line)))}
    return lambda line: {"id": line.get("id"), **_record(detector.assess(_turns(line)))}


def _turns(record: Record) -> list[Turn]:
    raw = record.get("turns")
    if raw is None:
        return [Turn("user", string(record, "text"))]
    if not isinstance(raw, list) or not raw:
        raise BadRecord('"turns" must be a list of {"role", "text"}, oldest first')
    return [_turn(item) for item in raw]


def _turn(item: object) -> Turn:
    if not isinstance(item, dict):
        raise BadRecord('each turn must be {"role", "text"}')
    role, text = item.get("role"), item.get("text", item.get("content"))
    if not isinstance(text, str):
        raise BadRecord('a turn\'s "text" must be a text')
    if role == "user":
        return Turn("user", text)
    if role == "assistant":
        return Turn("assistant", text)
    raise BadRecord('a turn\'s "role" must be "user" or "assistant"')
