"""A pause, a resume, a reschedule or a trigger is stopped at every point; scans and the next request finish it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest

from tests.crash.promises import assert_all_is_well, assert_each_run_was_called_once, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, WORK, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.jobs.job import Verb as Asked
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule, fires
from timeball.engine.changes.change import ChangeOutcome, pause, resume, revise, skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.runs.trigger import Trigger, Triggered, Triggering, trigger
from timeball.testing.faults import Crash, Points

OLD = Schedule(Every(3, NOW + 2_000), end_at=NOW + 8_000)
NEW = Schedule(Every(2, NOW + 2_000), end_at=NOW + 8_000)
Verb = Callable[[Play], object]


def _pause(play: Play) -> None:
    pause(play.context(), [(KEY, None)])


def _resume(play: Play) -> None:
    resume(play.context(), [(KEY, None)])


def _skip(play: Play) -> None:
    skip_next(play.context(), [Skipping(KEY, request="r")])


def _is_skipped(play: Play) -> bool:
    """Say whether a fire is skipped, or will be by the process that finishes the change."""
    intent = play.job(KEY).intent
    by_hand = any(run.reason is Reason.SKIPPED_MANUALLY for run in play.runs(KEY))
    return by_hand or (intent is not None and intent.verb is Asked.SKIP)


def _reschedule(play: Play, points: Points | None = None) -> None:
    job = with_spec(play.job(KEY), work=WORK)
    (changed,) = revise(play.context(points), [(job, replace(spec("job", NEW), catch_up=job.spec.catch_up))])
    assert changed.outcome is ChangeOutcome.DONE


def _is_paused(play: Play) -> bool:
    return play.job(KEY).status is JobStatus.PAUSED


@dataclass(frozen=True)
class Case:
    """The preparation, the change that is stopped, whether it is in force; the schedule after it; its points."""

    before: tuple[Verb, ...]
    change: Verb
    holds: Callable[[Play], bool]
    schedule: Schedule
    points: int


CASES = {
    # The job, two runs withdrawn, the intent.
    "a pause": Case((), _pause, _is_paused, OLD, 8),
    # The job, two runs queued again, sent, out of the index; the intent.
    "a resume": Case((_pause,), _resume, lambda play: not _is_paused(play), OLD, 16),
    # The fires due under the old schedule; the job; rows against late inserts; superseded runs; the intent; what is
    # due.
    "a reschedule": Case((), _reschedule, lambda play: play.job(KEY).spec.schedule == NEW, NEW, 22),
    "a reschedule of a paused job": Case(
        (_pause,), _reschedule, lambda play: play.job(KEY).spec.schedule == NEW, NEW, 6
    ),
}


def _prepared(stage: Stage, case: Case, catch_up: CatchUpPolicy = CatchUpPolicy.LATEST) -> Play:
    play = stage.play(NOW)
    play.store_jobs([replace(spec("job", OLD), catch_up=CatchUp(catch_up))])
    play.scan_all()
    for verb in case.before:
        verb(play)
    return play


@pytest.mark.on_moto("a resume", "a reschedule")
@pytest.mark.parametrize("case", CASES)
def test_a_change_stopped_anywhere_is_finished_by_scans_and_each_fire_has_one_row(stage: Stage, case: str) -> None:
    chosen = CASES[case]
    for left in stage.crashes(_prepared(stage, chosen), chosen.change, chosen.points):
        if not chosen.holds(left):  # nothing was changed: the client got no answer and repeats its request
            chosen.change(left)
        assert chosen.holds(left)
        left.clock.advance(stage.later_ms)
        left.scan_all()
        assert left.job(KEY).intent is None
        if _is_paused(left):
            left.execute_next()
            assert left.caller.calls == []
            _resume(left)
        left.run_on(KEY, to_its_end=True)
        _assert_promises(left, chosen, ran_all=stage.later_ms == 0)


def _assert_promises(play: Play, case: Case, *, ran_all: bool) -> None:
    rest = at_rest(play, play.job(KEY))
    for fire_at in fires(case.schedule, NOW, NOW + 30_000):
        assert len([row for row in rest.runs if row.covers(fire_at)]) == 1, fire_at - NOW
    due = set(fires(OLD, NOW, NOW + 30_000)) | set(fires(case.schedule, NOW, NOW + 30_000))
    assert {row.id.fire_at for row in rest.runs} <= due
    if ran_all:
        ran = [row.id.fire_at for row in rest.runs if row.state is RunState.SUCCEEDED]
        assert ran == list(fires(case.schedule, NOW, NOW + 30_000))
    assert_each_run_was_called_once(rest)
    assert_all_is_well(rest)
    assert rest.row.status is JobStatus.COMPLETED


@pytest.mark.on_moto("sent ahead")
@pytest.mark.parametrize("ahead", ["not planned", "sent ahead"])
def test_a_skip_stopped_anywhere_skips_one_fire_and_all_others_run(stage: Stage, ahead: str) -> None:
    """It is repeated under its name, and skips no second fire."""
    play = stage.play(NOW)
    first_at = NOW + (2_000 if ahead == "sent ahead" else 60_000)
    schedule = Schedule(Every(3, first_at), end_at=first_at + 6_000)
    play.store_jobs([spec("job", schedule)])
    play.scan_all()
    # The note, the job, the row, the intent, with reads in between.
    for left in stage.crashes(play, _skip, 8):
        left.clock.advance(stage.later_ms)
        skipped_before = _is_skipped(left)
        if stage.later_ms == 0:
            _skip(left)
        left.run_on(KEY, to_its_end=True)
        rest = at_rest(left, left.job(KEY))
        by_hand = [row.id.fire_at for row in rest.runs if row.reason is Reason.SKIPPED_MANUALLY]
        assert by_hand == ([first_at] if stage.later_ms == 0 or skipped_before else [])
        for fire_at in fires(schedule, NOW, NOW + 90_000):
            assert len([row for row in rest.runs if row.covers(fire_at)]) == 1, fire_at - NOW
        assert_each_run_was_called_once(rest)
        assert_all_is_well(rest)
        assert rest.row.status is JobStatus.COMPLETED


@pytest.mark.on_moto
def test_a_pause_after_which_every_fire_is_skipped_completes_its_job(stage: Stage) -> None:
    """By the time of the resume all fires were missed, the final one too; the resume is stopped anywhere."""
    case = CASES["a resume"]
    play = _prepared(stage, case, CatchUpPolicy.SKIP)
    play.clock.advance(10 * MINUTE_MS)
    for left in stage.crashes(play, _resume, 10):
        if _is_paused(left):
            _resume(left)
        left.run_on(KEY, to_its_end=True)
        _assert_promises(left, case, ran_all=False)
        assert left.caller.calls == []


@pytest.mark.on_moto
def test_a_reschedule_while_a_run_is_under_way_is_stopped_anywhere_and_no_fire_is_run_twice(stage: Stage) -> None:
    count = _rescheduled_under_way(stage, None)
    assert count >= 18
    for point in range(0, count, stage.step):
        _rescheduled_under_way(stage, point)


def _rescheduled_under_way(stage: Stage, point: int | None) -> int:
    case, points = CASES["a reschedule"], Points(point)
    play = _prepared(stage, case)
    play.caller.takes_ms = 4 * SECOND_MS

    def meanwhile() -> None:
        with nullcontext() if point is None else pytest.raises(Crash):
            _reschedule(play, points)
        if play.job(KEY).spec.schedule != NEW:
            _reschedule(play)

    play.caller.meanwhile = meanwhile
    play.clock.advance(2 * SECOND_MS)
    assert play.execute_next()
    play.run_on(KEY, to_its_end=True)
    _assert_promises(play, case, ran_all=False)
    return points.reached


@pytest.mark.parametrize("asked_again", [True, False])
def test_a_trigger_stopped_anywhere_leaves_one_run_or_none_and_exactly_one_after_its_repeat(
    stage: Stage, *, asked_again: bool
) -> None:
    play = stage.play(NOW)
    play.store_jobs([spec("job", Every(3600, NOW + 3_600_000))])
    # Payload, note, insert, send, out of the index.
    for left in stage.crashes(play, _trigger, 10):
        left.clock.advance(stage.later_ms)
        if asked_again:
            assert _trigger(left).outcome in (Triggering.STARTED, Triggering.REPEATED)
        left.run_on(KEY)
        runs = [run for run in left.runs(KEY) if run.id.origin is Origin.MANUAL]
        assert [run.state for run in runs] == [RunState.SUCCEEDED] * len(runs)
        assert len(runs) == 1 if asked_again else len(runs) <= 1
        assert [call.work.payload for _, call in left.caller.calls] == ['{"mine": 1}'] * len(runs)
        assert_all_is_well(at_rest(left, left.job(KEY)))


def _trigger(play: Play) -> Triggered:
    (triggered,) = trigger(
        play.context(), [Trigger(KEY, '{"mine": 1}', has_payload=True, request="r", fingerprint="f")]
    )
    return triggered
