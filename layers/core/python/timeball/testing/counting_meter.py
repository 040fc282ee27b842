"""A meter that remembers what it was told."""

from collections import Counter


class CountingMeter:
    """Adds up, by name and reason."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def count(self, name: str, value: int, reason: str) -> None:
        """Add to a counter."""
        self.counts[name, reason] += value
