"""Telemetry that keeps its events."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from timeball.ports.telemetry import Measurement


class KeptTelemetry:
    """Adds up events with a reason by name and reason, and the others by name; keeps timings, by name."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.totals: Counter[str] = Counter()
        self.timings: defaultdict[str, list[int]] = defaultdict(list)

    def note(self, events: Sequence[Measurement]) -> None:
        """Keep each event."""
        for event in events:
            if event.is_timing:
                self.timings[event.name].append(event.value)
            elif event.reason:
                self.counts[event.name, event.reason] += event.value
            else:
                self.totals[event.name] += event.value
