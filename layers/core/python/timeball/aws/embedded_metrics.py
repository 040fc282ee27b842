"""Telemetry as CloudWatch metrics, through the log: one line in the embedded metric format for each reason.

It is written here without a library: an executor that starts cold must make its first calls, and not import one.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

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
        by_reason: dict[str, list[Measurement]] = {}
        for event in events:
            by_reason.setdefault(event.reason, []).append(event)
        for reason, alike in by_reason.items():
            dimensions = {"reason": reason} if reason else {}
            timings = {event.name for event in alike if event.is_timing}
            for values in _in_lines(_summed(alike)):
                self._write(values, timings, dimensions)

    def _write(
        self, recorded: Mapping[str, Sequence[int]], timings: Collection[str], dimensions: Mapping[str, str]
    ) -> None:
        directive = {
            "Namespace": NAMESPACE,
            "Dimensions": [[*dimensions]],
            "Metrics": [{"Name": name, "Unit": "Milliseconds" if name in timings else "Count"} for name in recorded],
        }
        line = {"_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]}, **dimensions, **recorded}
        print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints


def _summed(events: Sequence[Measurement]) -> dict[str, list[int]]:
    """Return the values of each metric: every timing, and the sum of its counts."""
    values: dict[str, list[int]] = {}
    for event in events:
        if event.is_timing:
            values.setdefault(event.name, []).append(event.value)
        else:
            values[event.name] = [sum(values.get(event.name, ())) + event.value]
    return values


def _in_lines(values: Mapping[str, Sequence[int]]) -> Iterator[Mapping[str, Sequence[int]]]:
    """Yield the values of each line; metrics without further values are left out."""
    for start in range(0, max(map(len, values.values())), _MOST_VALUES):
        yield {name: some[start : start + _MOST_VALUES] for name, some in values.items() if len(some) > start}
