"""Provisioned pollers in memory; each change is noted."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class KeptPollers:
    """How many stand ready, by priority; and how they were changed, in order."""

    pollers: dict[str, int]
    changes: list[tuple[str, int]] = field(default_factory=list)

    def ready(self) -> Mapping[str, int]:
        """Return how many stand ready."""
        return dict(self.pollers)

    def make_ready(self, priority: str, pollers: int) -> None:
        """Let so many stand ready."""
        self.pollers[priority] = pollers
        self.changes.append((priority, pollers))
