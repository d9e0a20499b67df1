"""`crisis report`: how often help was named in a period: counts only, for the yearly report that SB 243 asks for."""

import datetime
import json
import sys
from typing import Annotated

import typer

from cli.console import ConfigOption, Failure, JsonOption, console, settings
from serving.referrals import FILE_NAME, Period, ReferralsError, Report, read
from serving.settings import records_folder


def report(
    year: Annotated[
        int | None, typer.Option("--year", metavar="YYYY", min=2000, max=2999, help="A whole year.")
    ] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="The first day, in UTC.")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="The last day, in UTC.")] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print how many answers named a crisis service in a period. Default: this year so far.

    Only numbers were ever kept: no text, no ids, nobody's name or country.
    """
    period = _period(year, first, last)
    path = records_folder(settings(config)) / FILE_NAME
    try:
        counted = read(path, period)
    except ReferralsError as error:
        raise Failure(str(error)) from None
    if not path.exists():
        hint = "run it as the service's user, with its --config and its XDG_STATE_HOME"
        print(f"nothing was ever counted in {path}; if a service ran, {hint}", file=sys.stderr)
    if as_json:
        print(json.dumps(counted.to_json(), indent=2))
    else:
        console().print(worded(counted), markup=False)


def worded(counted: Report) -> str:
    """The report as a person reads it."""
    facts = counted.to_json()
    rows = [f"  {level:<10} {count:>8}" for level, count in facts["by_level"].items()]
    return "\n".join(
        [
            f"{facts['from']} to {facts['to']} (UTC)",
            f"Referrals to a crisis service: {counted.referrals}",
            *rows,
            f"Of these, named in the reply's own words too: {facts['named_in_the_reply']}",
            f"Answers where nothing pointed to a crisis (lines in the structured field only, not counted above): "
            f"{facts['answers_without_sign_of_crisis']}",
        ]
    )


def _period(year: int | None, first: str | None, last: str | None) -> Period:
    today = datetime.datetime.now(datetime.UTC).date()
    if year is not None and (first or last):
        raise Failure("give --year, or --from and --to", 2)
    if year is not None:
        return Period(datetime.date(year, 1, 1), datetime.date(year, 12, 31))
    period = Period(_day(first, "--from") or today.replace(month=1, day=1), _day(last, "--to") or today)
    if period.first > period.last:
        raise Failure("--from is after --to", 2)
    return period


def _day(text: str | None, option: str) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise Failure(f"{option}: a day such as 2027-01-31", 2) from None
