"""The blackouts of a job's fires: the dates of its calendar, and the freezes that match it.

They are read before a plan or a claim. A fire on the calendar's dates never starts, or is moved: it starts on the next
allowed day. A fire that a freeze defers waits for the end of the freeze and is then missed, as after a pause.

Invariant: fires start in the order of their times, apart from jitter. A moved fire starts before the next fire, or
never.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from timeball.domain.model.jobs.calendar import Calendar, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import DAY_MS, EARLIEST, LATEST, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Cron, Schedule, next_fire, previous_fire
from timeball.domain.time.spans import NO_TIME, Spans, same_time_later, spans_of

RECHECK_MS = 15 * SECOND_MS
"""How soon a run that a freeze defers is rechecked: the freeze may have been lifted, and its fires grow late."""

STOPPED_RECHECK_MS = 5 * MINUTE_MS
"""How soon a run of a disabled tenant is rechecked: tenants mostly stay disabled for long, and each recheck is a
write."""


_SKEW_MS = SECOND_MS
"""How far the clock of a process that ends a suspension may differ from the clock of a process that plans or claims."""

MOST_DAYS_LATER = 31
"""The most days by which a fire is moved."""

MOST_MOVED_MS = (MOST_DAYS_LATER + 1) * DAY_MS
"""Longer than that many days, however long these are."""


@dataclass(frozen=True)
class Blackouts:
    """The times in which fires do not start."""

    dates: Spans = NO_TIME
    """The calendar's dates."""
    frozen: Spans = NO_TIME
    """The freezes, including stops."""
    stopped: Spans = NO_TIME
    """The stops of a disabled tenant, in which nothing starts at all."""
    suspended: Spans = NO_TIME
    """The pauses and freezes of the job: the catch-up policy decides about their fires."""
    moves_in: str | None = None
    """The zone by whose clocks fires on the calendar's dates are moved; None: they are skipped."""

    def starts_at(self, schedule: Schedule, fire_at: int) -> int | None:
        """Return when a fire of a schedule starts (ms), apart from jitter; None: its calendar skips it.

        A fire on the calendar's dates starts at the same time of the next day that is not on the calendar, but not
        after the next fire, which then stands for both. So of the fires on adjacent dates only the last may be moved.
        """
        allowed_from = self.dates.end_of(fire_at)
        if allowed_from is None:
            return fire_at
        if self.moves_in is None:
            return None
        following_at = next_fire(schedule, fire_at) or LATEST
        if following_at < allowed_from:
            return None
        days = islice(same_time_later(fire_at, self.moves_in), MOST_DAYS_LATER)
        moved_to = next((at for at in days if self.dates.end_of(at) is None), LATEST)
        return moved_to if moved_to < following_at else None

    def deferred_until(self, fire_at: int, now: int) -> int | None:
        """Return when to recheck a fire that is deferred, at its time or now if that is later; None if it may start."""
        starts_at = max(fire_at, now)
        end_at = self.frozen.end_of(starts_at)
        stopped_until = self.stopped_until(fire_at, now)
        if end_at is None or stopped_until is not None:
            return stopped_until
        return min(end_at, starts_at + RECHECK_MS)

    def stopped_until(self, start_at: int, now: int) -> int | None:
        """Return when to recheck a start that a stop defers, at its instant or now if later; None if it may start."""
        starts_at = max(start_at, now)
        end_at = self.stopped.end_of(starts_at)
        return None if end_at is None else min(end_at, starts_at + STOPPED_RECHECK_MS)

    def suspended_at(self, start_at: int, now: int) -> tuple[int, int] | None:
        """Return the suspension (from, to) of the job at a run's start; None if there was none, or it still lasts.

        A start within the second in which the suspension ended is not late yet.
        """
        from_at, to_at = self.suspended.start_of(start_at), self.suspended.end_of(start_at)
        if from_at is None or to_at is None or start_at >= _second_of(to_at) or to_at > now + _SKEW_MS:
            return None
        return from_at, to_at

    def suspended_before(self, now: int) -> int:
        """Return the end of the job's last suspension up to now."""
        return max((_second_of(end) for end in self.suspended.ends if end <= now + _SKEW_MS), default=EARLIEST)

    def reason_of(self, *instants: int) -> Reason:
        """Return why a missed fire is skipped, given the instants at which it could have started."""
        return Reason.FROZEN if any(self.frozen.end_of(at) is not None for at in instants) else Reason.MISFIRED

    def previous_fire(self, schedule: Schedule, before_at: int, earliest_at: int) -> int | None:
        """Return the last fire that starts from `earliest_at` to just before `before_at`; None if there is none."""
        oldest_at = earliest_at if self.moves_in is None else earliest_at - MOST_MOVED_MS
        fire_at = previous_fire(schedule, before_at, oldest_at)
        while fire_at is not None:
            starts_at = self.starts_at(schedule, fire_at)
            if starts_at is not None and starts_at < before_at:
                return fire_at if starts_at >= earliest_at else None
            excluded_from = self.dates.start_of(fire_at)
            fire_at = previous_fire(schedule, fire_at if excluded_from is None else excluded_from, oldest_at)
        return None


NOTHING = Blackouts()


def allowed_fires(schedule: Schedule, first_at: int, excluded: Blackouts) -> Iterator[int]:
    """Yield the fires of a schedule from an instant on that its calendar does not skip."""
    fire_at = next_fire(schedule, first_at - 1)
    while fire_at is not None:
        allowed_from = excluded.dates.end_of(fire_at)
        if allowed_from is not None:
            fire_at = previous_fire(schedule, allowed_from, fire_at) or fire_at
        if excluded.starts_at(schedule, fire_at) is not None:
            yield fire_at
        fire_at = next_fire(schedule, fire_at)


def fires_to_come(job: Job, excluded: Blackouts) -> Iterator[int]:
    """Yield the fires of a job that have no row yet and that will start, according to its schedule and calendar."""
    if job.next_fire_at is None:
        return iter(())
    first_at = job.next_fire_at if job.skipped_to is None else max(job.next_fire_at, job.skipped_to + 1)
    return allowed_fires(job.spec.schedule, first_at, excluded)


def blackouts_of(job: Job, calendar: Calendar | None, freezes: Iterable[Freeze]) -> Blackouts:
    """Return the blackouts of a job's fires, from its calendar (None: it has none) and its tenant's freezes."""
    meant = [one for one in freezes if one.match.matches(job)]
    frozen = spans_of(one.span for one in meant)
    stopped = spans_of(one.span for one in meant if one.stops_all)
    suspended = _suspended(job, meant)
    if calendar is None or job.spec.calendar is None:
        is_any = frozen.starts or suspended.starts
        return Blackouts(frozen=frozen, stopped=stopped, suspended=suspended) if is_any else NOTHING
    zone = moves_in(job.spec.calendar, calendar, job.spec.schedule)
    return Blackouts(calendar.spans, frozen, stopped, suspended, zone)


def _second_of(at: int) -> int:
    return at - at % SECOND_MS


def _suspended(job: Job, freezes: Iterable[Freeze]) -> Spans:
    """Return when a job was paused or frozen."""
    spans = [one.span for one in freezes]
    if job.last_paused_at is not None and job.resumed_at is not None:
        spans.append((job.last_paused_at, job.resumed_at))
    return spans_of(spans)


def moves_in(use: CalendarUse, calendar: Calendar, schedule: Schedule) -> str | None:
    """Return the zone by whose clocks a calendar moves fires: a cron expression's own zone, or else the calendar's."""
    if use.policy is not CalendarPolicy.NEXT:
        return None
    return schedule.timing.timezone if isinstance(schedule.timing, Cron) else calendar.timezone
