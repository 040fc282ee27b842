"""The hourly counts of tenants."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.usage.hours import Counts, HourKey


class Usage(Protocol):
    """The counts of each hour, which are deleted after KEPT_DAYS."""

    def add(self, sums: Sequence[tuple[HourKey, Counts]], now: int) -> list[bool]:
        """Add to the counts of each hour, at most once. False: unknown, and a repeat might count twice.

        Each hour costs one write, so callers add rarely and together.
        """

    def between(self, tenant: str, first_at: int, last_at: int) -> list[tuple[HourKey, Counts]]:
        """Return the counts of a tenant's hours that began from `first_at` to `last_at` (ms). They may lag."""
