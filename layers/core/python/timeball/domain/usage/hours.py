"""Counts by the hour: by tenant, subject (such as a priority) and name. Counts are only ever added to."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.time.instants import DAY_MS, HOUR_MS

UNKNOWN_TENANT: Final = ""
"""The tenant of counts whose tenant is unknown."""

CALLERS: Final = "callers"
"""The subject of counts of requests; all other subjects so far are the priorities of runs."""

KEPT_DAYS: Final = 40

Counts = Mapping[str, int]
"""Counts by name. A name is that of a metric, and after a dot its reason, or the bucket of a timing."""


@dataclass(frozen=True, order=True)
class HourKey:
    """The name of an hour's counts."""

    tenant: str
    """The tenant."""
    began_at: int
    """When the hour began (ms)."""
    subject: str
    """What the counts are about."""


def hour_of(at: int) -> int:
    """Return when the hour of an instant began (ms)."""
    return at - at % HOUR_MS


WINDOWS: Final = {"hour": HOUR_MS, "day": DAY_MS, "month": 30 * DAY_MS}
"""How far back each window reaches from now; it begins with an hour."""


def window_from(window: str, now: int) -> int:
    """Return when a window begins (ms)."""
    return max(0, hour_of(now - WINDOWS[window]))


def added(hours: Iterable[Counts]) -> Counter[str]:
    """Return the sum of all counts."""
    total: Counter[str] = Counter()
    for counts in hours:
        total.update(counts)
    return total
