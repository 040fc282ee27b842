"""What users do with calendars and freezes."""

from dataclasses import replace

from tests.simulation.actors.client import Client
from tests.simulation.story import MARQUESAS, THE_DAY, THE_DAY_BEFORE, Story
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze, lift_freeze, start_tenant, stop_tenant
from timeball.engine.context import Context


async def freeze(user: Client, key: JobKey) -> None:
    """Freeze a job, the jobs of its task, or all of its tenant, for a while; then lift the freeze, or let it end.

    Or disable and enable the tenant.
    """
    story, draw, now, number = user.story, user.story.random, user.process.now(), next(user.story.names)
    if draw.random() < 0.3 and not story.is_mending:
        await user.ask("disable", key, stop, key.tenant)
        await user.process.sleep_until(user.process.now() + draw.randrange(1, 60_000))
        await user.ask("enable", key, start, key.tenant)
        return
    name, from_at = f"freeze-{number}", now + draw.choice((0, 0, 5_000, 20_000))
    to_at = draw.choice((None, from_at + draw.randrange(4_000, 90_000)))
    match = draw.choice((FreezeMatch(everything=True), FreezeMatch(job_ids=(key.job_id,))))
    task_id = story.store.jobs[key].task_id
    if task_id is not None and number % 2:
        match = FreezeMatch(task_id=task_id)
    await user.ask("freeze", key, create_freeze, key.tenant, Freeze(name, from_at, to_at, match, now))
    if to_at is None or draw.random() < 0.5:
        await user.process.sleep_until(user.process.now() + draw.randrange(1, 60_000))
        await user.ask("lift", key, _lift, key.tenant, name)


def stop(context: Context, tenant: str) -> list[None]:
    stop_tenant(context, tenant)
    return [None]


def start(context: Context, tenant: str) -> list[None]:
    start_tenant(context, tenant)
    return [None]


def _lift(context: Context, tenant: str, name: str) -> list[Freeze | None]:
    return [lift_freeze(context, tenant, name)]


async def change_calendar(user: Client, key: JobKey) -> None:
    """Give the calendar of a tenant other dates."""
    draw, now = user.story.random, user.process.now()
    dates = draw.choice(((), (THE_DAY_BEFORE,), (THE_DAY,), (THE_DAY_BEFORE, THE_DAY)))
    wanted = Calendar(CalendarKey(key.tenant, "closed"), MARQUESAS, now, now, dates)
    await user.ask("calendar", key, replace_calendar, wanted, None, now)


def with_moved_fires(story: Story, spec: JobSpec) -> JobSpec:
    """In some stories let a job's calendar move its fires. Every third such job fires once, and again in a week."""
    if not story.moves_fires:
        return spec
    number = int(spec.key.job_id.rpartition("-")[2])
    soon = story.clock.now() // SECOND_MS * SECOND_MS + number % 5 * 15 * SECOND_MS
    schedule = spec.schedule if number % 3 else Schedule(Every(7 * DAY_MS // SECOND_MS, soon))
    return replace(spec, schedule=schedule, calendar=CalendarUse("closed", CalendarPolicy.NEXT))
