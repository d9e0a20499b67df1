"""`crisis assess` and `crisis filter`: SHIELD and the filter over one text or a file of them. No model is asked."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import ConfigOption, Failure, console, settings
from cli.lines import BadRecord, Record, each, string
from serving.events import assessment_json
from serving.wiring import build_responder
from shield.assessment import Assessment, Turn
from shield.detect import Detector

JsonlOption = Annotated[Path | None, typer.Option("--jsonl", help="A JSON Lines file instead of a text; - for input.")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Where the answers go. Default: standard output.")]


def assess(
    text: Annotated[str | None, typer.Argument(help="What the person wrote; - reads it from standard input.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the assessment as JSON.")] = False,
    jsonl: JsonlOption = None,
    out: OutOption = None,
) -> None:
    """Say what SHIELD makes of a message: level, categories, and the findings that carry them.

    With --jsonl, a line {"id", "text"} or {"id", "turns": [{"role", "text"}]} gives a line
    {"id", "level", "crisis", "categories", "findings", "per_turn"}.
    """
    detector = Detector.load()
    if jsonl is not None:
        each(jsonl, out, lambda record: _assessed(detector, record))
        return
    message = one_text(text, "assess")
    assessment = detector.assess([Turn("user", message)])
    if as_json:
        print(json.dumps({**assessment_json(assessment), "per_turn": list(assessment.per_turn)}, ensure_ascii=False))
    else:
        explain(assessment, message)


def filter_reply(
    user: Annotated[str | None, typer.Option("--user", help="What the person wrote.")] = None,
    reply: Annotated[str | None, typer.Option("--reply", help="The reply to judge.")] = None,
    country: Annotated[str | None, typer.Option("--country", help="The person's country, such as US.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    jsonl: JsonlOption = None,
    out: OutOption = None,
    config: ConfigOption = None,
) -> None:
    """Judge a reply as the service judges a model's: pass, repair or block, and the text that may be shown.

    With --jsonl, a line {"id", "user", "reply", "country"} gives a line {"id", "verdict", "violations", "text"}.
    """
    responder = build_responder(settings(config))

    def judged(record: Record) -> Record:
        place = record.get("country")
        if place is not None and not isinstance(place, str):
            raise BadRecord('"country" must be a text')
        asked, said = record.get("user", ""), string(record, "reply")
        if not isinstance(asked, str):
            raise BadRecord('"user" must be a text')
        result = responder.filter(asked, said, country=place or country)
        notes = [{"rule": v.rule_id, "category": v.category} for v in result.violations]
        return {"id": record.get("id"), "verdict": result.verdict, "violations": notes, "text": result.text}

    if jsonl is not None:
        each(jsonl, out, judged)
        return
    if reply is None:
        raise Failure('nothing to judge: crisis filter --user "…" --reply "…", or --jsonl FILE', 2)
    answer = judged({"id": None, "user": user or "", "reply": reply})
    if as_json:
        print(json.dumps(answer, ensure_ascii=False))
        return
    rules = ", ".join(note["rule"] for note in answer["violations"])
    console().print(f"{answer['verdict']}{f' ({rules})' if rules else ''}\n\n{answer['text']}", markup=False)


def one_text(text: str | None, command: str) -> str:
    """The text of the command line or of standard input."""
    if text == "-" or (text is None and not sys.stdin.isatty()):
        text = sys.stdin.read()
    if not text or not text.strip():
        raise Failure(f'nothing to read: crisis {command} "a message", or --jsonl FILE', 2)
    return text


def explain(assessment: Assessment, message: str) -> None:
    """The assessment for a person: the level, then each finding with the words it stands on."""
    out = console()
    out.print(f"level       {assessment.level}\ncategories  {', '.join(assessment.categories) or '-'}", markup=False)
    if assessment.signals:
        out.print(f"signals     {', '.join(sorted(assessment.signals))}", markup=False)
    for found in assessment.findings:
        words = message[found.start : found.end]
        out.print(f"  {found.level:<9} {found.rule_id:<40} {found.start}-{found.end}  {words!r}", markup=False)


def _assessed(detector: Detector, record: Record) -> Record:
    assessment = detector.assess(_turns(record))
    found: dict[str, Any] = assessment_json(assessment)
    return {"id": record.get("id"), **found, "per_turn": list(assessment.per_turn)}


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
