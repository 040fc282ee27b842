"""Who drives the partitions of the due index."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class Owner:
    """The execution of the ticker that drives a partition: the greater (start, name) owns it."""

    started_at: str
    name: str


class Partitions(Protocol):
    """The partitions, each of which has one owner."""

    def take(self, partition: int, owner: Owner) -> bool:
        """Make `owner` the partition's owner, unless a greater one is."""
