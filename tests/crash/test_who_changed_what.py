"""A change is stopped at every point, and another request follows: the history has exactly the changes made."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.changes.change import cancel, pause, resume, revise
from timeball.engine.changes.history import ChangeFilter, list_changes, list_revisions
from timeball.engine.runs.trigger import Trigger, trigger

FIRST, SECOND = Actor("key_1", "editor", "192.0.2.1"), Actor("key_2", "admin", "192.0.2.2")

Verb = Callable[[Play, Actor], object]


def _read(play: Play) -> Job:
    job = play.store.jobs.read([KEY], with_work=True)[0]
    assert job is not None
    return job


def _pause(play: Play, by: Actor) -> None:
    pause(play.context(), [(KEY, None)], by)


def _resume(play: Play, by: Actor) -> None:
    resume(play.context(), [(KEY, None)], by)


def _cancel(play: Play, by: Actor) -> None:
    cancel(play.context(), [(KEY, None)], by)


def _rename(play: Play, by: Actor) -> None:
    job = _read(play)
    revise(play.context(), [(job, replace(job.spec, name=f"renamed by {by.key_id}"))], Action.PATCH, by)


def _reschedule(play: Play, by: Actor) -> None:
    job = _read(play)
    revise(play.context(), [(job, replace(job.spec, schedule=spec("job", Every(2, NOW)).schedule))], Action.PUT, by)


def _trigger(play: Play, by: Actor) -> None:
    trigger(play.context(), [Trigger(KEY, request="the same")], by)


@dataclass(frozen=True)
class Case:
    """The preparation, the change that is stopped, and the request that follows."""

    before: Verb | None
    change: Verb
    then: Verb


CASES = {
    "a pause, then a pause": Case(None, _pause, _pause),
    "a resume, then a cancel": Case(_pause, _resume, _cancel),
    "a cancel, then a pause": Case(None, _cancel, _pause),
    "a patch, then a patch": Case(None, _rename, _rename),
    "a reschedule, then a patch": Case(None, _reschedule, _rename),
    "a trigger, then its repeat": Case(None, _trigger, _trigger),
}


@pytest.mark.on_moto("a pause, then a pause")
@pytest.mark.parametrize("case", CASES)
def test_the_history_has_exactly_the_changes_that_were_made_wherever_one_was_stopped(stage: Stage, case: str) -> None:
    chosen = CASES[case]
    play = stage.play(NOW)
    play.store_jobs([spec("job", Every(3, NOW))])
    if chosen.before is not None:
        play.clock.advance(SECOND_MS)
        chosen.before(play, FIRST)
    play.clock.advance(SECOND_MS)
    for left in stage.crashes(play, lambda play: chosen.change(play, FIRST), None):
        _assert_all_is_told(left)
        left.clock.advance(stage.later_ms + 1)
        left.scan_all()
        _assert_all_is_told(left)
        chosen.then(left, SECOND)
        _assert_all_is_told(left)


def _assert_all_is_told(play: Play) -> None:
    """Assert that each version has its entry with its actor, and begins as the one before it ended."""
    job = _read(play)
    logged = list(list_changes(play.context(), ChangeFilter("acme"), 100).items)
    changes, _ = list_revisions(play.context(), job, 100)
    assert [one for one in logged if one.action is not Action.TRIGGER] == changes
    assert [one.revision for one in changes] == list(range(job.version, 0, -1))
    assert changes[0].after is not None
    assert (changes[0].by, changes[0].after.spec) == (job.change.by, job.spec)
    assert [one.before for one in changes] == [*(one.after for one in changes[1:]), None]
    assert [one.by for one in changes if one.by == NO_ACTOR] == [NO_ACTOR]  # the actor that stored the job of this test
    triggered = [run for run in play.runs(KEY) if run.id.origin is Origin.MANUAL]
    told = [(one.resource.id, one.at, one.by) for one in logged if one.action is Action.TRIGGER]
    assert told == [(str(run.id), run.created_at, run.triggered_by) for run in triggered]
