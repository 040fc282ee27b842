"""A child process that is ended here together with all of its own children.

Invariant: it leads its own session, so that Ctrl-C in the terminal does not reach it first, and so that ending its
process group ends its children and no other process.
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
    """A required process ended, or never became ready."""

    def __init__(self, what: str, log: Path) -> None:
        super().__init__(what)
        self.log = log

    def tail(self, lines: int = 30) -> str:
        """Return the end of the process's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class Child:
    """A running process that writes its output to a log file; leaving the context ends it.

    The standard input of the process ends when this one does, also when this one is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        log: Path,
        inherited: Sequence[int] = (),
    ) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=inherited,
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
        """Wait until the process ends; raise `ChildFailedError` if it failed."""
        if code := self.wait():
            raise ChildFailedError(f"{what} failed with exit code {code}", self.log)

    def terminate(self, seconds: float) -> None:
        """Ask the process alone to end, and wait this long for it: its children may serve it until then."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def end(self) -> None:
        """End the process and its children: terminate, wait, kill."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader as long as one of its children lives.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
