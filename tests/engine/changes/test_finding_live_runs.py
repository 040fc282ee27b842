"""A change of a job finds its live runs of any age, and searches no further back than necessary."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, WORK, Play, spec
from tests.engine.service import KEY, locked
from timeball.domain.changes.reach import earliest_live
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Completion, JobSpec, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy, RetryPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel, revise
from timeball.engine.execution.claim import claim
from timeball.engine.execution.gates import note_late_starts
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.manual import retry_runs
from timeball.ports.errors import ContendedError

WEEK_SECONDS = 7 * 24 * 3600
NO_RETRY = RetryPolicy(max_retries=0)


def _begun(wanted: JobSpec, statuses: list[int]) -> Play:
    play = Play()
    play.store_jobs([wanted])
    play.caller.statuses = statuses
    _work_until(play, 0)
    return play


def _work_until(play: Play, hours: float) -> None:
    until = NOW + int(hours * HOUR_MS)
    while True:
        play.scan_all()
        while play.execute_next():
            pass
        if play.clock.now() >= until:
            return
        play.clock.advance(min(HOUR_MS, until - play.clock.now()))


def _run(play: Play, day: int) -> Run:
    (run,) = play.store.runs.read([RunId(KEY, NOW + day * DAY_MS, Origin.SCHEDULE)])
    assert run is not None
    return run


def _daily(wanted: JobSpec) -> JobSpec:
    return replace(wanted, completion=Completion.CALLBACK, timeout_seconds=WEEK_SECONDS, retry=NO_RETRY)


def _assert_delete_stops(play: Play, run: Run) -> None:
    assert run.state is RunState.RUNNING
    (changed,) = cancel(play.context(), [(KEY, None)])
    assert run.id in changed.claimed
    (stopped,) = play.store.runs.read([run.id])
    assert stopped is not None
    assert stopped.cancel_requested


def test_the_lock_holder_that_waited_for_days_before_it_ran_for_days_is_found() -> None:
    play = _begun(_daily(locked(OverlapPolicy.QUEUE_ONE, Every(24 * 3600, NOW))), [202] * 10)
    _work_until(play, 24 * 6.9)
    report(play.context(), [Report(_run(play, 0).id, 1)])
    _work_until(play, 24 * 13.5)
    _assert_delete_stops(play, _run(play, 1))


def test_a_run_that_began_when_its_job_allowed_a_week_is_found() -> None:
    wanted = _daily(spec("job", Every(24 * 3600, NOW)))
    play = _begun(wanted, [202] * 10)
    _work_until(play, 24 * 3.5)
    revise(play.context(), [(with_spec(play.job(KEY), work=WORK), replace(wanted, timeout_seconds=60))])
    _assert_delete_stops(play, _run(play, 0))


def _retried_after_a_month() -> Play:
    play = _begun(spec("job", Every(24 * 3600, NOW), replace(PLAIN_RETRY, max_retries=0)), [404])
    _work_until(play, 24 * 30.5)
    retry_runs(play.context(), [_run(play, 0).id])
    return play


def test_an_old_run_that_is_retried_manually_is_found() -> None:
    play = _retried_after_a_month()
    claim(play.context(), [_run(play, 0).id], "another")
    _assert_delete_stops(play, _run(play, 0))


def test_after_the_retry_must_be_over_a_change_searches_no_further_back_than_the_policies_say() -> None:
    play = _retried_after_a_month()
    claim(play.context(), [_run(play, 0).id], "another")
    assert play.job(KEY).live_from == NOW
    assert _looks_back_to(play, 0) == NOW
    assert _looks_back_to(play, 24) > NOW + 24 * HOUR_MS


def _looks_back_to(play: Play, hours: float) -> int:
    now = play.clock.now() + int(hours * HOUR_MS)
    return earliest_live(play.job(KEY), now, play.rules.misfire_ms)


def test_an_old_run_that_is_cancelled_with_its_job_during_its_claim_is_found() -> None:
    play = _retried_after_a_month()
    play.scan_all()
    stale = play.job(KEY)
    cancel(play.context(), [(KEY, None)])
    with pytest.raises(ContendedError):
        note_late_starts(play.context(), [(_run(play, 0), stale)], play.clock.now())
