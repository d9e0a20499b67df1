"""The `crisis` command: every subcommand is a small module of its own, loaded when it is asked for.

Exit status: 0 done, 1 a gate or a check failed, 2 wrong use. Errors are one line: what, where, how to mend it.
"""

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli.console import Failure, examples, speak_utf8

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a command is defined (`module:name`, a function or a Typer), and what the list of commands says of it."""

    place: str
    help: str
    examples: tuple[str, ...] = ()

    def load(self, name: str) -> Any:
        module, _, attribute = self.place.partition(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name, epilog=examples(*self.examples))(found)
            found = alone
        return typer.main.get_command(found)


COMMANDS = {
    "serve": Lazy(
        "cli.serve:serve",
        "Start the service.",
        ("crisis serve --demo", "crisis serve --config /etc/crisis.toml --port 8600"),
    ),
    "health": Lazy(
        "cli.health:health",
        "Ask a running service whether it is well.",
        ("crisis health", "crisis health --ready --port 8600"),
    ),
    "chat": Lazy(
        "cli.chat:chat",
        "Talk to the service here, in the terminal.",
        ("crisis chat --demo --country US", "crisis chat --country MX --language es"),
    ),
    "assess": Lazy(
        "cli.assess:assess",
        "Say how grave a message or a conversation is, and why.",
        (
            'crisis assess "I can\'t do this any more"',
            "crisis assess --json - < message.txt",
            "crisis assess --jsonl messages.jsonl --out levels.jsonl",
        ),
    ),
    "filter": Lazy(
        "cli.filter:filter_reply",
        "Judge a reply: pass, repair or block, and what may be shown.",
        (
            'crisis filter --user "I want to die" --reply "I\'m glad you told me. Are you safe right now?"',
            "crisis filter --jsonl replies.jsonl --out verdicts.jsonl",
        ),
    ),
    "models": Lazy("cli.models:app", "Which models exist, and which may speak to people."),
    "eval": Lazy("cli.eval:app", "Evaluate the service and the models; check the gates."),
    "doctor": Lazy(
        "cli.doctor:doctor", "Say what is in order, and what to do next.", ("crisis doctor", "crisis doctor --json")
    ),
    "report": Lazy(
        "cli.report:report",
        "Counts of conversations and referrals for a period.",
        ("crisis report --year 2027", "crisis report --from 2027-01-01 --to 2027-06-30 --json"),
    ),
    "keys": Lazy("cli.keys:app", "Make, list, rotate and revoke API keys."),
    "config": Lazy("cli.config:app", "Check and show the settings; make an API key."),
}


class Crisis(TyperGroup):
    """Loads a command's module when that command is asked for: help is there at once, and what breaks one command
    breaks no other."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = COMMANDS.get(cmd_name)
        return command.load(cmd_name) if command else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        names: Any = dict.fromkeys(COMMANDS)
        self.commands = names  # only read for "did you mean"
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """When whoever reads our output has read enough (`| head`), that is no failure; Typer would make it one."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _let_go_of_output()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.errno not in _FULL or error.filename is not None:
                raise
            _let_go_of_output()
            raise _unwritten(error) from None


app = typer.Typer(
    cls=Crisis,
    name="crisis",
    help="The local crisis-support model service: checked, complete replies for people in crisis.",
    epilog="`crisis COMMAND --help` tells more, with examples. Exit status: 0 done, 1 a check failed, 2 wrong use.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"crisis {version('crisis-support')}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def main() -> None:
    """The console script."""
    speak_utf8()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs the command and gives its exit status; whatever went wrong was said in lines on standard error."""
    try:
        status = typer.main.get_command(app).main(list(arguments), prog_name="crisis", standalone_mode=False)
        _flush()
    except Failure as failure:
        return _say(str(failure), failure.status)
    except typer.TyperException as error:
        return _say(_usage(error), status=2)
    return int(status or 0)


def _say(message: str, status: int) -> int:
    prefix = "" if message.startswith("Usage:") else "crisis: "
    for line in message.splitlines():
        print(f"{prefix}{line}", file=sys.stderr)
    return status


def _usage(error: typer.TyperException) -> str:
    """Typer's own refusals in the form of all others. Arguments are not repeated: they may be a person's words."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "crisis"
    if "\n" in message:  # nothing was asked: the help itself
        return message
    if "unexpected extra argument" in message:
        message = "more arguments than the command takes; put a text in quotes"
    if "No such command" in message and "Did you mean" not in message:
        message = "no such command"
    message = f"{message[:1].lower()}{message[1:].rstrip('.')}".replace("'. Did you mean", "', did you mean")
    return f"{message} – see {path} --help"


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_output()
    except OSError as error:
        _let_go_of_output()
        raise _unwritten(error) from None


def _unwritten(error: OSError) -> Failure:
    return Failure(f"standard output: cannot be written: {error.strerror}; make room, or send it somewhere else")


def _let_go_of_output() -> None:
    """Whatever Python still flushes at its end goes nowhere, instead of into an error message."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
