"""Counts by the hour: of a tenant, of a subject such as a priority, by name. They are only ever added to."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.time.instants import DAY_MS, HOUR_MS

NOBODY: Final = ""
"""The tenant of what cannot be told whose it is."""

CALLERS: Final = "callers"
"""The subject of what is counted about requests; all others so far are the priorities of runs."""

KEPT_DAYS: Final = 40

Counts = Mapping[str, int]
"""How many, by name. A name is that of a metric, and behind a dot its reason, or the bucket of a timing."""


@dataclass(frozen=True, order=True)
class HourKey:
    """An hour of a tenant: when it began (ms), and whose counts these are."""

    tenant: str
    began_at: int
    subject: str


def hour_of(at: int) -> int:
    """Return when the hour of an instant began (ms)."""
    return at - at % HOUR_MS


WINDOWS: Final = {"hour": HOUR_MS, "day": DAY_MS, "month": 30 * DAY_MS}
"""How far back each window reaches from now, to the beginning of the hour there."""


def window_from(window: str, now: int) -> int:
    """Return when a window begins (ms)."""
    return max(0, hour_of(now - WINDOWS[window]))


def added(hours: Iterable[Counts]) -> Counter[str]:
    """Return all counts together."""
    total: Counter[str] = Counter()
    for counts in hours:
        total.update(counts)
    return total
