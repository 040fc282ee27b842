"""Runs a command for an attempt: the payload is its standard input, its output the result, its exit status the outcome.

Invariant: the command is a process group of its own, and no process of the group outlives the end that is reported. A
process that has left the group goes on, and nothing waits for it.
"""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final, TextIO, cast

from timeball.cli.status import CommandError
from timeball.cli.work.attempts import RESULT_BYTES, Ending, QueuedAttempt, error_text

_GRACE_SECONDS: Final = 10.0
"""How long a command that is stopped may take before it is killed."""
_CLOSE_SECONDS: Final = 0.5
"""How long the streams of a command that has ended may stay open. A process that has left its group holds them open."""
_CHUNK: Final = 4096
_HIDDEN: Final = ("TIMEBALL_KEY",)


class Tail:
    """The end of a stream, which a thread reads until the stream is closed."""

    def __init__(self, stream: IO[bytes], copy: TextIO | None = None) -> None:
        self._stream, self._copy = stream, copy
        self._end = b""
        """At most a byte more than a result may have: the byte says that the text is not whole."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _CHUNK):
                if self._copy is not None:
                    self._copy.write(chunk.decode(errors="replace"))
                    self._copy.flush()
                self._end = (self._end + chunk)[-RESULT_BYTES - 1 :]

    def wait(self, seconds: float) -> None:
        """Wait at most so long until the stream is closed."""
        self._thread.join(seconds)

    @property
    def text(self) -> str:
        """The end of what has come so far, at most 16 KB."""
        return self._end[-RESULT_BYTES:].decode(errors="replace")

    @property
    def is_whole(self) -> bool:
        """Whether the text has all that came."""
        return len(self._end) <= RESULT_BYTES


class Execution:
    """A command at work."""

    def __init__(
        self, command: Sequence[str], work: QueuedAttempt, environment: Mapping[str, str], log: TextIO
    ) -> None:
        kept = {name: value for name, value in environment.items() if name not in _HIDDEN}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command that the user named
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**kept, **_ids_of(work)},
                start_new_session=True,
            )
        except OSError as bad:
            raise CommandError(f"--exec: {command[0]} did not start: {bad.strerror}.") from None
        self._output = Tail(cast("IO[bytes]", self._process.stdout))
        self._errors = Tail(cast("IO[bytes]", self._process.stderr), log)
        threading.Thread(target=_feed, args=(self._process.stdin, work.payload), daemon=True).start()
        self._is_stopped = False

    def wait(self, seconds: float) -> Ending | None:
        """Wait at most so long for the end of the command, and return it; None while it works."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._signal(signal.SIGKILL)  # what it has left behind
        for stream in (self._output, self._errors):
            stream.wait(_CLOSE_SECONDS)
        output, errors = self._output.text, self._errors.text
        if status == 0 and not self._is_stopped:
            return Ending(result_of(output, is_whole=self._output.is_whole))
        how = f"exit status {status}" if status >= 0 else f"signal {-status}"
        stopped = ", after it was stopped" if self._is_stopped else ""
        return Ending(error=error_text(f"The command ended with {how}{stopped}. {errors or output}"))

    def stop(self) -> None:
        """Ask the command to end, and end it if it does not."""
        self._is_stopped = True
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _feed(stream: IO[bytes], payload: str) -> None:
    """Write the payload to a command, which may end without reading it."""
    with suppress(OSError), stream:
        stream.write(payload.encode())


def _ids_of(work: QueuedAttempt) -> dict[str, str]:
    """Return the facts of a run as variables: Timeball-Run-Id is TIMEBALL_RUN_ID. The token is not among them."""
    named = {name: value for name, value in work.facts.items() if name.startswith("Timeball-")}
    named.pop("Timeball-Callback-Token", None)
    return {name.upper().replace("-", "_"): value for name, value in named.items()}


def result_of(output: str, *, is_whole: bool) -> Any:  # noqa: ANN401 - whatever JSON it is
    """Return the result of a command: its output as JSON if it is JSON, otherwise its end as a text."""
    if is_whole:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(output)
            if _size_of(parsed) <= RESULT_BYTES:
                return parsed
    text = output.strip()
    while _size_of(text) > RESULT_BYTES:
        text = text[len(text) // 8 + 1 :]
    return text or None


def _size_of(value: object) -> int:
    """Return the bytes of a value as JSON. Raises ValueError for what json.loads takes and JSON does not know."""
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
