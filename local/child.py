"""A process that is started here and ended here, with all that it started itself.

Invariant: it leads a session of its own, so that Ctrl-C in the terminal does not reach it before us, and so
that ending its process group ends its own children and nobody else's.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_GRACE_SECONDS = 2


class ChildFailedError(RuntimeError):
    """A process that was needed ended, or never did what it was started for."""

    def __init__(self, what: str, log: Path) -> None:
        super().__init__(what)
        self.log = log

    def tail(self, lines: int = 30) -> str:
        """Return the end of the process's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class Child:
    """A running process, its output in a log file; leaving the context ends it."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def exit_code(self) -> int | None:
        """Return the exit code, or `None` while the process runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait until the process ends, and return its exit code."""
        return self._process.wait()

    def succeed(self, what: str) -> None:
        """Wait until the process ends; raise `ChildFailedError` if it did not end well."""
        if code := self.wait():
            raise ChildFailedError(f"{what} failed with exit code {code}", self.log)

    def end(self) -> None:
        """End the process and its children: ask, wait, insist."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader for as long as a child of it does.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
