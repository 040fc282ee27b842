"""Counts of five minutes, by which a fast burn of the objective is seen. They stand in the row of their hour.

A row of their own would cost a write more each time that a process adds its counts. So a count has a short name there:
the minute at which its five minutes began, the letter of its metric, and for lateness how many seconds late at most, of
ON_TIME_SECONDS: `35l5`. Percentiles need the finer counts of the hour.
"""

from bisect import bisect_left
from collections import Counter
from typing import Final

from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.usage.hours import MISSED, ON_TIME_SECONDS, SHORT_MS, Counts, HourKey, bucket_of
from timeball.engine.metrics import Metric
from timeball.ports.telemetry import Measurement

_LETTERS: Final[dict[str, str]] = {
    Metric.RUNS_STARTED: "b",
    Metric.RUNS_SUCCEEDED: "s",
    Metric.RUNS_RETRIED: "r",
    Metric.DEAD_LETTERS: "d",
    Metric.FIRES_SKIPPED: "k",
    Metric.LATENESS: "l",
    MISSED: "m",
}
_METRICS: Final = {letter: name for name, letter in _LETTERS.items()}
_REASONED: Final = frozenset({Metric.RUNS_RETRIED, Metric.DEAD_LETTERS, Metric.FIRES_SKIPPED})
_ANY_REASON: Final = "any"
_BOUNDS: Final = tuple(seconds * SECOND_MS for seconds in ON_TIME_SECONDS)
_NEVER: Final = "x"
"""Later than all bounds."""


def short_name(event: Measurement, at: int) -> str | None:
    """Return the name under which an event at an instant (ms) counts in its five minutes; None: it does not."""
    letter = _LETTERS.get(event.name)
    if letter is None:
        return None
    minute = at % HOUR_MS // SHORT_MS * SHORT_MS // MINUTE_MS
    if not event.is_timing:
        return f"{minute:02}{letter}"
    position = bisect_left(_BOUNDS, event.value)
    return f"{minute:02}{letter}{ON_TIME_SECONDS[position] if position < len(_BOUNDS) else _NEVER}"


def since(key: HourKey, counts: Counts, from_at: int) -> Counts:
    """Return the counts of an hour from a multiple of five minutes on, under the names of the whole hour's counts."""
    found: Counter[str] = Counter()
    for name, count in counts.items():
        minute, letter, bound = name[:2], name[2:3], name[3:]
        if minute.isdigit() and letter in _METRICS and key.began_at + int(minute) * MINUTE_MS >= from_at:
            found[_whole_name(_METRICS[letter], bound)] += count
    return found


def _whole_name(metric: str, bound: str) -> str:
    if bound:
        return f"{metric}.{bucket_of(int(bound) * SECOND_MS) if bound != _NEVER else bucket_of(HOUR_MS)}"
    return f"{metric}.{_ANY_REASON}" if metric in _REASONED else metric
