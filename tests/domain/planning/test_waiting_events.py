"""Events that wait for fires: which run needs one, which event a fire sees, and whether the fire may use it."""

from dataclasses import dataclass, replace

import pytest

from timeball.domain.changes.resolve import with_event
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import Event, WaitingEvent
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.ledger import planned_row, queued_run
from timeball.domain.planning.planner import DELIVERY_MS, Start, plan
from timeball.domain.planning.waiting_events import after_later_events, may_use, needs_event, waiting_event
from timeball.domain.time.schedule import Every, OnEvents, Schedule

KEY = JobKey("acme", "job")
TARGET = HttpTarget("https://x.example")
SPEC = JobSpec(KEY, Schedule(Every(10, 0)), Work(TARGET), event='{"source":["shop"]}')
JOB = Job(SPEC, shard=0, created_at=0, updated_at=0, next_fire_at=10_000)
ALONE = replace(JOB, spec=replace(SPEC, schedule=Schedule(OnEvents())))
PLAIN = replace(JOB, spec=replace(SPEC, event=None))
FIRE = queued_run(JOB, Origin.SCHEDULE, 10_000, 0)
OTHER = replace(FIRE, id=replace(FIRE.id, fire_at=20_000))


def event_at(at: int, name: str = "7") -> Event:
    return Event("acme", {"source": "shop", "id": name}, at)


def row_of(event: Event, used_by: RunId | None = None) -> WaitingEvent:
    row = waiting_event(JOB, event, "digest")
    assert row is not None
    return replace(row, used_by=used_by)


@pytest.mark.parametrize(
    ("run", "job", "needs"),
    [
        (FIRE, JOB, True),
        (FIRE, PLAIN, False),  # it has no pattern
        (queued_run(JOB, Origin.MANUAL, 0, 0), JOB, False),
        (replace(FIRE, attempt=1), JOB, False),  # it began before the job got a pattern
        (replace(FIRE, attempt=1, event_digest="d"), JOB, False),  # a retry keeps its event
        (replace(FIRE, budget_at=1), JOB, True),  # it failed before its first claim, and a person retries it
    ],
)
def test_a_fire_that_never_began_needs_an_event(run: Run, job: Job, *, needs: bool) -> None:
    assert needs_event(run, job) is needs


@dataclass(frozen=True)
class Use:
    """The newest event before a fire, the row of the run that has taken it, and whether the fire may use it."""

    newest: WaitingEvent | None
    user: Run | None
    may: bool


USES = {
    "no event came": Use(None, None, may=False),
    "no fire has taken it": Use(row_of(event_at(1)), None, may=True),
    "the fire itself has taken it, in a claim that stopped": Use(row_of(event_at(1), FIRE.id), FIRE, may=True),
    "another fire is about to begin with it": Use(row_of(event_at(1), OTHER.id), OTHER, may=False),
    "another fire has run with it": Use(
        row_of(event_at(1), OTHER.id), replace(OTHER, state=RunState.SUCCEEDED), may=False
    ),
    "a user has cancelled the run that had it": Use(
        row_of(event_at(1), OTHER.id), replace(OTHER, state=RunState.CANCELLED), may=False
    ),
    "another fire took it, and was skipped": Use(
        row_of(event_at(1), OTHER.id), replace(OTHER, state=RunState.SKIPPED), may=True
    ),
    "the run that took it is no longer stored": Use(row_of(event_at(1), OTHER.id), None, may=False),
}


@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_fire_may_use_the_newest_event_that_no_fire_has_run_with(use: Use) -> None:
    assert may_use(FIRE.id, use.newest, use.user) is use.may


def test_events_sort_newest_first_and_a_fire_sees_those_before_it() -> None:
    names = [row_of(event_at(at, name)).key.name for at, name in ((1, "a"), (9_999, "a"), (10_000, "a"), (10_001, "b"))]
    assert sorted(names) == names[::-1]
    seen = after_later_events(JOB, 10_000)
    assert seen is not None
    assert [name > seen[1] for name in names] == [True, True, False, False]
    assert all(name.startswith(seen[0]) for name in names)


def test_events_of_another_pattern_or_generation_have_another_prefix() -> None:
    other = replace(JOB, spec=replace(SPEC, event='{"source":["bank"]}'))
    prefixes = [after_later_events(job, 1) for job in (JOB, other, replace(JOB, generation=2))]
    assert len({one[0] for one in prefixes if one is not None}) == 3


def test_an_event_of_a_job_without_a_schedule_does_not_wait() -> None:
    assert waiting_event(ALONE, event_at(1), "digest") is None
    assert waiting_event(PLAIN, event_at(1), "digest") is None


def test_a_fire_that_needs_an_event_starts_later_by_the_time_of_its_delivery() -> None:
    planned = plan(JOB, 6_000, 11_000, 60_000)
    assert planned == Start(10_000, 10_000 + DELIVERY_MS, 10_000 + DELIVERY_MS)
    row = planned_row(JOB, planned, 6_000, 11_000)
    assert (row.regular_at, row.not_before, row.due_at) == (12_000, 12_000, None)
    assert plan(PLAIN, 6_000, 11_000, 60_000) == Start(10_000, 10_000)


@pytest.mark.parametrize(
    ("payload", "given"),
    [
        (None, '{"event":{"id":1}}'),
        ("null", '{"event":{"id":1}}'),
        ("{}", '{"event":{"id":1}}'),
        ('{"n": 1.50}', '{"n": 1.50,"event":{"id":1}}'),  # the rest of the payload stays as it is, to the character
        ("[1]", "[1]"),  # a person has retried the run with a payload that is no object
        ('{"event": 2}', '{"event": 2}'),  # and with another event
    ],
)
def test_an_event_becomes_a_member_of_the_payload(payload: str | None, given: str) -> None:
    assert with_event(Work(TARGET, payload), Work(TARGET, '{"id":1}')).payload == given
