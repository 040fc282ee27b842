"""What keeps fires of a job away beside its schedule: the dates of its calendar, and the freezes that match it.

A value, read before a plan or a claim. A fire on the calendar's dates never starts; one that a freeze keeps away waits
for its end, and then it is late as after a pause.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from timeball.domain.model.calendar import Calendar
from timeball.domain.model.freeze import Freeze
from timeball.domain.model.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Schedule, next_fire, previous_fire
from timeball.domain.time.spans import NO_TIME, Spans, spans_of

LOOK_AGAIN_MS = 15 * SECOND_MS
"""After how long what a freeze keeps away is looked at again: it may have been lifted. Soon, as fires grow late."""

STOPPED_LOOK_AGAIN_MS = 5 * MINUTE_MS
"""The same of what a tenant has that is disabled: for long, mostly, and each look is a write."""


@dataclass(frozen=True)
class Exclusions:
    """When no fire starts: on the calendar's dates, and while frozen; and when nothing at all does: while `stopped`."""

    dates: Spans = NO_TIME
    frozen: Spans = NO_TIME
    stopped: Spans = NO_TIME

    def held_until(self, fire_at: int, now: int) -> int | None:
        """Return when to look again at what would start at a fire, or now if that is later; None if it may start."""
        starts_at = max(fire_at, now)
        end_at = self.frozen.end_of(starts_at)
        stopped_until = self.stopped_until(fire_at, now)
        if end_at is None or stopped_until is not None:
            return stopped_until
        return min(end_at, starts_at + LOOK_AGAIN_MS)

    def stopped_until(self, start_at: int, now: int) -> int | None:
        """Return when to look again at what would start at an instant, or now, whatever it is; None if it may start."""
        starts_at = max(start_at, now)
        end_at = self.stopped.end_of(starts_at)
        return None if end_at is None else min(end_at, starts_at + STOPPED_LOOK_AGAIN_MS)

    def reason_of(self, *instants: int) -> Reason:
        """Return why a missed fire is skipped that was to start at one of these instants."""
        return Reason.FROZEN if any(self.frozen.end_of(at) is not None for at in instants) else Reason.MISFIRED

    def previous_fire(self, schedule: Schedule, before_at: int, earliest_at: int) -> int | None:
        """Return the last fire from `earliest_at` to just before `before_at` that is on no date of the calendar."""
        fire_at = previous_fire(schedule, before_at, earliest_at)
        while fire_at is not None and (excluded_from := self.dates.start_of(fire_at)) is not None:
            fire_at = previous_fire(schedule, excluded_from, earliest_at)
        return fire_at


NOTHING = Exclusions()


def allowed_fires(schedule: Schedule, first_at: int, dates: Spans) -> Iterator[int]:
    """Yield the fires of a schedule from an instant on that are on no date of a calendar."""
    fire_at = next_fire(schedule, first_at - 1)
    while fire_at is not None:
        allowed_at = dates.end_of(fire_at)
        if allowed_at is None:
            yield fire_at
        fire_at = next_fire(schedule, fire_at if allowed_at is None else allowed_at - 1)


def fires_to_come(job: Job, dates: Spans) -> Iterator[int]:
    """Yield the fires of a job that nothing is written of yet and that will start, as far as its schedule says."""
    if job.next_fire_at is None:
        return iter(())
    first_at = job.next_fire_at if job.skipped_to is None else max(job.next_fire_at, job.skipped_to + 1)
    return allowed_fires(job.spec.schedule, first_at, dates)


def exclusions(job: Job, calendar: Calendar | None, freezes: Iterable[Freeze]) -> Exclusions:
    """Return what keeps fires of a job away, of its calendar (None: it has none) and of its tenant's freezes."""
    meant = [one for one in freezes if one.match.matches(job)]
    frozen = spans_of(one.span for one in meant)
    stopped = spans_of(one.span for one in meant if one.stops_all)
    if calendar is None or job.spec.calendar is None:
        return Exclusions(frozen=frozen, stopped=stopped) if frozen.starts else NOTHING
    return Exclusions(calendar.spans, frozen, stopped)
