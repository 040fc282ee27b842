"""A change of a task is stopped anywhere: each run finds the version that it began with, and a delete loses nothing."""

from dataclasses import replace

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from tests.urls import url_of
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Jitter, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, TaskUse
from timeball.domain.time.schedule import At
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.tasks import TaskOutcome, create_task, delete_task, revise_task

TASK = TaskKey("acme", "mail")
ONE = TaskSpec(TASK, HttpTarget("https://one.example"), retry=RetryPolicy(3, 5, jitter=Jitter.NONE))
TWO = replace(ONE, target=HttpTarget("https://two.example"))


def begun(stage: Stage) -> Play:
    """Return a play whose only run has failed once, and waits for its retry."""
    play = stage.play(NOW)
    create_task(play.context(), ONE)
    play.store_jobs([replace(spec("job", At(NOW)), work=Work(), task=TaskUse("mail"))])
    play.caller.statuses = [500]
    play.scan_all()
    play.execute_next()
    assert [run.state for run in play.runs(KEY)] == [RunState.RETRYING]
    return play


def revise(play: Play) -> TaskOutcome:
    (standing,) = play.store.tasks.read([TASK])
    assert standing is not None
    return revise_task(play.context(), standing, TWO).outcome


def urls(play: Play) -> list[str]:
    return [url_of(call.work.target) for _, call in play.caller.calls]


@pytest.mark.parametrize("asked_again", [True, False])
def test_a_retry_finds_the_version_that_its_run_began_with(stage: Stage, *, asked_again: bool) -> None:
    for left in stage.crashes(begun(stage), revise, 4):
        left.clock.advance(stage.later_ms)
        if asked_again:
            assert revise(left) is TaskOutcome.DONE
            (task,) = left.store.tasks.read([TASK])
            assert task is not None
            assert (task.version, task.spec.target) == (2, TWO.target)
        left.run_on(KEY)
        (run,) = left.runs(KEY)
        assert (urls(left), run.task_version) == ([url_of(ONE.target)] * 2, 1)
        assert run.state is RunState.SUCCEEDED


def test_a_stopped_delete_leaves_finished_jobs_everything_that_a_rerun_needs(stage: Stage) -> None:
    play = begun(stage)
    play.run_on(KEY)
    for left in stage.crashes(play, lambda play: delete_task(play.context(), TASK), 2):
        assert delete_task(left.context(), TASK).outcome in (TaskOutcome.DONE, TaskOutcome.NOT_FOUND)
        trigger(left.context(), [Trigger(KEY, fingerprint="f")])
        left.run_on(KEY)
        assert urls(left) == [url_of(ONE.target)] * 3
