"""The entry point of the command line: find the command, run it, explain a wrong request in one sentence.

Invariant: a refused request exits with 2 and prints nothing on standard output.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from timeball.cli.preview import UsageError

_HELP: Final = """\
usage: timeball COMMAND ...

commands:
  preview   print the next fire times of a schedule

Each command lists its options with --help.
"""
_REFUSED: Final = 2
_CLOSED: Final = 141
"""The exit status that a shell reports for a program whose reader has gone: 128 and the number of SIGPIPE."""


def main(arguments: Sequence[str] | None = None, now: Callable[[], int] | None = None) -> int:
    """Run a command and return its exit status; `now` returns the present instant (ms)."""
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments), now or _now)
        sys.stdout.flush()
    except UsageError as refused:
        print(_one_line(str(refused)), file=sys.stderr)
        return _REFUSED
    except BrokenPipeError:
        # The reader has gone (`| head -1`): Python's own flush at its end would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED
    return status


def _run(arguments: list[str], now: Callable[[], int]) -> int:
    match arguments:
        case ["preview", *rest]:
            from timeball.cli.preview import preview_command  # noqa: PLC0415 - import only the command that runs

            return preview_command(rest, now)
        case ["-h" | "--help", *_]:
            print(_HELP, end="")
            return 0
        case [name, *_]:
            raise UsageError(f'There is no command "{name}"; see timeball --help.')
        case _:
            raise UsageError("Give a command, such as preview; see timeball --help.")


def _one_line(text: str) -> str:
    """Escape characters that would break the line or control a terminal: a sentence may quote the input."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _now() -> int:
    return time.time_ns() // 1_000_000
