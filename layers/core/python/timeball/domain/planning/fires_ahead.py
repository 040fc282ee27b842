"""The fires of a job to come, and what the planner and the claim will do with each if nothing is changed before.

They are foretold by the planner's own functions. The answers of parents, the overlap lock, limits and targets are not
foretold, nor are events: a fire that meets no pause, freeze, calendar or end of its schedule will run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.policies import PACE_MS
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.planner import caught_up, delivery_ms, is_missed, jitter_ms
from timeball.domain.time.instants import EARLIEST, LATEST
from timeball.domain.time.schedule import fires

MOST_COUNTED = 2_000
"""The most fires before a window that are counted against `max_runs`."""


@dataclass(frozen=True)
class FireAhead:
    """A fire to come."""

    job: JobKey
    """The job."""
    fire_at: int
    """The fire time (ms)."""
    starts_at: int | None
    """When its run starts, with its jitter (ms); None: it will not run."""
    reason: Reason | None = None
    """Why it will not run."""
    needs_event: bool = False
    """It runs only if an event comes before it."""

    @property
    def will_run(self) -> bool:
        """Whether it will run."""
        return self.starts_at is not None


def fires_ahead(job: Job, from_at: int, to_at: int, misfire_ms: int, excluded: Blackouts) -> Iterator[FireAhead]:
    """Yield the fires of an open job from an instant, not in the past, to another, both included, earliest first."""
    ahead = _Foresight(job, misfire_ms, excluded)
    schedule, next_at = job.spec.schedule, job.next_fire_at
    if job.waits and job.spec.inherits:  # its fire time is not known before its parents have run
        return
    written_to = job.final_fire_at if next_at is None else next_at - 1
    if written_to is not None:
        yield from map(ahead.written, fires(schedule, from_at, min(written_to, to_at)))
    if next_at is None:
        return
    left = LATEST if schedule.max_runs is None else max(0, schedule.max_runs - job.runs_planned)
    if schedule.max_runs is not None:
        before = islice(fires(schedule, next_at, min(from_at - 1, to_at)), MOST_COUNTED)
        left -= sum(ahead.planned(fire_at).will_run for fire_at in before)
    for fire_at in fires(schedule, max(next_at, from_at), to_at):
        if left <= 0:
            return
        planned = ahead.planned(fire_at)
        left -= planned.will_run
        yield planned


@dataclass
class _Foresight:
    """Foretells the fires of one job."""

    job: Job
    misfire_ms: int
    excluded: Blackouts
    kept: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """The fires that are caught up after a freeze, by its end and by when the suspension began."""

    def written(self, fire_at: int) -> FireAhead:
        """Return a fire that has a row: a run, or a fire that a user or the calendar skips."""
        is_skipped = self.job.skipped_from is not None and fire_at >= self.job.skipped_from
        return self._of_event(self._foretold(fire_at, is_skipped=is_skipped))

    def planned(self, fire_at: int) -> FireAhead:
        """Return what the planner and the claim will do with a fire that has no row, or only a user's skip."""
        is_skipped = self.job.skipped_to is not None and fire_at <= self.job.skipped_to
        return self._of_event(self._foretold(fire_at, is_skipped=is_skipped))

    def _of_event(self, fire: FireAhead) -> FireAhead:
        return evolve(fire, needs_event=True) if self.job.spec.needs_events else fire

    def _foretold(self, fire_at: int, *, is_skipped: bool) -> FireAhead:
        job = self.job
        starts_at = self.excluded.starts_at(job.spec.schedule, fire_at)
        reason = self._reason_against(starts_at, is_skipped=is_skipped)
        if reason is not None or starts_at is None:
            return FireAhead(job.key, fire_at, None, reason)
        start = starts_at + delivery_ms(job.spec) + jitter_ms(job.key, fire_at, job.spec.jitter_seconds)
        held_until = self.excluded.frozen.end_of(fire_at) or self.excluded.frozen.end_of(start)
        if held_until is None:
            return FireAhead(job.key, fire_at, start)
        return self._after_freeze(fire_at, starts_at, start, held_until)

    def _reason_against(self, starts_at: int | None, *, is_skipped: bool) -> Reason | None:
        """Return why a fire will not run, freezes aside; `starts_at` None: its calendar skips it."""
        if is_skipped and starts_at is not None:
            return Reason.SKIPPED_MANUALLY
        if self.job.status is JobStatus.PAUSED:
            return Reason.JOB_PAUSED
        if starts_at is None:
            return Reason.CALENDAR
        return self.job.skips if self.job.blocked is None else Reason.BLOCKED

    def _after_freeze(self, fire_at: int, starts_at: int, start: int, until: int) -> FireAhead:
        """Return what the catch-up policy does with a fire when the freeze that holds it ends."""
        job, excluded = self.job, self.excluded
        if until >= LATEST:
            return FireAhead(job.key, fire_at, None, Reason.FROZEN)
        if not is_missed(job, fire_at, starts_at, until, self.misfire_ms, excluded):
            return FireAhead(job.key, fire_at, max(start, until))
        since_at, _ = excluded.suspended_at(start, until) or (EARLIEST, EARLIEST)
        if (until, since_at) not in self.kept:
            self.kept[until, since_at] = caught_up(job, until, self.misfire_ms, excluded, since_at)
        kept = self.kept[until, since_at]
        if fire_at not in kept:
            return FireAhead(job.key, fire_at, None, Reason.FROZEN)
        return FireAhead(job.key, fire_at, max(start, until + kept.index(fire_at) * PACE_MS))
