"""Manual retries of a job with an overlap lock: the retried run gets the lock in its turn, and keeps it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, result_of
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
from timeball.domain.backfill import new_backfill
from timeball.domain.model.ids import BackfillKey, Origin, RunId
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.jobs.job import locked as handed_to
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.backfills import create_backfills
from timeball.engine.changes.change import pause, resume
from timeball.engine.execution.claim import claim
from timeball.engine.execution.finish import finish
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.dead_letters import DeadPage, replay
from timeball.engine.runs.manual import retry_runs
from timeball.ports.rows import Swap
from timeball.testing.faults import Points

SKIP, QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER
FIRST = RunId(KEY, NOW, Origin.SCHEDULE)


@pytest.mark.parametrize("overlap", [SKIP, QUEUE_ONE])
def test_a_manual_retry_gets_the_lock_although_its_job_is_never_idle(service: Service, overlap: OverlapPolicy) -> None:
    """Each fire takes the lock in the second in which the one before releases it."""
    begin(service, overlap, Every(10, NOW), 9.5)
    service.target.statuses = [404]
    service.until(at(15))
    assert ledger(service.play)[0] == ("failed", "not_retriable")
    retry_runs(service.play.context(), [FIRST])
    service.until(at(40))
    assert ledger(service.play)[0] == ("succeeded", None)
    assert [visit.attempt for visit in service.target.visits if visit.run == FIRST] == [1, 2]
    assert_calls_do_not_overlap(service)


def test_under_cancel_other_a_manual_retry_stops_the_holder_and_the_next_fire_stops_the_retry(
    service: Service,
) -> None:
    begin(service, CANCEL_OTHER, Every(20, NOW), 0)
    service.target.statuses = [404]
    service.target.takes = lambda call: 0 if (call.run, call.attempt) == (FIRST, 1) else 35 * SECOND_MS
    service.until(at(25))
    retry_runs(service.play.context(), [FIRST])
    service.until(at(120))
    rows = ledger(service.play)
    assert rows[20] == ("cancelled", "replaced")
    assert rows[0] == ("cancelled", "replaced")
    assert [visit.attempt for visit in service.target.visits if visit.run == FIRST] == [1, 2]
    assert_calls_do_not_overlap(service)


def test_a_manual_retry_goes_on_when_a_pause_withdraws_the_holder_before_it() -> None:
    """The withdrawn holder, which waited only for another run, runs after the pause however late."""
    play = Play()
    play.store_jobs([locked(QUEUE_ONE, Schedule(Every(60, NOW), end_at=at(60)))])
    play.caller.statuses = [404]
    _work(play)
    play.clock.advance(MINUTE_MS)
    play.scan_all()
    second = RunId(KEY, at(60), Origin.SCHEDULE)
    job = play.job(KEY)
    play.store.jobs.swap([Swap(job, handed_to(job, second, None))], play.clock.now())  # like a run that has just ended
    retry_runs(play.context(), [FIRST])
    assert claim(play.context(), [FIRST], "me")[0].is_done
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (second, FIRST)
    pause(play.context(), [(KEY, None)])
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (FIRST, second)
    _work(play)
    assert _first(play).state is RunState.SUCCEEDED
    play.clock.advance(HOUR_MS)
    _work(play)
    resume(play.context(), [(KEY, None)])
    _work(play)
    assert [(run.state, run.reason) for run in play.runs(KEY)] == [(RunState.SUCCEEDED, None)] * 2
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (None, None)


@pytest.mark.parametrize("overlap", [SKIP, QUEUE_ONE, CANCEL_OTHER])
def test_a_dead_run_that_will_be_replayed_later_keeps_no_fire_from_starting_until_then(
    service: Service, overlap: OverlapPolicy
) -> None:
    """The end of the run took its lock back, and the replay gives it none before its time."""
    begin(service, overlap, Schedule(Every(10, NOW), end_at=at(40)), 0)
    service.target.statuses = [404]
    service.until(at(5))
    (dead,) = service.play.runs(KEY)[:1]
    replay(service.play.context(), DeadPage((dead,)), 1, at(35))
    service.until(at(60))
    assert [begun for _, begun, _ in visits(service)] == [0, 10, 20, 30, 35, 40]
    assert set(ledger(service.play).values()) == {("succeeded", None)}
    assert_guard_is_free(service.play)


def _with_its_target(overlap: OverlapPolicy) -> Play:
    """Return a play of two runs a minute apart, in which the target has accepted the first after a manual retry."""
    play = Play()
    wanted = locked(overlap, Schedule(Every(60, NOW), end_at=at(60)))
    play.store_jobs([replace(wanted, completion=Completion.CALLBACK, retry=replace(PLAIN_RETRY, max_retries=0))])
    play.caller.statuses = [202] * 10
    _work(play)
    report(play.context(), [Report(FIRST, 1, "no paper")])
    _retry_first(play)
    assert (_first(play).attempt, _first(play).callback is None) == (2, False)
    return play


def _work(play: Play) -> None:
    play.scan_all()
    while play.execute_next():
        pass


def _first(play: Play) -> Run:
    (run,) = play.store.runs.read([FIRST])
    assert run is not None
    return run


def _retry_first(play: Play) -> None:
    retry_runs(play.context(), [FIRST])
    _work(play)


def _retry_first_behind_the_second(play: Play) -> None:
    """The scan carries out the effects of the first run's end, and by then the next fire has the lock."""
    play.clock.advance(SECOND_MS)
    _work(play)
    play.clock.advance(MINUTE_MS)
    _work(play)
    _retry_first(play)


@pytest.mark.parametrize("overlap", [SKIP, QUEUE_ONE])
@pytest.mark.parametrize("meanwhile", [_retry_first, _retry_first_behind_the_second])
def test_an_end_whose_effects_stall_takes_no_lock_from_the_run_that_is_retried_meanwhile(
    overlap: OverlapPolicy, meanwhile: Callable[[Play], None]
) -> None:
    point, reached, renewed = 0, 1, 0
    while point < reached:
        play = _with_its_target(overlap)
        points = Points(point, partial(meanwhile, play))
        report(play.context(points), [Report(FIRST, 2, "no ink")])
        renewed += _first(play).attempts_spent == 0 or _first(play).attempt == 3
        for _ in range(20):
            play.clock.advance(10 * SECOND_MS)
            _work(play)
            live = [run for run in play.runs(KEY) if run.state is RunState.RUNNING]
            assert len(live) <= 1
            assert all(play.job(KEY).holder == run.id for run in live)
            for run in live:
                report(play.context(), [Report(run.id, run.attempt)])
        assert [run for run in play.runs(KEY) if not run.is_terminal] == []
        assert (play.job(KEY).holder, play.job(KEY).next_holder) == (None, None)
        point, reached = point + 1, max(reached, points.reached)
    assert renewed >= 5


def test_a_run_that_ends_together_with_a_backfills_run_of_its_job_passes_the_lock_on() -> None:
    """Both were claimed by one executor, and only the job as read for the run itself shows that it holds the lock."""
    play = Play()
    wanted = locked(OverlapPolicy.QUEUE_ONE, Schedule(Every(10, NOW), max_runs=2))
    (job,) = play.store_jobs([replace(wanted, priority=Priority.LOW)])
    play.scan_all()
    backfill = new_backfill(BackfillKey(KEY, "b"), job, [NOW - HOUR_MS], 0, OverlapPolicy.ALLOW, NOW)
    create_backfills(play.context(), [backfill])
    by_origin = {run.id.origin: run.id for run in play.runs(KEY) if run.id.fire_at <= NOW}
    held, other = claim(play.context(), [by_origin[Origin.SCHEDULE], by_origin[Origin.BACKFILL]], "executor")
    play.clock.advance(10 * SECOND_MS)
    play.scan_all()
    (second,) = [run.id for run in play.runs(KEY) if run.id.fire_at == NOW + 10 * SECOND_MS]
    claim(play.context(), [second], "another")
    assert play.job(KEY).next_holder == second
    ended = [result_of(one.run, one.job, play.clock.now(), 200) for one in (held, other) if one.run and one.job]
    assert finish(play.context(), ended) == [True, True]
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (second, None)
