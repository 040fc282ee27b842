"""Process items in one batch. If the batch fails, process each half, so that one bad item stops no other."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


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
