"""Telemetry as CloudWatch metrics, by way of the log: one line in the embedded metric format for each reason.

Written here, and by no library: an executor that starts cold has its first calls to make, and nothing to import.
"""

import json
from collections.abc import Mapping, Sequence

from timeball.ports.clock import Clock
from timeball.ports.telemetry import Event

NAMESPACE = "Timeball"

_MOST_VALUES = 100
"""How many values of a metric one line may hold."""


class EmbeddedMetrics:
    """Writes what is told together in one line for each reason, its dimension: counts added up, and each timing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def note(self, events: Sequence[Event]) -> None:
        """Write a line for each reason, and more for what does not fit into one. Whose they are is not told."""
        for reason in dict.fromkeys(event.reason for event in events):
            told: dict[str, list[int]] = {}
            units: dict[str, str] = {}
            for event in (event for event in events if event.reason == reason):
                values = told.setdefault(event.name, [] if event.is_timing else [0])
                units[event.name] = "Milliseconds" if event.is_timing else "Count"
                if event.is_timing:
                    values.append(event.value)
                else:
                    values[0] += event.value
            for start in range(0, max(map(len, told.values())), _MOST_VALUES):
                parts = {name: part for name, all_ in told.items() if (part := all_[start : start + _MOST_VALUES])}
                self._write(parts, units, {"reason": reason} if reason else {})

    def _write(self, told: Mapping[str, Sequence[int]], units: Mapping[str, str], dimensions: dict[str, str]) -> None:
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [[*dimensions]],
            "Metrics": [{"Name": name, "Unit": units[name]} for name in told],
        }
        line = {"_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]}, **dimensions, **told}
        print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints
