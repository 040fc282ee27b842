"""Telemetry as CloudWatch metrics, by way of the log: one line in the embedded metric format for each.

Written here, and by no library: an executor that starts cold has its first calls to make, and nothing to import.
"""

import json
from collections.abc import Sequence

from timeball.ports.clock import Clock

NAMESPACE = "Timeball"

_MOST_VALUES = 100
"""How many values of a metric one line may hold."""


class EmbeddedMetrics:
    """Writes each count, with its reason as a dimension, and the timings of one go as the values of one metric."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def count(self, name: str, value: int, reason: str) -> None:
        """Write one count."""
        self._write(name, "Count", [value], {"reason": reason})

    def time(self, name: str, each_ms: Sequence[int]) -> None:
        """Write timings, so many to a line."""
        for start in range(0, len(each_ms), _MOST_VALUES):
            self._write(name, "Milliseconds", each_ms[start : start + _MOST_VALUES], {})

    def _write(self, name: str, unit: str, values: Sequence[int], dimensions: dict[str, str]) -> None:
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [[*dimensions]],
            "Metrics": [{"Name": name, "Unit": unit}],
        }
        line = {
            "_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]},
            **dimensions,
            name: [*values],
        }
        print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints
