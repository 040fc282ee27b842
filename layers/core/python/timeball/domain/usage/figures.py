"""What counts of runs come to: how many there were, how late, and how many failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.hours import Counts
from timeball.domain.usage.lateness import on_time, percentile

ON_TIME_SECONDS: Final = (1, 5, 30)


@dataclass(frozen=True)
class Figures:
    """Of some time: runs that started, succeeded, died; attempts that another followed; fires that were skipped.

    `late` is the histogram of the lateness of first attempts, by the bounds of its buckets (ms).
    """

    started: int
    succeeded: int
    retried: int
    dead: int
    skipped: int
    late: Mapping[int, int]

    @property
    def failure_rate(self) -> float | None:
        """The share that failed for good of the runs that succeeded or did so; None if there are none."""
        ended = self.succeeded + self.dead
        return self.dead / ended if ended else None

    def percentile_ms(self, part: float) -> int | None:
        """Return how late a part of the runs were at most; None if there are none."""
        return percentile(self.late, part)

    def on_time(self) -> dict[int, float | None]:
        """Return the share of the runs that were at most so many seconds late, for each of ON_TIME_SECONDS."""
        return {seconds: on_time(self.late, seconds * SECOND_MS) for seconds in ON_TIME_SECONDS}


def of_reasons(counts: Counts, name: str) -> dict[str, int]:
    """Return the counts of a name by what stands behind its dot: reasons, or the buckets of a timing."""
    parted = [(one.partition("."), count) for one, count in counts.items()]
    return {detail: count for (metric, _, detail), count in parted if metric == name and detail}
