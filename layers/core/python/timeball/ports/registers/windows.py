"""How much was asked for in a window of time: counted where it is bounded, and nowhere else."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Window:
    """Some seconds, from an instant (ms) on, of what is counted under a name of a tenant's."""

    tenant: str
    name: str
    from_at: int
    seconds: int

    @property
    def ends_at(self) -> int:
        """When the next one begins."""
        return self.from_at + self.seconds * 1000


class Windows(Protocol):
    """The counts of windows. They are exact: whoever counts at the same time counts one after the other."""

    def take(self, window: Window, amount: int, most: int) -> bool:
        """Count so many more, unless they would be more than `most` together: then none of them, and False.

        A count whose answer was lost may be repeated, and then counts twice.
        """
