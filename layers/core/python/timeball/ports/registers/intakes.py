"""The submit budgets of tenants with quotas: one write for each request, and none without quotas."""

from typing import Protocol

from timeball.domain.sharing.intake import Intake, Reservation


class Intakes(Protocol):
    """The submit budget of each tenant. It is exact: concurrent reservations are applied one after the other."""

    def take(self, taking: Reservation) -> Intake | None:
        """Reserve: count jobs of a second, and reduce what is left of the tenant's open jobs. None: that is done.

        Otherwise nothing is reserved, and the answer is the budget that refuses: the second is full, too little is
        left, or it was counted for another quota. A reservation whose answer was lost may be made twice.
        """

    def give_back(self, taking: Reservation) -> None:
        """Release a reservation that was not used, because its job exists already."""

    def reckon(self, before: Intake, after: Intake) -> bool:
        """Store a recounted budget, unless another reservation or count was stored since `before` was read."""

    def read(self, tenant: str) -> Intake:
        """Return a tenant's submit budget."""
