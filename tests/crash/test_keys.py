"""Where jobs name keys, an executor and a scan are stopped anywhere: the keys hold, nobody waits for ever."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, WORK, Play, spec
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.jobs.job import JobSpec, with_spec
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.flow import ConcurrencyKey, Flow, RateKey
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import revise
from timeball.engine.quotas.keys import fix_key

NAMES = ("a", "b", "c")
TAKES_MS = 2_000
KEY = LimiterKey("acme", "key")


def _place(name: str) -> JobSpec:
    return replace(spec(name, At(NOW)), flow=Flow(concurrency=ConcurrencyKey("key", 1)))


def _turn(name: str) -> JobSpec:
    return replace(spec(name, At(NOW)), flow=Flow(rate=RateKey("key", 0.2)))


def _all_end(left: Play, stage: Stage, *, apart_ms: int) -> None:
    """All runs succeed, and begin so far apart; nobody waits any more."""
    left.clock.advance(stage.later_ms)
    for _ in NAMES:
        for name in NAMES:
            left.run_on(JobKey("acme", name))
    for name in NAMES:
        (run,) = left.runs(JobKey("acme", name))
        assert run.state is RunState.SUCCEEDED
        assert run.waiting is None
    begun = sorted(called_at for called_at, _ in left.caller.calls)
    assert all(later - earlier >= apart_ms for earlier, later in pairwise(begun))
    assert left.clock.now() < NOW + 60 * MINUTE_MS + stage.later_ms


@pytest.mark.on_moto
@pytest.mark.parametrize(("keyed", "apart_ms"), [(_place, TAKES_MS), (_turn, 5 * SECOND_MS)])
def test_runs_of_an_executor_that_was_stopped_anywhere_all_end_and_keep_to_their_key(
    stage: Stage, keyed: Callable[[str], JobSpec], apart_ms: int
) -> None:
    play = stage.play(NOW)
    play.store_jobs([keyed(name) for name in NAMES])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == len(NAMES)
    play.caller.takes_ms = TAKES_MS
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 10):
        _all_end(left, stage, apart_ms=apart_ms)


def _waiting(stage: Stage, keyed: Callable[[str], JobSpec], places: int) -> Play:
    """Let all runs of jobs under a key wait that are kept back: by a person, or by its rate."""
    play = stage.play(NOW)
    fix_key(play.context(), KEY, Bounds(places), None, NOW)
    play.store_jobs([keyed(name) for name in NAMES])
    play.caller.takes_ms = TAKES_MS
    play.scan_all()
    play.execute(play.queue.receive("normal"))
    return play


def test_who_is_called_by_a_scan_that_was_stopped_anywhere_begins_all_the_same(stage: Stage) -> None:
    play = _waiting(stage, _turn, places=1)
    play.clock.advance(5 * SECOND_MS)
    for left in stage.crashes(play, Play.scan_all, 4):
        _all_end(left, stage, apart_ms=5 * SECOND_MS)


@pytest.mark.on_moto
def test_who_may_begin_by_a_limit_that_was_set_while_all_was_stopped_begins(stage: Stage) -> None:
    play = _waiting(stage, _place, places=0)

    def raise_limit(on: Play) -> None:
        fix_key(on.context(), KEY, Bounds(1), None, on.clock.now())

    for left in stage.crashes(play, raise_limit, 5):
        raise_limit(left)
        _all_end(left, stage, apart_ms=TAKES_MS)


def test_who_waits_for_a_key_ends_though_the_change_of_its_job_to_another_was_stopped_anywhere(stage: Stage) -> None:
    play = _waiting(stage, _turn, places=1)
    another = Flow(rate=RateKey("another", 100))

    def change(on: Play) -> None:
        for name in NAMES:
            job = with_spec(on.job(JobKey("acme", name)), work=WORK)
            revise(on.context(), [(job, replace(spec(name, At(NOW)), flow=another))])

    for left in stage.crashes(play, change, 20):
        _all_end(left, stage, apart_ms=0)
