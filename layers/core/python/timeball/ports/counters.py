"""Counters: amounts that grow by one write, without a read before it.

Windows of time bound an amount, the hours of tenants add up what happened, and submit budgets bound the new jobs of
tenants with quotas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.sharing.submit_budget import Reservation, SubmitBudget
from timeball.domain.usage.hours import Counts, HourKey


@dataclass(frozen=True)
class CountWindow:
    """A window of a count."""

    tenant: str
    """The tenant."""
    name: str
    """What is counted."""
    from_at: int
    """When the window begins (ms)."""
    seconds: int
    """How long it is."""

    @property
    def ends_at(self) -> int:
        """When the next window begins (ms)."""
        return self.from_at + self.seconds * 1000


class Windows(Protocol):
    """The counts of windows. They are exact: concurrent counts are applied one after the other."""

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        """Add an amount, unless the sum would exceed `most`: then add nothing and return False.

        A count whose answer was lost may be repeated, and then counts twice.
        """


class Usage(Protocol):
    """The counts of each hour, which are deleted after KEPT_DAYS."""

    def add(self, sums: Sequence[tuple[HourKey, Counts]], now: int) -> list[bool]:
        """Add to the counts of each hour, at most once. False: unknown, and a repeat might count twice.

        Each hour costs one write, so callers add rarely and together.
        """

    def between(self, tenant: str, first_at: int, last_at: int) -> list[tuple[HourKey, Counts]]:
        """Return the counts of a tenant's hours that began from `first_at` to `last_at` (ms). They may lag."""


class SubmitBudgets(Protocol):
    """The submit budget of each tenant. It is exact: concurrent reservations are applied one after the other."""

    def reserve(self, reservation: Reservation) -> SubmitBudget | None:
        """Reserve: count jobs of a second, and reduce what is left of the tenant's open jobs. None: that is done.

        Otherwise nothing is reserved, and the answer is the budget that refuses: the second is full, too little is
        left, or it was counted for another quota. A reservation whose answer was lost may be made twice.
        """

    def release(self, reservation: Reservation) -> None:
        """Release a reservation that was not used, because its job exists already."""

    def reckon(self, before: SubmitBudget, after: SubmitBudget) -> bool:
        """Store a recounted budget, unless another reservation or count was stored since `before` was read."""

    def read(self, tenant: str) -> SubmitBudget:
        """Return a tenant's submit budget."""
