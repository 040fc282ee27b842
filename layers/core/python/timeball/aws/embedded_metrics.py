"""Telemetry as CloudWatch metrics, through the log, in the embedded metric format.

A line has one value of each dimension, so there is a line for each reason and priority, and one for the metrics that
are not split. It is written here without a library: an executor that starts cold must make its first calls, and not
import one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from timeball.ports.clock import Clock
from timeball.ports.telemetry import Measurement

NAMESPACE = "Timeball"

_MOST_VALUES = 100
"""How many values of a metric one line may hold."""


class EmbeddedMetrics:
    """Writes the metrics that are `shown`: counts added up, and each timing and level.

    `shown` has the dimension by which a metric is split, `reason` or `priority`; None: it is not split. A split metric
    is also written without its dimension, as the sum of all.
    """

    def __init__(self, clock: Clock, shown: Mapping[str, str | None], namespace: str = NAMESPACE) -> None:
        self._clock, self._shown, self._namespace = clock, shown, namespace

    def note(self, events: Sequence[Measurement]) -> None:
        """Write a line for each dimension's value, and more lines if the values do not fit. No tenant is written."""
        alike: dict[tuple[str | None, str], list[Measurement]] = {}
        for event in events:
            if event.name in self._shown:
                dimension = self._shown[event.name]
                value = event.reason if dimension == "reason" else event.subject if dimension else ""
                alike.setdefault((dimension if value else None, value), []).append(event)
        for (dimension, value), ones in alike.items():
            units = {event.name: "Milliseconds" if event.is_timing else "Count" for event in ones}
            for values in _in_lines(_summed(ones)):
                self._write(values, units, {dimension: value} if dimension else {})

    def _write(
        self, recorded: Mapping[str, Sequence[int]], units: Mapping[str, str], dimensions: Mapping[str, str]
    ) -> None:
        directive = {
            "Namespace": self._namespace,
            "Dimensions": [[], [*dimensions]] if dimensions else [[]],
            "Metrics": [{"Name": name, "Unit": units[name]} for name in recorded],
        }
        line = {"_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]}, **dimensions, **recorded}
        print(json.dumps(line), flush=True)  # noqa: T201 - Lambda's log is what a function prints


def _summed(events: Sequence[Measurement]) -> dict[str, list[int]]:
    """Return the values of each metric: every timing and level, and the sum of its counts."""
    values: dict[str, list[int]] = {}
    for event in events:
        if event.is_timing or event.is_level:
            values.setdefault(event.name, []).append(event.value)
        else:
            values[event.name] = [sum(values.get(event.name, ())) + event.value]
    return values


def _in_lines(values: Mapping[str, Sequence[int]]) -> Iterator[Mapping[str, Sequence[int]]]:
    """Yield the values of each line; metrics without further values are left out."""
    for start in range(0, max(map(len, values.values())), _MOST_VALUES):
        yield {name: some[start : start + _MOST_VALUES] for name, some in values.items() if len(some) > start}
