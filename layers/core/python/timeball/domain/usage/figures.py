"""The figures of a tenant's runs: how many there were, how late they were, and how many failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.hours import Counts
from timeball.domain.usage.lateness import on_time, percentile

ON_TIME_SECONDS: Final = (1, 5, 30)


@dataclass(frozen=True)
class Figures:
    """The figures of a span of time."""

    started: int
    """Runs that started."""
    succeeded: int
    """Runs that succeeded."""
    retried: int
    """Attempts that were followed by another."""
    dead: int
    """Runs that failed for good."""
    skipped: int
    """Fires that were skipped."""
    late: Mapping[int, int]
    """The lateness of first attempts as a histogram: counts by the upper bounds of its buckets (ms)."""

    @property
    def failure_rate(self) -> float | None:
        """The share of failures among the runs that succeeded or failed for good; None if there are none."""
        ended = self.succeeded + self.dead
        return self.dead / ended if ended else None

    def percentile_ms(self, part: float) -> int | None:
        """Return the lateness that a part of the runs did not exceed (ms); None if there are none."""
        return percentile(self.late, part)

    def on_time(self) -> dict[int, float | None]:
        """Return the share of the runs that were at most this many seconds late, for each of ON_TIME_SECONDS."""
        return {seconds: on_time(self.late, seconds * SECOND_MS) for seconds in ON_TIME_SECONDS}


def of_reasons(counts: Counts, name: str) -> dict[str, int]:
    """Return the counts of a metric by the text after its dot: reasons, or the buckets of a timing."""
    parted = [(one.partition("."), count) for one, count in counts.items()]
    return {detail: count for (metric, _, detail), count in parted if metric == name and detail}
