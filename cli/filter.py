"""`crisis filter`: a reply judged as the service judges a model's, one or a file of them. No model is asked."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.console import ConfigOption, Failure, JsonOption, console, one_text, settings
from cli.lines import Answer, JsonlOption, OutOption, Record, each, string
from safety_filter.helplines import resolve_country
from safety_filter.verdict import Verdict
from serving.wiring import build_responder
from textrules.language import identify

# Where nobody says where the person is: the protocol's own lines (988, Crisis Text Line, 911) are the United States'.
_HOME = "US"
_STYLES: dict[Verdict, str] = {"pass": "green", "repair": "yellow", "block": "bold red"}


def filter_reply(
    user: Annotated[str | None, typer.Option("--user", metavar="TEXT", help="What the person wrote.")] = None,
    reply: Annotated[
        str | None, typer.Option("--reply", metavar="TEXT", help="The reply to judge; - reads it from standard input.")
    ] = None,
    country: Annotated[
        str | None,
        typer.Option(
            "--country",
            metavar="CODE",
            help="Where the person is. Default: reply.default_country, else the country of their language, else US.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="TAG", help="Such as en or es. Default: read from their message."),
    ] = None,
    as_json: JsonOption = False,
    jsonl: JsonlOption = None,
    out: OutOption = None,
    config: ConfigOption = None,
) -> None:
    """Judge a reply as the service judges a model's: pass, repair or block, and the text that may be shown.

    A repaired text lacks the offending sentences, a blocked one is our own static reply; where the person is in crisis
    it is completed with their helplines. With --jsonl, a line {"id", "user", "reply"} (and "country", "language" where
    known) gives a line {"id", "verdict", "violations", "text"}; a line that cannot be used gives {"id", "error"} and,
    at the end, exit status 2. A verdict is an answer: block ends with status 0.
    """
    if jsonl is not None:
        if user is not None or reply is not None:
            raise Failure("give --reply or --jsonl, not both; see crisis filter --help", 2)
        each(jsonl, out, lambda: _judge(config, country, language))
        return
    if out is not None:
        raise Failure("--out needs --jsonl; one reply is answered on standard output", 2)
    text = one_text(reply, "filter")
    answer = _judge(config, country, language)({"user": user, "reply": text})
    del answer["id"]
    if as_json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        _explain(answer)


def _judge(config: Path | None, country: str | None, language: str | None) -> Answer:
    chosen = settings(config)
    responder = build_responder(chosen)

    def judged(record: Record) -> Record:
        user, said = string(record, "user", ""), string(record, "reply")
        spoken = string(record, "language", language or "") or None
        home = resolve_country(None, default=None, named=None, language=spoken or identify(user)) or _HOME
        place = string(record, "country", country or chosen.reply.default_country or home)
        result = responder.filter(user, said, country=place, language=spoken)
        notes = [{"rule": v.rule_id, "category": v.category, "severity": v.severity} for v in result.violations]
        return {"id": record.get("id"), "verdict": result.verdict, "violations": notes, "text": result.text}

    return judged


def _explain(answer: Record) -> None:
    out = console()
    rules = ", ".join(note["rule"] for note in answer["violations"])
    out.print(answer["verdict"], style=_STYLES[answer["verdict"]], end="")
    out.print(f"{f'  ({rules})' if rules else ''}\n\n{answer['text']}", markup=False)
