"""A job whose ledger is complete stays due until its final run is over: usually for one more check."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.engine.play import NOW, WORK, Play, spec
from tests.engine.service import KEY, Service, at
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Completion, JobSpec, JobStatus, with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Jitter, OverlapPolicy, RetryPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import cancel, pause, resume, revise
from timeball.engine.scanning.scan import ScanResult
from timeball.testing.faults import Crash, Points

TWICE = Schedule(Every(2, NOW), end_at=NOW + 2 * SECOND_MS)
FINAL = RunId(KEY, NOW + 2 * SECOND_MS, Origin.SCHEDULE)


def test_the_finish_of_a_final_run_within_the_minute_ends_its_job() -> None:
    play = Play()
    play.store_jobs([spec("job", TWICE)])
    play.scan_all()
    assert play.job(KEY).due_at == NOW + MINUTE_MS
    play.drain()
    assert play.clock.now() == FINAL.fire_at
    assert (play.job(KEY).status, play.job(KEY).due_at) == (JobStatus.COMPLETED, None)


def test_a_one_off_leaves_the_due_index_with_its_plan() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    assert play.job(KEY).due_at is None
    play.drain()
    assert play.job(KEY).status is JobStatus.COMPLETED


def test_a_final_run_that_is_not_over_is_checked_less_and_less_often_but_at_least_each_hour() -> None:
    play = Play()
    play.store_jobs([spec("job", Schedule(Every(60, NOW), end_at=NOW))])
    play.scan_all()
    waits = []
    for _ in range(10):
        play.scan_all()
        due_at = play.job(KEY).due_at
        assert due_at is not None
        waits.append((due_at - play.clock.now()) // MINUTE_MS)
        assert play.scan() == ScanResult()
        play.clock.advance(due_at - play.clock.now())
    assert waits == [1, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    play.drain()
    assert play.job(KEY).status is JobStatus.COMPLETED


def _days_of_retries() -> JobSpec:
    patient = RetryPolicy(max_retries=3, base_seconds=DAY_MS // SECOND_MS, max_seconds=604_800, jitter=Jitter.NONE)
    return spec("job", TWICE, patient)


def _nothing(_: Service) -> None:
    pass


def _pause_for_an_hour(service: Service) -> None:
    pause(service.play.context(), [(KEY, None)])
    service.until(at(3600))
    assert service.play.job(KEY).due_at is None, "a paused job waits only for its user"
    resume(service.play.context(), [(KEY, None)])


def _cancel(service: Service) -> None:
    cancel(service.play.context(), [(KEY, None)])


# Columns: the job, and what happens to it; how long each call takes, and the first answers; when all is over (hours),
# the job's final status, and the most writes of the job.
_Case = tuple[JobSpec, Callable[[Service], None], int, list[int], int, JobStatus, int]
WAITS: dict[str, _Case] = {
    "retries for days": (_days_of_retries(), _nothing, 0, [200, 500, 500], 80, JobStatus.COMPLETED, 90),
    "parked behind a run of four minutes": (
        replace(spec("job", TWICE), overlap=OverlapPolicy.QUEUE_ONE),
        _nothing,
        250,
        [],
        1,
        JobStatus.COMPLETED,
        10,
    ),
    "taken back by a pause, which its catch-up policy lets run": (
        spec("job", TWICE),
        _pause_for_an_hour,
        0,
        [],
        2,
        JobStatus.COMPLETED,
        8,
    ),
    "its job is cancelled": (spec("job", TWICE), _cancel, 0, [], 1, JobStatus.CANCELLED, 3),
    "its target never reports": (
        replace(spec("job", TWICE, timeout_seconds=7 * 24 * 3600), completion=Completion.CALLBACK),
        _nothing,
        0,
        [202] * 9,
        30 * 24,
        JobStatus.COMPLETED,
        900,
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_job_ends_with_its_final_run_and_leaves_the_due_index(service: Service, case: str) -> None:
    wanted, meanwhile, takes_seconds, statuses, hours, status, writes = WAITS[case]
    play = service.play
    service.target.takes, service.target.statuses = lambda _: takes_seconds * SECOND_MS, statuses
    play.store_jobs([wanted])
    service.until(at(0.9))
    assert play.job(KEY).final_fire_at == FINAL.fire_at
    begun = play.job(KEY).revision
    meanwhile(service)
    service.until(NOW + hours * HOUR_MS)
    assert [run for run in play.runs(KEY) if not run.is_terminal] == []
    assert {run.state for run in play.runs(KEY)} <= {RunState.SUCCEEDED, RunState.CANCELLED, RunState.FAILED}
    job = play.job(KEY)
    assert (job.status, job.due_at) == (status, None)
    assert job.revision - begun <= writes


@pytest.mark.parametrize("moment", range(20))
def test_a_one_off_whose_run_ended_under_an_older_schedule_ends_although_its_plan_fails(
    service: Service, moment: int
) -> None:
    play = service.play
    play.store_jobs([spec("job", Every(5, at(5)))])
    service.until(at(9))
    job = with_spec(play.job(KEY), work=WORK)
    with suppress(Crash):
        revise(play.context(Points(moment)), [(job, spec("job", At(at(5))))])
    service.until(at(200))
    is_changed = play.job(KEY).spec.schedule.is_one_off
    assert play.job(KEY).status is (JobStatus.COMPLETED if is_changed else JobStatus.PENDING)
