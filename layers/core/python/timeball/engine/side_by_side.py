"""Run blocking calls that share no row at the same time: in threads in production, one after the other elsewhere."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

IN_FLIGHT = 3
"""How many chunks of jobs a scan dispatches at the same time."""

_Answer = TypeVar("_Answer")


class SideBySide(Protocol):
    """Runs several calls, and returns when all of them have ended."""

    def __call__(self, calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
        """Return the answers in the order of the calls. Raises the error of the first call that failed."""


def one_after_the_other(calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
    """Run the calls one after the other."""
    return [call() for call in calls]


@dataclass(frozen=True)
class Threads:
    """Runs the first call in the caller's thread, and the others in a pool of threads."""

    pool: ThreadPoolExecutor

    def __call__(self, calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
        """Return the answers in the order of the calls. Raises the error of the first call that failed."""
        first, *others = calls
        begun = [self.pool.submit(call) for call in others]
        try:
            answer = first()
        finally:
            wait(begun)
        return [answer, *(one.result() for one in begun)]
