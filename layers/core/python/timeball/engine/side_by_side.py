"""How blocking calls that have no row in common run at once: threads in production, in turn where nothing waits."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

IN_FLIGHT = 3
"""Chunks of jobs that a scan dispatches side by side."""

_Answer = TypeVar("_Answer")


class SideBySide(Protocol):
    """Runs several calls, and ends when all of them have ended."""

    def __call__(self, calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
        """Return the answers in the order of the calls. Raises what the first call raised that failed."""


def one_after_the_other(calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
    """Run calls in turn."""
    return [call() for call in calls]


@dataclass(frozen=True)
class Threads:
    """Runs the first call where it is asked, and the others in threads."""

    pool: ThreadPoolExecutor

    def __call__(self, calls: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
        """Return the answers in the order of the calls. Raises what the first call raised that failed."""
        first, *others = calls
        begun = [self.pool.submit(call) for call in others]
        try:
            answer = first()
        finally:
            wait(begun)
        return [answer, *(one.result() for one in begun)]
