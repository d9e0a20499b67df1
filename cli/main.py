"""The `crisis` command: every subcommand is a small module of its own.

Exit status: 0 done, 1 a gate or a check failed, 2 wrong use. Errors are one line: what, where, how to mend it.
"""

import sys

import typer

from cli import chat, config, doctor, models, serve, text
from cli.console import Failure

app = typer.Typer(
    name="crisis",
    help="The local crisis-support model service: checked, complete replies for people in crisis.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("serve")(serve.serve)
app.command("chat")(chat.chat)
app.command("assess")(text.assess)
app.command("filter")(text.filter_reply)
app.command("doctor")(doctor.doctor)
app.add_typer(models.app, name="models")
app.add_typer(config.app, name="config")


def main() -> None:
    """Run the command; a Failure is one line on standard error and its exit status."""
    try:
        app()
    except Failure as failure:
        print(f"crisis: {failure}", file=sys.stderr)
        sys.exit(failure.status)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
