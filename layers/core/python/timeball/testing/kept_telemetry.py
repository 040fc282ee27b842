"""Telemetry that remembers what it was told."""

from collections import Counter, defaultdict
from collections.abc import Sequence


class KeptTelemetry:
    """Adds up counts, by name and reason, and keeps timings, by name."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.timings: defaultdict[str, list[int]] = defaultdict(list)

    def count(self, name: str, value: int, reason: str) -> None:
        """Add to a counter."""
        self.counts[name, reason] += value

    def time(self, name: str, each_ms: Sequence[int]) -> None:
        """Keep each timing."""
        self.timings[name] += each_ms
