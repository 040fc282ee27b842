"""Limit the processor time of work on what callers wrote.

The timer's signal reaches only Python's main thread, where a Lambda's handler runs; other threads have no limit.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

_AGAIN_SECONDS = 0.02
"""How soon the timer fires again: Python discards an exception that is raised while an object is finalized."""


class OutOfTimeError(Exception):
    """The work has used all of its processor time."""


@dataclass
class Allowance:
    """The processor time (s) that the work of one request may still use."""

    seconds: float = 1.0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Do work within the remaining time. Raises OutOfTimeError."""
        if self.seconds <= 0:
            raise OutOfTimeError
        begun = time.process_time()
        try:
            with _cut_after(self.seconds):
                yield
        finally:
            self.seconds -= time.process_time() - begun


@contextmanager
def _cut_after(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def cut(_: int, __: FrameType | None) -> None:
        if not is_over:
            _raise()

    def leave_unraised(unraisable: "sys.UnraisableHookArgs") -> None:
        if unraisable.exc_type is not OutOfTimeError:
            before_hook(unraisable)

    before_hook, sys.unraisablehook = sys.unraisablehook, leave_unraised
    before = signal.signal(signal.SIGVTALRM, cut)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = before_hook


def _raise() -> NoReturn:
    raise OutOfTimeError
