"""Work on many at once, and where that fails on each half of them: one that cannot be worked on stops no other."""

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
    """Return what `work` returned for all items, or for the parts that it could do; the others, and why it could not.

    It must be able to begin anew with what a failed call has begun. From `stop_at` (ms) on what fails is left.
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
