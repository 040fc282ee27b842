"""Manual triggers: a run now, with its own payload if it has one, once per request, apart from the schedule."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import NOW, WORK, spec
from tests.engine.service import KEY, Service, at, calls, ledger
from tests.engine.service import begin as begin_guarded
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import cancel, pause, revise
from timeball.engine.runs.trigger import Trigger, Triggered, Triggering, trigger
from timeball.ports.errors import UnavailableError
from timeball.testing.faults import with_outages


def begin(service: Service, timing: Timing | Schedule) -> Job:
    return begin_guarded(service, OverlapPolicy.ALLOW, timing, 0)


def by_hand(service: Service, **asked: Any) -> Triggered:
    (one,) = trigger(service.play.context(), [Trigger(KEY, **asked)])
    return one


def test_a_manual_run_starts_at_once_and_does_not_move_the_schedule(service: Service) -> None:
    job = begin(service, Every(3600, at(3600)))
    service.until(at(10))
    done = by_hand(service)
    assert done.outcome is Triggering.STARTED
    service.until(at(12))
    assert calls(service) == [(10, 10)]
    (run,) = service.play.runs(KEY)
    assert (run.id.origin, run.state, run.due_at) == (Origin.MANUAL, RunState.SUCCEEDED, None)
    assert service.play.job(KEY).next_fire_at == job.next_fire_at


# Columns: what a trigger asks for, and the payload that the target receives.
PAYLOADS: dict[str, tuple[dict[str, Any], str | None]] = {
    "none of its own": ({}, WORK.payload),
    "its own": ({"payload": '{"mine": true}', "has_payload": True}, '{"mine": true}'),
    "none on purpose": ({"payload": None, "has_payload": True}, None),
}


@pytest.mark.parametrize("case", PAYLOADS)
def test_the_payload_of_a_trigger_reaches_the_target_even_at_its_retry(service: Service, case: str) -> None:
    asked, payload = PAYLOADS[case]
    begin(service, Every(3600, at(3600)))
    service.target.statuses = [500]
    by_hand(service, **asked)
    service.until(at(20))
    assert [(call.attempt, call.work.payload) for _, call in service.target.calls] == [(1, payload), (2, payload)]
    assert all(call.work.target == WORK.target for _, call in service.target.calls)


def test_a_retry_of_a_run_with_its_own_payload_calls_the_jobs_current_target(
    service: Service,
) -> None:
    job = begin(service, Every(3600, at(3600)))
    service.target.statuses = [500]
    by_hand(service, payload='{"mine": true}', has_payload=True)
    service.until(at(2))
    moved = replace(WORK, target=HttpTarget("https://new.example/hook", "PUT", {"Authorization": "new"}))
    wanted = replace(spec(KEY.job_id, job.spec.schedule), work=moved)
    (read,) = service.play.store.jobs.read([KEY], with_work=True)
    assert read is not None
    revise(service.play.context(), [(read, wanted)])
    service.until(at(20))
    first, second = [call.work for _, call in service.target.calls]
    assert (first.target, second.target) == (WORK.target, moved.target)
    assert first.payload == second.payload == '{"mine": true}'


def test_the_same_request_makes_one_run_however_late_it_is_repeated(service: Service) -> None:
    begin(service, Every(3600, at(3600)))
    first = by_hand(service, request="r", fingerprint="f")
    again = by_hand(service, request="r", fingerprint="f")
    service.until(at(100))
    late = by_hand(service, request="r", fingerprint="f")
    outcomes = [one.outcome for one in (first, again, late)]
    assert outcomes == [Triggering.STARTED, Triggering.REPEATED, Triggering.REPEATED]
    assert {one.run.id for one in (first, again, late) if one.run} == {run.id for run in service.play.runs(KEY)}
    assert len(calls(service)) == 1


def test_a_request_name_that_is_reused_for_another_request_is_a_conflict(service: Service) -> None:
    begin(service, Every(3600, at(3600)))
    by_hand(service, request="r", fingerprint="f")
    assert by_hand(service, request="r", fingerprint="g").outcome is Triggering.CONFLICT


def test_two_requests_of_one_millisecond_make_two_runs(service: Service) -> None:
    begin(service, Every(3600, at(3600)))
    asked: list[dict[str, str]] = [{"request": "r"}, {"request": "s"}, {"fingerprint": "1"}, {"fingerprint": "2"}]
    assert [by_hand(service, **one).outcome for one in asked] == [Triggering.STARTED] * 4
    service.until(at(10))
    moments = [moment for _, moment in calls(service)]
    assert (moments[0], len(set(moments))) == (0, 4)
    assert moments[-1] <= 0.032
    assert by_hand(service, request="s").outcome is Triggering.REPEATED


def test_a_burst_of_requests_in_one_millisecond_makes_a_run_for_each_and_a_repeat_finds_all_of_them(
    service: Service,
) -> None:
    begin(service, Every(3600, at(3600)))
    requests = [f"r{number}" for number in range(300)]
    assert {by_hand(service, request=one).outcome for one in requests} == {Triggering.STARTED}
    assert {by_hand(service, request=one).outcome for one in requests} == {Triggering.REPEATED}
    assert by_hand(service, request="r299", fingerprint="of something else").outcome is Triggering.CONFLICT
    assert len(service.play.runs(KEY)) == 300
    assert max(run.id.fire_at for run in service.play.runs(KEY)) <= at(0) + 2 * 4096


def test_a_request_whose_insert_failed_makes_its_run_when_it_is_repeated(service: Service) -> None:
    play = service.play
    begin(service, Every(3600, at(3600)))
    sound, play.store = play.store, with_outages(play.store, lambda name, _: name == "runs.insert")
    with pytest.raises(UnavailableError):
        by_hand(service, request="r")
    play.store = sound
    by_hand(service)  # this run takes the millisecond that was noted for r
    assert by_hand(service, request="r").outcome is Triggering.STARTED
    service.until(at(10))
    assert len(calls(service)) == 2


def test_a_run_whose_message_could_not_be_sent_is_sent_by_the_scan(service: Service) -> None:
    play = service.play
    begin(service, Every(3600, at(3600)))
    send, failing = play.queue.send, [True]
    play.queue.send = lambda runs, now: (  # type: ignore[method-assign]
        [False] * len(runs) if failing.pop() else send(runs, now)
    )
    failing.append(True)
    by_hand(service, request="r")
    failing[:] = [False] * 9
    service.until(at(5))
    assert len(calls(service)) == 1


def test_a_paused_job_may_be_triggered(service: Service) -> None:
    begin(service, Every(60, at(3)))
    pause(service.play.context(), [(KEY, None)])
    by_hand(service)
    service.until(at(10))
    assert calls(service) == [(0, 0)]
    assert service.play.job(KEY).status is JobStatus.PAUSED


def test_a_completed_job_may_be_triggered_and_stays_completed(service: Service) -> None:
    begin(service, At(NOW))
    service.until(at(10))
    service.target.statuses = [404]
    by_hand(service)
    service.until(at(20))
    assert [fire for fire, _ in calls(service)] == [0, 10]
    assert service.play.job(KEY).status is JobStatus.COMPLETED


def test_a_cancelled_job_is_not_triggered(service: Service) -> None:
    begin(service, Every(60, at(3)))
    cancel(service.play.context(), [(KEY, None)])
    assert by_hand(service) == Triggered(Triggering.CANCELLED, None)


def test_a_job_that_does_not_exist_is_not_triggered(service: Service) -> None:
    assert trigger(service.play.context(), [Trigger(JobKey("acme", "none"))]) == [Triggered(Triggering.NOT_FOUND, None)]


def test_a_cancel_ends_a_manual_run(service: Service) -> None:
    begin(service, Every(3600, at(3600)))
    service.target.takes = lambda _: 60 * SECOND_MS
    one = by_hand(service)
    service.until(at(5))
    (changed,) = cancel(service.play.context(), [(KEY, None)])
    assert one.run is not None
    assert changed.claimed == (one.run.id,)
    service.until(at(100))
    (run,) = [run for run in service.play.runs(KEY) if run.id.origin is Origin.MANUAL]
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)


def test_a_trigger_does_not_count_towards_max_runs(service: Service) -> None:
    begin(service, Schedule(Every(10, at(10)), max_runs=2))
    by_hand(service)
    service.until(at(60))
    assert ledger(service.play) == {10: ("succeeded", None), 20: ("succeeded", None)}
    assert len(calls(service)) == 3
