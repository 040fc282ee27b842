"""Commands of the command line, as a shell would start them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def timeball(arguments: Sequence[str]) -> Done:
    """Run `timeball` in a separate process, without AWS in its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", "timeball", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)
