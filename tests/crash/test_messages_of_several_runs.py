"""An executor of a message that names several runs is stopped at every point: each run ends, by itself."""

from functools import partial

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.claim import claim
from timeball.ports.queue import Delivery
from timeball.testing.faults import Points, crash
from timeball.testing.memory_queue import MemoryQueue

NAMES = ("a", "b", "c")


def _sent(stage: Stage, statuses: tuple[int, ...] = ()) -> tuple[Play, list[Job], list[Delivery]]:
    play = stage.play(NOW)
    play.queue = MemoryQueue(play.clock.now, play.rules.lead, runs_per_message=5)
    play.caller.statuses = list(statuses)
    jobs = play.store_jobs(spec(name, At(NOW)) for name in NAMES)
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert [one.together for one in deliveries] == [3] * 3
    return play, jobs, deliveries


def _assert_each_ends(left: Play, jobs: list[Job], expected: RunState = RunState.SUCCEEDED) -> None:
    for job in jobs:
        left.run_on(job.key)
    for job in jobs:
        rest = at_rest(left, job)
        (run,) = rest.runs
        assert run.state is expected
        assert rest.calls, "at least once"
        assert_all_is_well(rest)
    assert left.messages() == []


def test_each_run_of_a_message_ends_though_its_executor_was_stopped_anywhere(stage: Stage) -> None:
    play, jobs, deliveries = _sent(stage, (200, 500, 200))
    # Hidden, claimed, called, an attempt kept, finished, two jobs concluded, the message removed; one is retried.
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 30):
        left.clock.advance(stage.later_ms)
        _assert_each_ends(left, jobs)


@pytest.mark.on_moto
def test_a_run_that_must_wait_is_sent_by_itself_before_its_message_is_removed(stage: Stage) -> None:
    play, jobs, deliveries = _sent(stage)
    claim(play.context(), [deliveries[1].run], "somebody who dies")
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 22):
        assert jobs[1].key in {run.job for run, _ in left.messages()}
        left.clock.advance(stage.later_ms)
        _assert_each_ends(left, jobs)


def test_a_message_without_time_for_its_runs_goes_back_whole(stage: Stage) -> None:
    play, jobs, deliveries = _sent(stage)
    send_back = partial(Play.execute, deliveries=deliveries, deadline_at=NOW + 100 * SECOND_MS)
    for left in stage.crashes(play, send_back, 10):
        assert {run for run, _ in left.messages()} == {one.run for one in deliveries}
        left.clock.advance(stage.later_ms)
        _assert_each_ends(left, jobs)


@pytest.mark.parametrize("done", range(3))
def test_a_message_comes_again_until_all_of_its_runs_are_over(stage: Stage, done: int) -> None:
    play, jobs, deliveries = _sent(stage)
    assert play.execute(deliveries[:done]) == deliveries[:done]
    assert {run for run, _ in play.messages()} == {one.run for one in deliveries}
    play.clock.advance(900 * SECOND_MS)
    assert play.execute(play.queue.receive("normal")) == []
    calls = [call.run.job for _, call in play.caller.calls]
    assert sorted(calls) == sorted(job.key for job in jobs)


def test_all_runs_end_although_an_executor_stopped_before_its_first_write(stage: Stage) -> None:
    play, jobs, deliveries = _sent(stage)
    with pytest.raises(SystemExit):
        play.execute(deliveries, Points(0, crash))
    play.clock.advance(900 * SECOND_MS)
    _assert_each_ends(play, jobs)
