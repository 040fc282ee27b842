"""Create, replace and delete calendars, and note which jobs name them.

Invariant: no open job names a deleted calendar. A job first notes its use, then reads that the calendar exists, and
then names it. A delete first marks the calendar as deleted, then reads the notes, and removes the mark if a job names
the calendar. A young note counts even if its job is not stored yet or does not name the calendar yet: it may be about
to.

Order of writes of change a calendar:

1. Store the version that it replaces in a row of its own.
2. Swap the calendar's row.

Safe: the row is the newest version, so step 1 without step 2 says nothing wrong. Each version is one write of the row,
so the first one stored is right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, changed_calendar, deleted_calendar
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.compare_and_swap import put, until_done
from timeball.engine.context import Context

_YOUNG_MS = MINUTE_MS
"""Longer than a request lasts."""
_AT_ONCE = 100
_NEVER = 0


class CalendarOutcome(StrEnum):
    """The outcome of a change: done, created, not found, exists already, another version, or in use."""

    DONE = "done"
    CREATED = "created"
    NOT_FOUND = "not_found"
    EXISTS = "exists"
    STALE = "stale"
    IN_USE = "in_use"


@dataclass(frozen=True)
class ChangedCalendar:
    """The outcome, the calendar as it stands, and a job that uses it."""

    outcome: CalendarOutcome
    calendar: Calendar | None = None
    used_by: JobKey | None = None


def standing_calendar(context: Context, key: CalendarKey) -> Calendar | None:
    """Return a calendar that exists and is not deleted."""
    calendar = context.store.calendars.read([key])[0]
    return None if calendar is None or calendar.is_deleted else calendar


def create_calendar(context: Context, wanted: Calendar, now: int) -> ChangedCalendar:
    """Create a calendar, if none has its name. Raises UnavailableError."""
    return _change(context, wanted, lambda standing: CalendarOutcome.EXISTS if standing else None, now)


def replace_calendar(
    context: Context, wanted: Calendar, version: int | None, now: int, *, is_to_stand: bool = False
) -> ChangedCalendar:
    """Replace a calendar of a version (None: any); create it, unless `is_to_stand` requires that it exists.

    Raises UnavailableError.
    """

    def refusal(standing: Calendar | None) -> CalendarOutcome | None:
        if standing is None:
            return CalendarOutcome.STALE if is_to_stand else None
        return CalendarOutcome.STALE if version not in (None, standing.version) else None

    return _change(context, wanted, refusal, now)


def delete_calendar(
    context: Context, key: CalendarKey, version: int | None, now: int, by: Actor = NO_ACTOR
) -> ChangedCalendar:
    """Delete a calendar that no open job names. Raises UnavailableError; the caller may then repeat it."""

    def delete() -> ChangedCalendar | None:
        standing = standing_calendar(context, key)
        if standing is None:
            return ChangedCalendar(CalendarOutcome.NOT_FOUND)
        if version is not None and standing.version != version:
            return ChangedCalendar(CalendarOutcome.STALE, standing)
        used_by = _used_by(context, key, now)
        if used_by is not None:
            return ChangedCalendar(CalendarOutcome.IN_USE, standing, used_by)
        marked = _put(context, standing, deleted_calendar(standing, by, now), now)
        if marked is None:
            return None
        used_by = _used_by(context, key, now)  # a job may have noted its use, and read the calendar, before the mark
        if used_by is None:
            return ChangedCalendar(CalendarOutcome.DONE, standing)
        restored = evolve(marked, is_deleted=False, version=marked.version + 1, action=Action.RESTORE)
        _put(context, marked, restored, now)
        return ChangedCalendar(CalendarOutcome.IN_USE, standing, used_by)

    return until_done(delete, f"calendar {key.name}")


def _change(
    context: Context, wanted: Calendar, refusal: Callable[[Calendar | None], CalendarOutcome | None], now: int
) -> ChangedCalendar:
    def change() -> ChangedCalendar | None:
        row = context.store.calendars.read([wanted.key])[0]
        standing = None if row is None or row.is_deleted else row
        refused = refusal(standing)
        if refused is not None:
            return ChangedCalendar(refused, standing)
        after = wanted if row is None else changed_calendar(row, wanted, now)
        if after == row:
            return ChangedCalendar(CalendarOutcome.DONE, row)
        if row is not None and standing is None:
            after = evolve(after, created_at=now)
        stored = _put(context, row, after, now)
        if stored is None:
            return None
        context.known.forget("calendars", wanted.key)
        return ChangedCalendar(CalendarOutcome.DONE if standing else CalendarOutcome.CREATED, stored)

    return until_done(change, f"calendar {wanted.key.name}")


def _put(context: Context, before: Calendar | None, after: Calendar, now: int) -> Calendar | None:
    """Store the version that is replaced, then put the calendar; None if another change came first."""
    if before is not None:
        context.store.former_calendars.note([(before.key, before)], now)
    return put(context.store.calendars, before, after, now)


def list_versions(
    context: Context, key: CalendarKey, limit: int, through: int | None = None
) -> tuple[list[tuple[Calendar, Calendar | None]], int | None]:
    """Return the versions of a calendar from `through` backwards, each with the one before, and where to continue.

    A deleted calendar has its versions, too; a calendar that never existed has none. Raises UnavailableError.
    """
    # The row is read first: a version that is replaced meanwhile is kept by then.
    (newest,) = context.store.calendars.read([key])
    if newest is None:
        return [], None
    is_first = through is None or through >= newest.version
    before = newest.order if is_first or through is None else (through + 1, "")
    found = [newest] if is_first else []
    found += context.store.former_calendars.of_owner(key, limit + 1, before)
    pairs = list(zip(found, [*found[1:], None], strict=True))[:limit]
    return pairs, found[limit].version if len(found) > limit else None


def note_uses(context: Context, specs: Sequence[JobSpec], now: int) -> set[JobKey]:
    """Note the calendars that jobs are about to name; return the jobs whose calendar does not exist."""
    uses = [(key, spec.key) for spec in specs if (key := calendar_of(spec)) is not None]
    if not uses:
        return set()
    context.store.calendar_uses.note(uses, now)
    keys = list(dict.fromkeys(key for key, _ in uses))
    found = dict(zip(keys, context.store.calendars.read(keys), strict=True))
    return {job for key, job in uses if (calendar := found[key]) is None or calendar.is_deleted}


def note_end_of_use(context: Context, before: JobSpec, after: JobSpec) -> None:
    """Note that a job no longer names its calendar: a delete need not wait for the job to name it."""
    key = calendar_of(before)
    if key is not None and key != calendar_of(after):
        context.store.calendar_uses.note([(key, before.key)], _NEVER)


def calendar_of(spec: JobSpec) -> CalendarKey | None:
    """Return the calendar that a job names."""
    return None if spec.calendar is None else CalendarKey(spec.key.tenant, spec.calendar.name)


def _used_by(context: Context, key: CalendarKey, now: int) -> JobKey | None:
    """Return a job that uses a calendar, or may be about to use it."""
    after = ""
    while uses := context.store.calendar_uses.of_owner(key, after, _AT_ONCE):
        jobs = context.store.jobs.read([job for job, _ in uses])
        for (name, noted_at), job in zip(uses, jobs, strict=True):
            if job is not None and (not job.is_open or calendar_of(job.spec) == key):
                if job.is_open:
                    return name
            elif noted_at > now - _YOUNG_MS:
                return name
        after = uses[-1][0].job_id
    return None
