"""Whether the scheduler is alive: whether the store answers, and whether the ticker ticks.

Strangers may ask, so a process reads one row at most every FRESH_MS, and remembers also that no answer came. Idle scans
tick like busy ones: the owner of a partition notes its tick before the scan decides what to query.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.ports.errors import UnavailableError

FRESH_MS: Final = 2 * SECOND_MS
"""How long an answer of the store is used (ms)."""
SILENT_MS: Final = 15 * SECOND_MS
"""After how long without a noted tick the ticks are missing (ms). A live ticker's note is at most eight seconds old."""


class Ailment(StrEnum):
    """Why the scheduler is not healthy."""

    TICKS_MISSING = "ticks_missing"
    STORE_UNAVAILABLE = "store_unavailable"


@dataclass(frozen=True)
class LastTick:
    """The answer of the store about the last tick. Instants are in ms."""

    read_at: int
    """When it came."""
    at: int | None = None
    """When the ticker last noted that it ticks; None: never."""
    is_known: bool = True
    """Whether the store answered."""


def ailment(tick: LastTick, now: int) -> Ailment | None:
    """Return why the scheduler is not healthy; None if it is."""
    if not tick.is_known:
        return Ailment.STORE_UNAVAILABLE
    return Ailment.TICKS_MISSING if tick.at is None or now > tick.at + SILENT_MS else None


def read_last_tick(context: Context) -> LastTick:
    """Return the last tick of the first partition, as of FRESH_MS ago at most."""
    now, kept = context.clock.now(), context.known.last_tick
    if isinstance(kept, LastTick) and now < kept.read_at + FRESH_MS:
        return kept
    try:
        at, is_known = context.store.partitions.last_tick(0), True
    except UnavailableError:
        at, is_known = None, False
    context.known.last_tick = tick = LastTick(context.clock.now(), at, is_known)
    return tick
