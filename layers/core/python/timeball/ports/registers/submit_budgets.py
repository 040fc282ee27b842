"""The submit budgets of tenants with quotas: one write for each request, and none without quotas."""

from typing import Protocol

from timeball.domain.sharing.submit_budget import Reservation, SubmitBudget


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
