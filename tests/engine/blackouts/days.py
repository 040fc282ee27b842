"""Jobs whose calendar moves their fires, and their ledger and calls by the day.

Unless a test says otherwise, each job fires on Mondays at nine in Berlin, from the 23rd of November on.
"""

from dataclasses import replace
from typing import Any

from tests.engine.play import WORK, Play, spec
from tests.engine.service import KEY, Service
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant
from timeball.domain.time.schedule import Cron, Schedule, Timing
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.changes.change import ChangeOutcome, revise

MONDAYS = Cron("0 9 * * 1", "Europe/Berlin")
BERLIN = "Europe/Berlin"
NEXT = CalendarUse("closed", CalendarPolicy.NEXT)

RAN = "succeeded"
CALENDAR, MISFIRED, BY_HAND, SUPERSEDED = (
    f"skipped: {reason}" for reason in ("calendar", "misfired", "skipped_manually", "superseded")
)


def at(text: str) -> int:
    """Return an instant of that autumn: `23 08:00` is in November, `12-07 08:00` in December."""
    day, _, time = text.partition(" ")
    return parse_instant(f"2026-{day if '-' in day else f'11-{day}'}T{time}:00Z")


def shown(instant: int) -> str:
    return format_instant(instant)[5:16].replace("T", " ").removeprefix("11-")


def close(service: Service, *dates: str, zone: str = BERLIN) -> None:
    """Close exactly these dates in the calendar, such as `23` or `12-07`."""
    days = tuple(f"2026-{day if '-' in day else f'11-{day}'}" for day in dates)
    wanted = Calendar(CalendarKey("acme", "closed"), zone, 0, 0, days)
    replace_calendar(service.play.context(), wanted, None, service.play.clock.now())
    service.play.clock.advance(3 * SECOND_MS)


def begin(service: Service, *dates: str, timing: Timing | Schedule = MONDAYS, zone: str = BERLIN, **wanted: Any) -> Job:
    close(service, *dates, zone=zone)
    (job,) = service.play.store_jobs([replace(spec("job", timing), calendar=NEXT, **wanted)])
    return job


def patch(service: Service, **changes: Any) -> None:
    job = service.play.store.jobs.read([KEY], with_work=True)[0]
    assert job is not None
    wanted = with_spec(job, work=WORK, **changes).spec
    assert revise(service.play.context(), [(job, wanted)])[0].outcome is ChangeOutcome.DONE


def ledger(play: Play) -> dict[str, str]:
    """Return the outcome of each fire, and where it was moved."""
    return {shown(run.id.fire_at): _told(run) for run in play.runs(KEY) if run.id.origin is Origin.SCHEDULE}


def _told(run: Run) -> str:
    state = run.state.value if run.reason is None else f"{run.state.value}: {run.reason.value}"
    return state if run.moved_to is None else f"{state}, moved to {shown(run.moved_to)}"


def calls(service: Service) -> list[tuple[str, str]]:
    """Return the fire time and the moment of each call."""
    return [(shown(call.run.fire_at), shown(called)) for called, call in service.target.calls]


def waiting(service: Service) -> Run:
    """Return the run that waits for another day, and assert that it is due on that day."""
    (run,) = (run for run in service.play.runs(KEY) if run.state is RunState.QUEUED)
    assert run.due_at is not None
    assert run.due_at == run.not_before
    return run
