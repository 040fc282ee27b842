"""What tenants took lately and may still take, where that is bounded, and nowhere else: one write for each request."""

from typing import Protocol

from timeball.domain.sharing.intake import Intake, Taking


class Intakes(Protocol):
    """The intake of each tenant. It is exact: whoever takes at the same time takes one after the other."""

    def take(self, taking: Taking) -> Intake | None:
        """Count jobs of a second, and down what is left of all that a tenant may have; None: that is done.

        Else nothing of it is, and the answer is the intake that refuses: the second is full, less is left, or it was
        reckoned for another quota. What was taken and whose answer was lost may be taken twice.
        """

    def give_back(self, taking: Taking) -> None:
        """Take it back, for it was not made: it stands already."""

    def reckon(self, before: Intake, after: Intake) -> bool:
        """Keep what is left as it was reckoned, unless anybody has taken or reckoned since `before` was read."""

    def read(self, tenant: str) -> Intake:
        """Return a tenant's intake."""
