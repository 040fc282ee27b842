"""Process many items: in one batch, of which a failing part is split; or side by side, if they share no row.

Calls run side by side in threads in production, and one after the other elsewhere.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol, TypeVar

from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

IN_FLIGHT = 3
"""How many chunks of jobs a scan dispatches at the same time."""

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")
_Answer = TypeVar("_Answer")


def bisect(
    work: Callable[[Sequence[_Item]], _Done], items: Sequence[_Item], clock: Clock, stop_at: int
) -> tuple[list[_Done], list[tuple[Sequence[_Item], Exception]]]:
    """Return the results of `work` for the batches that succeeded, and each batch that failed with its error.

    `work` must be safe to repeat after a failed call. From `stop_at` (ms) on, failed batches are not split any more.
    """
    done: list[_Done] = []
    failed: list[tuple[Sequence[_Item], Exception]] = []
    parts = [items] if items else []
    while parts:
        part = parts.pop()
        try:
            done.append(work(part))
        except Exception as error:
            if len(part) > 1 and clock.now() < stop_at:
                half = len(part) // 2
                parts += [part[half:], part[:half]]
            else:
                failed.append((part, error))
                expected = isinstance(error, UnavailableError)
                log.warning("%d of %d left for later: %s", len(part), len(items), error, exc_info=not expected)
    return done, failed


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
