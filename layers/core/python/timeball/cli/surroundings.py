"""What surrounds a command: the clock, the environment and the streams. A test gives others."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import typer

from timeball.cli.status import CommandError


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of one command."""

    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    """Returns the present instant (ms)."""
    pause: Callable[[float], None] = time.sleep
    """Lets so many seconds pass."""
    draw: Callable[[int], bytes] = os.urandom
    """Returns so many random bytes."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    transport: Any = None
    """A transport of httpx in place of the network."""
    launch: Callable[[str], bool] | None = None
    """Opens a page in a browser, in place of the browser of this machine; returns whether it could."""
    profile: str | None = None
    """The name of the profile to use."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees the output."""
        return self.stdout.isatty()

    @property
    def can_ask(self) -> bool:
        """Whether a person sees a question and can answer it."""
        return self.stdin.isatty() and self.stderr.isatty()

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        given = self.environment.get("COLUMNS", "")
        return int(given) if given.isdecimal() and int(given) > 0 else shutil.get_terminal_size((100, 24)).columns

    def say(self, sentence: str) -> None:
        """Write a sentence for a person beside the output."""
        self.stderr.write(f"{one_line(sentence)}\n")

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask a person before something that cannot be taken back. Raises CommandError without a yes."""
        if yes:
            return
        if not self.can_ask:
            raise CommandError(f"{question} Without a terminal to ask on, this needs --yes.")
        self.stderr.write(f"{one_line(question)} [y/N] ")
        self.stderr.flush()
        if self.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was done.")

    def read(self, name: str) -> str:
        """Return the text of a file, or of standard input for `-`. Raises CommandError."""
        try:
            return self.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise CommandError(f"{name} is no text in UTF-8.") from None
        except OSError as bad:
            raise CommandError(f"{name} cannot be read: {bad.strerror or bad}.") from None


def surroundings_of(context: typer.Context) -> Surroundings:
    """Return the surroundings of a command."""
    found: Surroundings = context.obj
    return found


def one_line(text: str) -> str:
    """Escape characters that would break the line or steer a terminal: a text may quote a stranger's input."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
