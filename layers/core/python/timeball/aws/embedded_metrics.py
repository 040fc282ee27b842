"""Telemetry as CloudWatch metrics, through the log: one line in the embedded metric format for each reason.

It is written here without a library: an executor that starts cold must make its first calls, and not import one.
"""

import json
from collections.abc import Mapping, Sequence

from timeball.ports.clock import Clock
from timeball.ports.telemetry import Measurement

NAMESPACE = "Timeball"

_MOST_VALUES = 100
"""How many values of a metric one line may hold."""


class EmbeddedMetrics:
    """Writes events together in one line for each reason, which is its dimension: counts added up, and each timing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def note(self, events: Sequence[Measurement]) -> None:
        """Write a line for each reason, and more lines if the values do not fit. The tenant is not written."""
        for reason in dict.fromkeys(event.reason for event in events):
            recorded: dict[str, list[int]] = {}
            units: dict[str, str] = {}
            for event in (event for event in events if event.reason == reason):
                values = recorded.setdefault(event.name, [] if event.is_timing else [0])
                units[event.name] = "Milliseconds" if event.is_timing else "Count"
                if event.is_timing:
                    values.append(event.value)
                else:
                    values[0] += event.value
            for start in range(0, max(map(len, recorded.values())), _MOST_VALUES):
                parts = {name: part for name, all_ in recorded.items() if (part := all_[start : start + _MOST_VALUES])}
                self._write(parts, units, {"reason": reason} if reason else {})

    def _write(
        self, recorded: Mapping[str, Sequence[int]], units: Mapping[str, str], dimensions: dict[str, str]
    ) -> None:
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [[*dimensions]],
            "Metrics": [{"Name": name, "Unit": units[name]} for name in recorded],
        }
        line = {"_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]}, **dimensions, **recorded}
        print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints
