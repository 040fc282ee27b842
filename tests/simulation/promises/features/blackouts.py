"""Promises about calendars and freezes: a fire that they defer or skip does not start, and its row has the reason."""

from collections.abc import Iterator, Sequence

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, KNOWN_MS
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.planner import DELIVERY_MS
from timeball.domain.time.instants import DAY_MS
from timeball.domain.time.schedule import fires


def _nothing_starts_in_a_freeze(story: Story) -> Iterator[str]:
    """No first attempt of the schedule, or on an event, starts between the beginning and end that the user was told.

    For a disabled tenant no attempt starts at all, except takeovers of lost attempts.
    """
    history = story.store.history
    for write, before in history.claims():
        if before.state is RunState.RUNNING:
            continue
        is_held = before.id.origin in (Origin.SCHEDULE, Origin.EVENT) and before.is_unstarted
        starts_at = max(write.after.claimed_at or 0, before.not_before)
        for job in history.jobs_between(before.id.job, write.at, write.at):
            for freeze in history.freezes_between(job, write.at, write.at):
                if not freeze.stops_all and not is_held:
                    continue
                start, end = freeze.span
                known_at = history.frozen_at[freeze.name] + BEGINS_AFTER_MS
                if max(start, known_at) + MOST_SKEW_MS <= starts_at < end - MOST_SKEW_MS:
                    yield f"{write} starts at {starts_at}, within {freeze}"


def _nothing_starts_on_a_date_of_its_calendar(story: Story) -> Iterator[str]:
    """The job and the calendar count as they were when the start was decided."""
    history = story.store.history
    for write, before in history.claims():
        if before.id.origin is not Origin.SCHEDULE or not before.is_unstarted:
            continue
        from_at = (write.after.claimed_at or 0) - MOST_SKEW_MS - KNOWN_MS
        jobs = history.jobs_between(before.id.job, from_at, write.at)
        if all(history.is_closed(job, before.regular_at, from_at, write.at) == {True} for job in jobs):
            yield f"{write}, of {jobs[-1].spec.calendar}"


def _a_moved_fire_starts_on_the_next_open_day(story: Story) -> Iterator[str]:
    """The run is also due on that day. Any version of its job and of its calendar may have decided that.

    A run that is postponed by what it collects, or by the wait for its event alone, does not count.
    """
    history = story.store.history
    for write in history.runs:
        row = write.after
        if (
            row.moved_to in (None, row.id.fire_at + DELIVERY_MS)
            or row.collected is not None
            or (write.before is not None and write.before.moved_to == row.moved_to)
        ):
            continue
        jobs = [one.after for one in history.of_job(row.id.job) if one.at <= write.at]
        calendars = [row for at, row in history.calendars[CalendarKey(row.id.job.tenant, "closed")] if at <= write.at]
        days = {_moved_to(job, one, row.id.fire_at) for job in jobs for one in calendars}
        if not {row.moved_to, (row.moved_to or 0) - DELIVERY_MS} & days:
            yield f"{write}, of {jobs[-1]}"
    for row in story.store.runs.values():
        is_moved = row.moved_to not in (None, row.id.fire_at + DELIVERY_MS) and row.collected is None
        waits = is_moved and row.is_unstarted and row.state is RunState.QUEUED
        if waits and (row.due_at is None or row.due_at < row.not_before or row.not_before < row.regular_at):
            yield f"{row} is not due on its day"


def _moved_to(job: Job, calendar: Calendar, fire_at: int) -> int | None:
    """Go through the days after a fire. On the Marquesas clocks never change."""
    if job.spec.calendar is None or job.spec.calendar.policy is not CalendarPolicy.NEXT:
        return None
    days = (fire_at + number * DAY_MS for number in range(32))
    open_at = next((at for at in days if calendar.spans.end_of(at) is None), None)
    is_last = open_at is not None and next(fires(job.spec.schedule, fire_at + 1, open_at), None) is None
    return open_at if is_last else None


def _exactly_the_fires_that_a_calendar_or_freeze_prevented_say_so(story: Story) -> Iterator[str]:
    """A row skipped for a calendar, or a freeze, is of a fire that was closed or frozen when the row was decided."""
    history = story.store.history
    for write in history.runs:
        row = write.after
        if row.state is not RunState.SKIPPED or (write.before is not None and write.before.is_terminal):
            continue
        from_at = (row.finished_at or 0) - MOST_SKEW_MS - KNOWN_MS
        jobs = history.jobs_between(row.id.job, from_at, write.at)
        closed = [True in history.is_closed(job, row.id.fire_at, from_at, write.at) for job in jobs]
        if row.reason is Reason.CALENDAR and not any(closed):
            yield f"{write} was on no date of its calendar"
        spans = [freeze.span for job in jobs for freeze in history.freezes_between(job, from_at, write.at)]
        starts = [row.id.fire_at, row.not_before]
        starts += [row.id.fire_at + DELIVERY_MS] if any(job.spec.needs_events for job in jobs) else []
        was_frozen = any(start <= at < end for start, end in spans for at in starts)
        if row.reason is Reason.FROZEN and not was_frozen:
            yield f"{write} was due in no freeze"
        if row.reason is Reason.MISFIRED and write.by.startswith("scanner") and _was_frozen(spans, row):
            yield f"{write} was due in a freeze"


def _was_frozen(spans: Sequence[tuple[int, int]], row: Run) -> bool:
    """Return whether a row is of a fire in a freeze that was over, as every process knew, when the row was written."""
    known_at = (row.finished_at or 0) - MOST_SKEW_MS - KNOWN_MS
    return any(start <= row.id.fire_at < end < known_at for start, end in spans)


def _each_version_of_a_calendar_stays_readable(story: Story) -> Iterator[str]:
    """It stands in the calendar's row, or among its former versions, as it was written."""
    for key, writes in story.store.history.calendars.items():
        former = {one.version: one for one in story.store.former_calendars.of_owner(key, len(writes))}
        standing = story.store.calendars[key]
        for _, written in writes:
            kept = standing if standing.version == written.version else former.get(written.version)
            if kept != written:
                yield f"{written} is kept as {kept}"


PROMISES = (
    _each_version_of_a_calendar_stays_readable,
    _nothing_starts_in_a_freeze,
    _nothing_starts_on_a_date_of_its_calendar,
    _a_moved_fire_starts_on_the_next_open_day,
    _exactly_the_fires_that_a_calendar_or_freeze_prevented_say_so,
)
