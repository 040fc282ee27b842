"""Commands of the command line: in this process over the API in memory, or as a shell would start them."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.client.in_memory import Transport
from tests.console.world import World
from timeball.cli.main import run
from timeball.cli.surroundings import Surroundings

URL = "https://api.example"


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a list in a pipe."""
        return [line.split("\t") for line in self.stdout.splitlines()]


def timeball(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Done:
    """Run `timeball` in a separate process, without AWS in its environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TIMEBALL_"))}
    done = subprocess.run(
        [sys.executable, "-m", "timeball", *arguments],
        env={**clean, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class Stream(io.StringIO):
    """A stream of a command, which may be a terminal."""

    encoding = "utf-8"

    def __init__(self, text: str = "", *, is_terminal: bool = False) -> None:
        super().__init__(text)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@dataclass
class Shell:
    """Runs commands in this process, over the API in memory, whose clock goes on while a command waits."""

    world: World = field(default_factory=World)
    environment: dict[str, str] = field(default_factory=dict)
    launched: list[str] = field(default_factory=list)
    transport: httpx.BaseTransport | None = None
    pause: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        self.environment = {"TIMEBALL_URL": URL, "TIMEBALL_KEY": self.world.keys["admin"], **self.environment}
        self.transport = self.transport or Transport(self.world)

    def __call__(self, *arguments: str, stdin: str = "", role: str | None = None, terminal: bool = False) -> Done:
        """Run a command with the key of a role; on a terminal, standard input is what a person types."""
        streams = [Stream(stdin, is_terminal=terminal), Stream(is_terminal=terminal), Stream(is_terminal=terminal)]
        as_role = {} if role is None else {"TIMEBALL_KEY": self.world.keys[role]}
        surroundings = Surroundings(
            now=self.world.clock.now,
            pause=self.pause or self.world.advance,
            draw=bytes,
            environment={"COLUMNS": "120", **self.environment, **as_role},
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            transport=self.transport,
            launch=self._launch,
        )
        status = run(arguments, surroundings)
        return Done(status, streams[1].getvalue(), streams[2].getvalue())

    def _launch(self, address: str) -> bool:
        self.launched.append(address)
        return True
