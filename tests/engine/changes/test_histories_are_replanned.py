"""The ledgers of a thousand random histories follow from the revisions of jobs and calendars, the freezes and the era.

This must always hold. A history is what users did to a job, its calendar and its tenant, drawn from its number. What is
kept of it is read as the API reads it, and planned again in two ways: row by row, by a Timeball that knows nothing
else; and each revision by itself, by the planner alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from random import Random

import pytest

from tests.engine.play import NOW, WORK, Play, spec
from tests.engine.service import KEY, Service
from timeball.domain.model.ids import Origin, Shards
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, advanced, with_spec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.jobs.revision import Revision
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.planning.blackouts import blackouts_of
from timeball.domain.planning.ledger import planned_row
from timeball.domain.planning.planner import Hold, Wait, plan
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import At, Cron, Every, Schedule
from timeball.engine.blackouts.calendars import list_versions, replace_calendar
from timeball.engine.blackouts.freezes import create_freeze, freezes_of, lift_freeze, over_freezes
from timeball.engine.changes.change import ChangeOutcome, cancel, pause, resume, revise, skip_next
from timeball.engine.changes.history import list_revisions
from timeball.engine.changes.skip import Skipping
from timeball.engine.scanning.eras import era_at, note_era

HISTORIES = 1_000
ALWAYS = 400
"""The number of histories that `make test` plays."""
AT_ONCE = 50

_CLOSED = Calendar(CalendarKey("acme", "closed"), "Pacific/Marquesas", NOW, NOW, ("2026-11-20",))
"""It skips fires up to two minutes after the start, unless users change it."""

_DATES = ((), ("2026-11-20",), ("2026-11-21",), ("2026-11-20", "2026-11-21"))

_DONE = {Action.CANCEL: cancel, Action.PAUSE: pause, Action.RESUME: resume}


@dataclass
class History:
    """The actions of a job's users, and its rows at the end."""

    play: Play
    actors: dict[int, Actor]

    def revisions(self) -> list[Revision]:
        """Return all revisions of the job, the oldest first."""
        job = self.play.store.jobs.read([KEY], with_work=True)[0]
        assert job is not None
        entries, more = list_revisions(self.play.context(), job, 200)
        assert more is None
        found = [entry.after for entry in reversed(entries) if entry.after is not None]
        assert [one.version for one in found] == list(range(1, job.version + 1))
        return found

    def calendars(self) -> list[Calendar]:
        """Return all versions of the calendar, the oldest first."""
        found, more = list_versions(self.play.context(), _CLOSED.key, 200)
        assert more is None
        assert [one.version for one, _ in found] == list(range(len(found), 0, -1))
        return [one for one, _ in reversed(found)]

    def freezes(self) -> list[Freeze]:
        """Return all freezes, in the order in which they were stored; no freeze is in force at the end."""
        assert freezes_of(self.play.context(), "acme").open_at(self.play.clock.now()) == []
        return over_freezes(self.play.context(), "acme", 200)[::-1]


Told = tuple[int, int | None, int, str, str | None, int]
"""The content of a ledger row, whenever it was written: its fires, their outcome, and the schedule that decided it."""


def told(play: Play) -> list[Told]:
    """Return the ledger of the job's schedule without withdrawn runs, because a resume decides about these."""
    return [
        (run.id.fire_at, run.last_fire_at, run.count, run.state, run.reason, run.decided_at_version)
        for run in scheduled(play)
        if run.state is not RunState.WITHDRAWN
    ]


def scheduled(play: Play) -> list[Run]:
    """Return the rows of the job's schedule."""
    return [run for run in play.runs(KEY) if run.id.origin is Origin.SCHEDULE]


def history(number: int) -> History:
    """Let users make the changes drawn from the number, and wait until some time after the last one."""
    draw = Random(f"history {number}")  # noqa: S311 - a history must be replayable
    with Service(Play(at=NOW - draw.randrange(2 * MINUTE_MS))) as service:
        play, clock = service.play, service.play.clock
        note_era(play.context())
        play.store.calendars.insert([_CLOSED], clock.now())
        actors = {1: Actor("key_0")}
        play.store.jobs.insert([new_job(_spec(draw, clock.now()), clock.now(), Shards(1), actors[1])], clock.now())
        former: list[Schedule] = []
        inputs = Random(f"calendars and freezes of history {number}")  # noqa: S311 - as above
        for number_of_change in range(draw.randrange(1, 9)):
            service.until(clock.now() + draw.choice((1, 400, 4_000, 20_000, 90_000, 200_000)) + draw.randrange(1_000))
            _change_inputs(play, inputs)
            job = play.store.jobs.read([KEY], with_work=True)[0]
            assert job is not None
            by = Actor(f"key_{number_of_change + 1}", "editor", "192.0.2.1")
            match draw.randrange(9):
                case 0 | 1:
                    done = pause(play.context(), [(KEY, None)], by)[0]
                case 8:
                    done = skip_next(play.context(), [Skipping(KEY)], by)[0].changed
                case 2 | 3 | 4:
                    done = resume(play.context(), [(KEY, None)], by)[0]
                case 5 | 6:
                    wanted = replace(_spec(draw, clock.now()), fingerprint=job.spec.fingerprint)
                    schedule = draw.choice((wanted.schedule, wanted.schedule, job.spec.schedule, *former[-1:]))
                    former.append(job.spec.schedule)
                    try:
                        done = revise(play.context(), [(job, replace(wanted, schedule=schedule))], Action.PUT, by)[0]
                    except InvalidSchedule:
                        continue
                case _:
                    done = cancel(play.context(), [(KEY, None)], by)[0]
            assert done.job is not None
            if done.outcome is ChangeOutcome.DONE:
                actors |= dict.fromkeys(range(max(actors) + 1, done.job.version + 1), by)
        service.until(clock.now() + 2 * MINUTE_MS)
        for one in freezes_of(play.context(), "acme").open_at(clock.now()):
            lift_freeze(play.context(), "acme", one.name)
        service.until(clock.now() + MINUTE_MS)
        return History(play, actors)


def _change_inputs(play: Play, draw: Random) -> None:
    """Give the calendar other dates, freeze the job, or lift the freeze; mostly change nothing."""
    now = play.clock.now()
    match draw.randrange(9):
        case 0 | 1:
            replace_calendar(play.context(), replace(_CLOSED, dates=draw.choice(_DATES)), None, now)
        case 2:
            to_at = draw.choice((None, now + draw.randrange(5_000, 90_000)))
            matches = (FreezeMatch(everything=True), FreezeMatch(job_ids=("job",)), FreezeMatch(tags={"n": "1"}))
            create_freeze(play.context(), "acme", Freeze(f"f{now}", now, to_at, draw.choice(matches), now))
        case 3:
            for one in freezes_of(play.context(), "acme").open_at(now):
                if one.to_at is None:
                    lift_freeze(play.context(), "acme", one.name)


def _spec(draw: Random, now: int) -> JobSpec:
    """Return a job that a user may want; most of them are due soon."""
    anchor_at = now - draw.randrange(MINUTE_MS)
    every = Every(draw.choice((7, 15, 20, 40, 60)), anchor_at)
    cron = Cron(draw.choice(("* * * * *", "*/2 * * * *", "31-33 9 * * *")), "Europe/Berlin")
    timing = draw.choice((every, every, cron, At(now + draw.randrange(-5_000, 60_000))))
    max_runs = draw.choice((None, None, 3)) if not isinstance(timing, At) else None
    return replace(
        spec("job", Schedule(timing, max_runs=max_runs)),
        catch_up=CatchUp(draw.choice(tuple(CatchUpPolicy)), draw.choice((1, 3)), draw.choice((60, 3600))),
        calendar=draw.choice((None, None, CalendarUse("closed"))),
        jitter_seconds=draw.choice((0, 0, 3)) if not isinstance(timing, At) else 0,
        tags={"n": str(draw.randrange(3))},
    )


@pytest.mark.parametrize(
    "first",
    [
        *range(0, ALWAYS, AT_ONCE),
        *(pytest.param(first, marks=pytest.mark.more) for first in range(ALWAYS, HISTORIES, AT_ONCE)),
    ],
)
def test_the_ledger_follows_from_what_is_kept_of_its_inputs(first: int) -> None:
    for number in range(first, first + AT_ONCE):
        past = history(number)
        revisions = past.revisions()
        _assert_each_says_who_made_it(past, revisions, number)
        assert replayed(past) == told(past.play), number
        _assert_each_plans_by_itself(past, revisions, number)


def _assert_each_says_who_made_it(past: History, revisions: list[Revision], number: int) -> None:
    assert {one.version: one.change.by for one in revisions} == past.actors, number
    assert all(earlier.change.at <= later.change.at for earlier, later in pairwise(revisions))


def replayed(past: History) -> list[Told]:
    """Return the ledger of a Timeball that gets the revisions and the other inputs, each at its instant."""
    first, *others = past.revisions()
    era = era_at(past.play.context(), first.change.at)
    assert era is not None
    with Service(Play(at=first.change.at)) as service:
        play = service.play
        play.rules = replace(play.rules, misfire_seconds=era.misfire_ms // SECOND_MS)
        play.store.calendars.insert([past.calendars()[0]], first.change.at)
        play.store_jobs([first.spec])
        changes: list[tuple[int, int, Calendar | Freeze | str | Revision]] = [
            *((one.updated_at, 0, one) for one in past.calendars()[1:]),
            *((one.created_at, 0, one) for one in past.freezes()),
            *((one.to_at or 0, 0, one.name) for one in past.freezes() if one.is_lifted),
            *((one.change.at, 1, one) for one in others),
        ]
        for at, _, one in sorted(changes, key=itemgetter(0, 1)):
            service.until(at)
            if not isinstance(one, Revision):
                _repeat_input(play, one)
                continue
            if one.version <= play.job(KEY).version:
                continue  # one skip makes several versions, if calendars keep the next fires away
            if one.change.action is Action.SKIP_NEXT:
                done = skip_next(play.context(), [Skipping(KEY)])[0].changed
            elif one.change.action in _DONE:
                done = _DONE[one.change.action](play.context(), [(KEY, None)])[0]
            else:
                job = play.store.jobs.read([KEY], with_work=True)[0]
                assert job is not None
                done = revise(play.context(), [(job, one.spec)])[0]
            assert done.job is not None
            assert done.outcome is ChangeOutcome.DONE
            assert (
                done.job.status is one.change.status or one.change.action is Action.SKIP_NEXT
            )  # a skip may end a one-off
            assert done.job.version >= one.version
        service.until(past.play.clock.now())
        return told(play)


def _repeat_input(play: Play, one: Calendar | Freeze | str) -> None:
    """Make a version of the calendar, create a freeze, or lift the freeze of a name."""
    if isinstance(one, Calendar):
        replace_calendar(play.context(), one, None, play.clock.now())
    elif isinstance(one, Freeze):
        ends_at = None if one.is_lifted else one.to_at
        create_freeze(play.context(), "acme", replace(one, to_at=ends_at, is_lifted=False))
    else:
        lift_freeze(play.context(), "acme", one)


def _assert_each_plans_by_itself(past: History, revisions: list[Revision], number: int) -> None:
    """Assert that each revision, while current, planned the rows of the ledger: a run for a run, a range for a range.

    Revisions ahead of which a row of an earlier schedule stood, or for which a skip wrote one, are left out: that row
    decides.
    """
    rows = scheduled(past.play)
    if past.freezes():
        return  # a run that was planned before its freeze is decided at its claim
    ends = [*(one.change.at for one in revisions[1:]), past.play.clock.now()]
    for number_of_revision, (one, end_at) in enumerate(zip(revisions, ends, strict=True)):
        first_at, begun_at = one.change.next_fire_at or 0, one.change.at
        is_skip = one.change.action is Action.SKIP_NEXT
        if is_skip or any(row.created_at < begun_at and row.id.fire_at >= first_at for row in rows):
            continue
        plans = list(planned_by(one, _last_pause(revisions[: number_of_revision + 1]), end_at, past))
        for planned in plans:
            (row,) = (row for row in rows if row.covers(planned.id.fire_at))
            assert (row.last_fire_at is None) == (planned.last_fire_at is None), (number, planned)
            assert (row.state is RunState.SKIPPED) == (planned.state is RunState.SKIPPED), (number, planned, row)
        # The rows that a change itself writes may be of the old plan.
        of_its_time = [row for row in rows if begun_at < row.created_at < end_at and row.not_before < end_at]
        ran = {row.id for row in of_its_time if row.attempt}
        assert ran <= {planned.id for planned in plans}, (number, one.version)


def _last_pause(revisions: Sequence[Revision]) -> tuple[int, int] | None:
    """Return from when to when the job was paused last. Pauses less than a minute apart count as one."""
    last: tuple[int, int] | None = None
    for one, following in pairwise(revisions):
        if one.change.status is JobStatus.PAUSED and following.change.status is not JobStatus.CANCELLED:
            from_at, to_at = one.change.at, following.change.at
            last = (last[0] if last is not None and from_at < last[1] + MINUTE_MS else from_at, to_at)
    return last


def planned_by(revision: Revision, paused: tuple[int, int] | None, end_at: int, past: History) -> Iterator[Run]:
    """Yield the rows that a revision plans by itself in its time. The next revision decides about later starts."""
    job, now, play, calendars = _as_it_began(revision), revision.change.at, past.play, past.calendars()
    if paused is not None:
        job = replace(job, last_paused_at=paused[0], resumed_at=paused[1])
    misfire_ms = play.rules.misfire_ms
    while revision.change.status is JobStatus.PENDING and job.next_fire_at is not None:
        now = max(now, -(-(job.next_fire_at - play.rules.lookahead_ms) // SECOND_MS) * SECOND_MS)
        if now >= end_at:
            return
        horizon_at = now + play.rules.lookahead_ms
        calendar = [one for one in calendars if one.updated_at <= now][-1:] or calendars[:1]
        found = plan(job, now, horizon_at, misfire_ms, blackouts_of(job, calendar[0], ()))
        if isinstance(found, Wait | Hold):
            now += SECOND_MS
            continue
        row = planned_row(job, found, now, horizon_at)
        if row.not_before < end_at:
            yield row
        job = advanced(job, row, now)


def _as_it_began(revision: Revision) -> Job:
    change = revision.change
    job = with_spec(new_job(replace(revision.spec, schedule=Schedule(Every(1, 0))), change.at, Shards(1)), work=WORK)
    return replace(
        job,
        spec=revision.spec,
        status=revision.change.status,
        next_fire_at=change.next_fire_at,
        runs_planned=change.runs_planned,
        schedule_version=revision.schedule_version,
        rules=revision.rules,
    )
