"""What becomes of fires that were missed: one decision, taken alike by the scan, the claim and the resume of a job.

A fire is missed once it is `misfire_ms` late; the jitter of its job is no lateness. Of the missed fires the newest are
caught up, as many and as old as the job's policy allows, one a second; all others are skipped. One-offs never misfire.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.policies import PACE_MS, CatchUp
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Schedule, previous_fire


@dataclass(frozen=True)
class Backlog:
    """The missed fires of a job at `now`: all before `missed_before`, of which those in `kept` are caught up."""

    now: int
    missed_before: int
    late_before: int
    kept: Sequence[int]

    def start_at(self, fire_at: int, not_before: int) -> int | None:
        """Return from when a fire may start that was to start at `not_before`; None if it is skipped.

        One that was put off already, to be caught up, counts from what it was put off to.
        """
        if fire_at >= self.missed_before or not_before >= self.late_before:
            return not_before
        if fire_at not in self.kept:
            return None
        return max(not_before, self.now + self.kept.index(fire_at) * PACE_MS)


def backlog(schedule: Schedule, catch_up: CatchUp, jitter_seconds: int, now: int, misfire_ms: int) -> Backlog:
    """Return what is missed of a schedule at `now`. Takes a bounded number of steps, whatever was missed."""
    late_before = now - misfire_ms
    missed_before = late_before - jitter_seconds * SECOND_MS
    if schedule.is_one_off:
        return Backlog(now, 0, 0, ())
    oldest_at = now - catch_up.max_age_seconds * SECOND_MS
    kept: list[int] = []
    fire_at: int | None = missed_before
    while len(kept) < catch_up.limit and fire_at is not None:
        fire_at = previous_fire(schedule, fire_at, oldest_at)
        if fire_at is not None:
            kept.append(fire_at)
    return Backlog(now, missed_before, late_before, tuple(reversed(kept)))
