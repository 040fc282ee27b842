"""The overlap lock and user actions: triggers, pauses, cancels and new policies while a run is under way, or waits."""

import pytest

from tests.engine.play import NOW, WORK
from tests.engine.service import (
    KEY,
    Service,
    assert_calls_do_not_overlap,
    assert_guard_is_free,
    at,
    begin,
    ledger,
    locked,
    visits,
)
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import cancel, pause, resume, revise
from timeball.engine.runs.trigger import Trigger, trigger

SKIP, QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER


def states(service: Service) -> list[RunState]:
    return [run.state for run in service.play.runs(KEY)]


def test_a_trigger_respects_the_lock(service: Service) -> None:
    begin(service, SKIP, Schedule(Every(60, NOW), end_at=at(60)), 20)
    service.until(at(5))
    (by_hand,) = trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(10))
    assert by_hand.run is not None
    (row,) = service.play.store.runs.read([by_hand.run.id])
    assert row is not None
    assert (row.state, row.reason) == (RunState.SKIPPED, Reason.OVERLAP)
    service.until(at(30))
    trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(31))
    assert service.play.job(KEY).holder == RunId(KEY, at(30), Origin.MANUAL)
    service.until(at(100))
    assert_calls_do_not_overlap(service)
    assert_guard_is_free(service.play)


def test_a_trigger_waits_for_the_run_under_way_and_runs_after_it(service: Service) -> None:
    begin(service, QUEUE_ONE, At(NOW), 20)
    service.until(at(5))
    trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(60))
    holder, next_holder = visits(service)
    assert next_holder[0] == 5
    assert holder[2] <= next_holder[1] <= holder[2] + 1
    assert states(service) == [RunState.SUCCEEDED] * 2


def test_a_trigger_that_overtakes_a_one_off_runs_and_is_not_cancelled_with_it(service: Service) -> None:
    begin(service, CANCEL_OTHER, At(NOW), 20)
    service.until(at(5))
    trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(60))
    ends = [(run.id.origin, run.state) for run in service.play.runs(KEY)]
    assert ends == [(Origin.SCHEDULE, RunState.CANCELLED), (Origin.MANUAL, RunState.SUCCEEDED)]
    assert service.play.job(KEY).status is JobStatus.FAILED


def test_a_final_fire_that_a_trigger_overtakes_while_it_waits_for_the_lock_completes_its_job(service: Service) -> None:
    begin(service, CANCEL_OTHER, Schedule(Every(5, NOW), max_runs=2), 60)
    service.until(at(6))
    assert service.play.job(KEY).next_holder == RunId(KEY, at(5), Origin.SCHEDULE)
    trigger(service.play.context(), [Trigger(KEY)])
    service.until(at(200))
    assert ledger(service.play) == {0: ("cancelled", "replaced"), 5: ("skipped", "replaced")}
    assert service.play.job(KEY).status is JobStatus.COMPLETED


@pytest.mark.parametrize("overlap", [OverlapPolicy.ALLOW, SKIP, CANCEL_OTHER])
def test_a_run_that_waits_for_the_lock_runs_after_its_holder_whatever_its_jobs_policy_has_become(
    service: Service, overlap: OverlapPolicy
) -> None:
    begin(service, QUEUE_ONE, Schedule(Every(5, NOW), max_runs=2), 20)
    service.until(at(11))
    job = with_spec(service.play.job(KEY), work=WORK)
    assert job.next_holder is not None
    revise(service.play.context(), [(job, locked(overlap, job.spec.schedule))])
    service.until(at(100))
    assert states(service) == [RunState.SUCCEEDED] * 2
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert_guard_is_free(service.play)


# For how long the job is paused while its run waits for the lock, in seconds; the holder runs for 30.
PAUSES = {"for less than its holder runs": 10, "for longer, but less than a minute": 40}


@pytest.mark.parametrize("case", PAUSES)
def test_a_pause_withdraws_a_run_that_waits_for_the_lock_and_resume_lets_it_go_on(service: Service, case: str) -> None:
    begin(service, QUEUE_ONE, Schedule(Every(10, NOW), end_at=at(10)), 30)
    service.until(at(11))
    pause(service.play.context(), [(KEY, None)])
    assert states(service) == [RunState.RUNNING, RunState.WITHDRAWN]
    service.until(at(11 + PAUSES[case]))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(300))
    assert states(service) == [RunState.SUCCEEDED] * 2
    assert_calls_do_not_overlap(service)
    assert service.play.job(KEY).status is JobStatus.COMPLETED
    assert_guard_is_free(service.play)


def test_a_run_that_still_waits_for_the_lock_at_its_jobs_resume_never_misfires(service: Service) -> None:
    begin(service, QUEUE_ONE, Schedule(Every(10, NOW), end_at=at(20)), 400)
    service.until(at(11))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(200))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(1200))
    assert ledger(service.play)[10] == ("succeeded", None)
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_final_run_that_ends_while_its_job_is_paused_completes_it_at_the_resume_at_the_latest(
    service: Service,
) -> None:
    begin(service, SKIP, Schedule(Every(10, NOW), max_runs=2), 5)
    service.until(at(11))
    pause(service.play.context(), [(KEY, None)])
    service.until(at(60))
    assert states(service) == [RunState.SUCCEEDED] * 2
    resume(service.play.context(), [(KEY, None)])
    service.until(at(70))
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_cancelling_a_job_ends_its_waiting_run_and_stops_its_holder(service: Service) -> None:
    begin(service, QUEUE_ONE, Every(10, NOW), 60)
    service.until(at(12))
    (changed,) = cancel(service.play.context(), [(KEY, None)])
    assert changed.claimed == (RunId(KEY, NOW, Origin.SCHEDULE),)
    service.until(at(200))
    assert set(states(service)) == {RunState.CANCELLED, RunState.SKIPPED}
    assert {run.reason for run in service.play.runs(KEY)} == {Reason.JOB_CANCELLED}
    assert len(visits(service)) == 1


def test_a_run_that_waits_for_the_lock_never_misfires(service: Service) -> None:
    begin(service, QUEUE_ONE, Schedule(Every(10, NOW), end_at=at(10)), 20 * 60)
    service.until(at(3600))
    assert ledger(service.play) == {0: ("succeeded", None), 10: ("succeeded", None)}
    assert visits(service)[1][1] >= 1200


def test_a_reschedule_that_supersedes_the_waiting_run_is_reconciled_at_once(service: Service) -> None:
    job = begin(service, QUEUE_ONE, Every(10, NOW), 30)
    service.until(at(12))
    read = with_spec(service.play.job(KEY), work=job.spec.work)
    (changed,) = revise(service.play.context(), [(read, locked(QUEUE_ONE, Every(7, at(14))))])
    assert changed.job is not None
    assert (changed.job.intent, changed.job.next_holder) == (None, None)
    assert ledger(service.play)[10] == ("skipped", "superseded")


def test_a_retry_of_a_run_from_before_a_new_overlap_policy_waits_and_does_not_fail(service: Service) -> None:
    """A run that started without the lock has none for its retry: it waits until the lock's holder is over."""
    begin(service, OverlapPolicy.ALLOW, Schedule(Every(10, NOW), end_at=at(10)), 0)
    service.target.takes = lambda call: (8 if call.run.fire_at == NOW else 1800) * SECOND_MS
    service.target.statuses = [500]
    service.until(at(2))
    read = with_spec(service.play.job(KEY), work=WORK)
    revise(service.play.context(), [(read, locked(SKIP, read.spec.schedule))])
    service.until(at(14))
    assert states(service) == [RunState.QUEUED, RunState.RUNNING]
    service.until(at(4000))
    assert states(service) == [RunState.SUCCEEDED] * 2
    assert_calls_do_not_overlap(service)
