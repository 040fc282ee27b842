"""Runs that start much later than they were due: a cancel finds them, and a pause takes the overlap lock from none."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, result_of, spec
from tests.engine.service import KEY, locked
from timeball.domain.backfill import new_backfill
from timeball.domain.model.ids import BackfillKey, Origin
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.backfills import create_backfills
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.execution.claim import claim
from timeball.engine.execution.finish import finish
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.ports.queue import Delivery
from timeball.testing.memory_store import MemoryStore

ANNUALLY = Every(365 * 24 * 3600, NOW + 10_000 * HOUR_MS)


@pytest.mark.parametrize("hours", [1, 23, 26, 24 * 13])
def test_a_cancel_finds_a_run_that_started_only_after_an_outage_of_the_executors(hours: int) -> None:
    play = Play()
    play.store_jobs([replace(spec(KEY.job_id, ANNUALLY), retry=replace(PLAIN_RETRY, max_age_seconds=60))])
    trigger(play.context(), [Trigger(KEY)])
    play.clock.advance(hours * HOUR_MS)
    (run,) = play.runs(KEY)
    assert claim(play.context(), [run.id], "executor")[0].is_mine
    play.clock.advance(2 * MINUTE_MS)
    (changed,) = cancel(play.context(), [(KEY, None)])
    assert changed.claimed == (run.id,)
    assert play.runs(KEY)[0].cancel_requested


def _receive(play: Play, origin: Origin) -> Delivery:
    (delivery,) = [one for one in play.queue.receive("normal") if one.run.origin is origin]
    return delivery


@pytest.mark.parametrize("is_triggered", [False, True])
def test_a_run_that_was_given_the_lock_before_a_pause_runs_after_it_however_long_the_pause_was(
    is_triggered: bool,  # noqa: FBT001 - a case
) -> None:
    play = Play()
    twice = locked(OverlapPolicy.QUEUE_ONE, Schedule(Every(10, NOW), max_runs=2))
    play.store_jobs([replace(twice, catch_up=CatchUp(CatchUpPolicy.SKIP))])
    play.scan_all()
    first = _receive(play, Origin.SCHEDULE)
    held = claim(play.context(), [first.run], "executor")[0]
    play.clock.advance(7 * SECOND_MS)
    play.scan_all()
    play.clock.advance(3 * SECOND_MS)
    _stand_behind(play, _receive(play, Origin.SCHEDULE))
    now = play.clock.now()
    assert held.run is not None
    assert held.job is not None
    finish(play.context(), [result_of(held.run, held.job, now, 200)])
    play.queue.inbox("normal").delete([first])
    if is_triggered:
        play.clock.advance(5)
        trigger(play.context(), [Trigger(KEY)])
        _stand_behind(play, _receive(play, Origin.MANUAL))

    pause(play.context(), [(KEY, None)])
    while play.execute_next():
        pass
    play.clock.advance(10 * MINUTE_MS)
    resume(play.context(), [(KEY, None)])
    play.run_on(KEY)
    assert {run.state for run in play.runs(KEY)} == {RunState.SUCCEEDED}
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (None, None)


def _stand_behind(play: Play, delivery: Delivery) -> None:
    """Let a run wait for the holder of its overlap lock."""
    claim(play.context(), [delivery.run], "another")
    play.queue.inbox("normal").delete([delivery])


def test_a_cancel_finds_a_retried_run_that_outlives_its_backfill() -> None:
    store = MemoryStore()
    play, backfills = Play(store), store.backfills
    one = replace(spec(KEY.job_id, Every(3600, NOW + 500 * DAY_MS)), retry=replace(PLAIN_RETRY, max_retries=0))
    (job,) = play.store_jobs([one])
    key = BackfillKey(KEY, "b")
    create_backfills(play.context(), [new_backfill(key, job, [NOW - 30 * DAY_MS], 0, OverlapPolicy.ALLOW, NOW)])
    play.caller.statuses = [400]
    play.run_on(KEY)
    (run,) = play.runs(KEY)
    assert run.state is RunState.FAILED
    play.clock.advance(89 * DAY_MS)
    retry_runs(play.context(), [run.id])
    assert claim(play.context(), [run.id], "executor")[0].is_mine
    del backfills[key]  # its time to live is over
    (changed,) = cancel(play.context(), [(KEY, None)])
    assert changed.claimed == (run.id,)
