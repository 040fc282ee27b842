"""A newer run of a job replaces one that has not started, if the job says so; it replaces no other run."""

from dataclasses import replace

import pytest

from tests.engine.service import (
    KEY,
    Service,
    assert_calls_do_not_overlap,
    assert_guard_is_free,
    at,
    ledger,
    locked,
    visits,
)
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import Flow
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.trigger import Trigger, trigger

RAN, REPLACED, OVERLAPS = ("succeeded", None), ("skipped", "replaced"), ("skipped", "overlap")


def begin(
    service: Service,
    timing: Timing | Schedule,
    takes_seconds: float = 0,
    overlap: OverlapPolicy = OverlapPolicy.ALLOW,
    *,
    supersede: bool = True,
) -> None:
    service.play.store_jobs([replace(locked(overlap, timing), flow=Flow(supersede=supersede))])
    service.target.takes = lambda _: int(takes_seconds * SECOND_MS)


def test_only_the_newest_run_that_waits_for_an_executor_starts(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(30)))
    service.engine.is_executing = False
    service.until(at(35))
    service.engine.is_executing = True
    service.until(at(40))
    assert ledger(service.play) == {0: REPLACED, 10: REPLACED, 20: REPLACED, 30: RAN}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_without_the_policy_all_runs_start(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(20)), supersede=False)
    service.engine.is_executing = False
    service.until(at(25))
    service.engine.is_executing = True
    service.until(at(30))
    assert set(ledger(service.play).values()) == {RAN}


def test_a_run_that_has_started_goes_on_beside_the_newer_one(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(20)), takes_seconds=25)
    service.until(at(60))
    assert set(ledger(service.play).values()) == {RAN}
    assert len(visits(service)) == 3


def test_a_run_that_waits_for_its_retry_counts_as_started(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(10)))
    service.target.statuses = [500, 500]
    service.until(at(60))
    assert set(ledger(service.play).values()) == {RAN}
    assert len(visits(service)) == 4


def test_the_newest_run_waits_for_the_lock_in_place_of_the_one_that_waited(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(40)), 35, OverlapPolicy.QUEUE_ONE)
    service.until(at(120))
    assert ledger(service.play) == {0: RAN, 10: REPLACED, 20: REPLACED, 30: RAN, 40: RAN}
    assert [visit[0] for visit in visits(service)] == [0, 30, 40]
    assert_calls_do_not_overlap(service)
    assert_guard_is_free(service.play)


def test_without_the_policy_the_first_waiting_run_keeps_its_position(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(20)), 25, OverlapPolicy.QUEUE_ONE, supersede=False)
    service.until(at(90))
    assert ledger(service.play) == {0: RAN, 10: RAN, 20: OVERLAPS}


@pytest.mark.parametrize("overlap", [OverlapPolicy.ALLOW, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER])
def test_a_manual_run_replaces_a_waiting_one_and_is_replaced_by_the_next_fire(
    service: Service, overlap: OverlapPolicy
) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(10)), 0, overlap)
    service.engine.is_executing = False
    service.until(at(5))
    trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(20))
    service.engine.is_executing = True
    service.until(at(40))
    by_hand = [run for run in service.play.runs(KEY) if run.id.origin is Origin.MANUAL]
    assert ledger(service.play) == {0: REPLACED, 10: RAN}
    assert [(run.state, run.reason) for run in by_hand] == [(RunState.SKIPPED, "replaced")]
    assert_guard_is_free(service.play)


def test_a_one_off_whose_run_is_replaced_manually_is_skipped(service: Service) -> None:
    begin(service, At(at(0)))
    service.engine.is_executing = False
    service.until(at(2))
    trigger(service.play.context(), [Trigger(KEY)])
    service.engine.is_executing = True
    service.until(at(20))
    assert ledger(service.play) == {0: REPLACED}
    assert service.play.job(KEY).status is JobStatus.SKIPPED
    assert len(visits(service)) == 1


def test_a_run_that_is_retried_manually_is_not_replaced(service: Service) -> None:
    begin(service, Schedule(Every(10, at(0)), end_at=at(10)))
    service.target.statuses = [400]
    service.until(at(8))
    dead = next(run for run in service.play.runs(KEY) if run.state is RunState.FAILED)
    service.until(at(12))
    retry_runs(service.play.context(), [dead.id])
    service.until(at(30))
    assert set(ledger(service.play).values()) == {RAN}
