"""The entry point of the command line: find the command, run it, explain an error in one sentence.

Invariant: a wrong request prints nothing on standard output.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from timeball import __version__
from timeball.cli.registry import COMMANDS
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import Surroundings
from timeball.cli.tree import COMPLETION_VARIABLE

_CLOSED: Final = 141
"""The exit status that a shell reports for a program whose reader has gone: 128 and the number of SIGPIPE."""
_INTERRUPTED: Final = 130
"""The exit status of a program that Ctrl-C has ended."""


class CommandTree(TyperGroup):
    """The commands of the registry; the module of one is imported when it is used."""

    # The types of typer's contexts, commands and formatters are private.
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(COMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


app = typer.Typer(cls=CommandTree, add_completion=False, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - as typer calls it
    if wanted:
        print(f"timeball {__version__}")
        raise typer.Exit


@app.callback(epilog="TIMEBALL_URL and TIMEBALL_KEY win over profiles. Each command lists its options with --help.")
def _timeball(
    context: typer.Context,
    *,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this profile; TIMEBALL_PROFILE does the same.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback does all
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Schedule jobs, see what they do, and steer them.

    Exit status: 0 ok, 1 the outcome is bad, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 quota, 7 unavailable.
    """
    if profile is not None:
        context.obj = replace(context.obj, profile=profile)


def main(arguments: Sequence[str] | None = None, now: Callable[[], int] | None = None) -> int:
    """Run a command in this process and return its exit status; `now` returns the present instant (ms)."""
    if COMPLETION_VARIABLE in os.environ:
        return _complete()
    given = sys.argv[1:] if arguments is None else arguments
    surroundings = Surroundings() if now is None else Surroundings(now=now)
    return run(given, surroundings)


def run(arguments: Sequence[str], surroundings: Surroundings) -> int:
    """Run a command in its surroundings and return its exit status; an error becomes one sentence."""
    try:
        status = _invoke(list(arguments), surroundings)
        surroundings.stdout.flush()
    except CommandError as refused:
        surroundings.say(str(refused))
        return int(refused.status)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.TyperException as refused:
        surroundings.say(_sentence(refused))
        return int(Status.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head -1`): Python's own flush at its end would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), surroundings.stdout.fileno())
        return _CLOSED
    except Exception as error:
        from timeball.cli.problems import explained  # noqa: PLC0415 - the client is only loaded where it is used

        refused_by_api = explained(error)
        if refused_by_api is None:
            raise
        surroundings.say(str(refused_by_api))
        return int(refused_by_api.status)
    return status


def _invoke(arguments: list[str], surroundings: Surroundings) -> int:
    command = typer.main.get_command(app)
    with command.make_context("timeball", arguments, obj=surroundings) as context:
        return int(command.invoke(context) or Status.OK)


def _sentence(refused: typer.TyperException) -> str:
    """Return one sentence with the command whose help says more."""
    context = getattr(refused, "ctx", None)
    path = context.command_path if context else "timeball"
    text = refused.format_message().strip().removesuffix(".")
    if text == "Missing command" and context is not None:
        text = f"Say which: {', '.join(context.command.list_commands(context))}"
    return f"{text}; see {path} --help."


def _complete() -> int:
    """Answer the request of a shell, which is in the environment."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415 - for a shell only

    completion_init()
    typer.main.get_command(app).main(args=[], prog_name="timeball", complete_var=COMPLETION_VARIABLE)
    return int(Status.OK)
