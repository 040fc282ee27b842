"""Provisioned pollers in memory; each change is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class KeptPollers:
    """How many are ready, by priority; and their changes, in order."""

    pollers: dict[str, int]
    changes: list[tuple[str, int]] = field(default_factory=list)

    def ready(self) -> Mapping[str, int]:
        """Return how many are ready."""
        return dict(self.pollers)

    def make_ready(self, priority: str, pollers: int) -> None:
        """Make so many ready."""
        self.pollers[priority] = pollers
        self.changes.append((priority, pollers))
