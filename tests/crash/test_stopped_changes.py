"""A pause, a resume, a reschedule or a trigger is stopped at every point; scans and the next request finish it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest

from tests.crash.conftest import NewPlay, points_of
from tests.crash.promises import (
    assert_each_run_was_called_once,
    assert_nothing_is_both_run_and_skipped,
    assert_nothing_is_stuck,
    assert_nothing_was_early,
)
from tests.engine.play import NOW, WORK, Play, spec
from timeball.domain.catch_up import CatchUp, CatchUpPolicy
from timeball.domain.ids import JobKey, Origin
from timeball.domain.instants import MINUTE_MS, SECOND_MS
from timeball.domain.job import JobStatus
from timeball.domain.run import RunState
from timeball.domain.schedule import Every, Schedule, fires
from timeball.engine.change import Outcome, pause, resume, revise
from timeball.engine.trigger import Trigger, Triggering, trigger
from timeball.testing.faults import Crash, Points

KEY = JobKey("acme", "job")
LATER_MS = {"at once": 0, "ten minutes later": 10 * MINUTE_MS}
OLD = Schedule(Every(3, NOW + 2_000), end_at=NOW + 8_000)
NEW = Schedule(Every(2, NOW + 2_000), end_at=NOW + 8_000)
Verb = Callable[[Play, Points | None], None]


def _pause(play: Play, points: Points | None = None) -> None:
    pause(play.world(points), [(KEY, None)])


def _resume(play: Play, points: Points | None = None) -> None:
    resume(play.world(points), [(KEY, None)])


def _reschedule(play: Play, points: Points | None = None) -> None:
    job = replace(play.job(KEY), work=WORK)
    (changed,) = revise(play.world(points), [(job, replace(spec("job", NEW), catch_up=job.catch_up))])
    assert changed.outcome is Outcome.DONE


def _is_paused(play: Play) -> bool:
    return play.job(KEY).status is JobStatus.PAUSED


@dataclass(frozen=True)
class Case:
    """What came before, the change that is stopped, whether it is in force; the schedule after it; its points."""

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
    # What is due of the old schedule; the job; rows for late inserts; superseded runs; the intent; what is due now.
    "a reschedule": Case((), _reschedule, lambda play: play.job(KEY).schedule == NEW, NEW, 22),
    "a reschedule of a paused job": Case((_pause,), _reschedule, lambda play: play.job(KEY).schedule == NEW, NEW, 6),
}


def _prepared(new_play: NewPlay, case: Case, catch_up: CatchUpPolicy = CatchUpPolicy.LATEST) -> Play:
    play = new_play(NOW)
    play.store_jobs([replace(spec("job", OLD), catch_up=CatchUp(catch_up))])
    play.scan_all()
    for verb in case.before:
        verb(play, None)
    return play


@pytest.mark.parametrize("later", LATER_MS)
@pytest.mark.parametrize("case", CASES)
def test_a_change_stopped_anywhere_is_finished_by_scans_and_each_fire_has_one_row(
    new_play: NewPlay, case: str, later: str
) -> None:
    chosen, points = CASES[case], Points()
    play = _prepared(new_play, chosen)
    chosen.change(play, points)
    assert points.reached >= chosen.points
    for point in points_of(play, points.reached, every=4 if later == "at once" else 8):
        play = _prepared(new_play, chosen)
        with pytest.raises(Crash):
            chosen.change(play, Points(point))
        if not chosen.holds(play):  # nothing was changed: the client, who had no answer, asks again
            chosen.change(play, None)
        assert chosen.holds(play)
        play.clock.advance(LATER_MS[later])
        play.scan_all()
        assert play.job(KEY).intent is None
        if _is_paused(play):
            play.execute_next()
            assert play.caller.calls == []
            _resume(play)
        play.run_on(KEY, to_its_end=True)
        _assert_promises(play, chosen, ran_all=later == "at once")


def _assert_promises(play: Play, case: Case, *, ran_all: bool) -> None:
    job = play.job(KEY)
    rows = play.runs(KEY)
    for fire_at in fires(case.schedule, NOW, NOW + 30_000):
        assert len([row for row in rows if row.covers(fire_at)]) == 1, fire_at - NOW
    due = set(fires(OLD, NOW, NOW + 30_000)) | set(fires(case.schedule, NOW, NOW + 30_000))
    assert {row.id.fire_at for row in rows} <= due
    if ran_all:
        ran = [row.id.fire_at for row in rows if row.state is RunState.SUCCEEDED]
        assert ran == list(fires(case.schedule, NOW, NOW + 30_000))
    assert_nothing_is_both_run_and_skipped(play, job)
    assert_nothing_is_stuck(play, job)
    assert_each_run_was_called_once(play, job)
    assert_nothing_was_early(play)
    assert job.status is JobStatus.COMPLETED


def test_a_pause_that_ends_in_nothing_but_skipped_fires_completes_its_job(new_play: NewPlay) -> None:
    """All was missed by the time of the resume, the final fire too; the resume is stopped anywhere."""
    case, points = CASES["a resume"], Points()
    _resume(_missed(new_play), points)
    assert points.reached >= 10
    for point in points_of(new_play(NOW), points.reached):
        play = _missed(new_play)
        with pytest.raises(Crash):
            _resume(play, Points(point))
        if _is_paused(play):
            _resume(play)
        play.run_on(KEY, to_its_end=True)
        _assert_promises(play, case, ran_all=False)
        assert play.caller.calls == []


def _missed(new_play: NewPlay) -> Play:
    play = _prepared(new_play, CASES["a resume"], CatchUpPolicy.SKIP)
    play.clock.advance(10 * MINUTE_MS)
    return play


def test_a_reschedule_while_a_run_is_under_way_is_stopped_anywhere_and_no_fire_is_run_twice(new_play: NewPlay) -> None:
    count = _rescheduled_under_way(new_play, None)
    assert count >= 18
    for point in points_of(new_play(NOW), count, every=4):
        _rescheduled_under_way(new_play, point)


def _rescheduled_under_way(new_play: NewPlay, point: int | None) -> int:
    case, points = CASES["a reschedule"], Points(point)
    play = _prepared(new_play, case)
    play.caller.takes_ms = 4 * SECOND_MS

    def meanwhile() -> None:
        with nullcontext() if point is None else pytest.raises(Crash):
            _reschedule(play, points)
        if play.job(KEY).schedule != NEW:
            _reschedule(play)

    play.caller.meanwhile = meanwhile
    play.clock.advance(2 * SECOND_MS)
    assert play.execute_next()
    play.run_on(KEY, to_its_end=True)
    _assert_promises(play, case, ran_all=False)
    return points.reached


@pytest.mark.parametrize("later", LATER_MS)
@pytest.mark.parametrize("asked_again", [True, False])
def test_a_trigger_stopped_anywhere_leaves_one_run_or_none_and_one_if_it_is_asked_for_again(
    new_play: NewPlay, later: str, *, asked_again: bool
) -> None:
    asked = Trigger(KEY, '{"mine": 1}', has_payload=True, request="r", fingerprint="f")
    points = Points()
    play = _triggered_later(new_play)
    trigger(play.world(points), [asked])
    assert points.reached >= 10  # payload, note, insert, send, out of the index
    for point in points_of(play, points.reached):
        play = _triggered_later(new_play)
        with pytest.raises(Crash):
            trigger(play.world(Points(point)), [asked])
        play.clock.advance(LATER_MS[later])
        if asked_again:
            (again,) = trigger(play.world(), [asked])
            assert again.outcome in (Triggering.STARTED, Triggering.REPEATED)
        play.run_on(KEY)
        runs = [run for run in play.runs(KEY) if run.id.origin is Origin.MANUAL]
        assert [run.state for run in runs] == [RunState.SUCCEEDED] * len(runs)
        assert len(runs) == 1 if asked_again else len(runs) <= 1
        assert [call.work.payload for _, call in play.caller.calls] == ['{"mine": 1}'] * len(runs)
        assert_nothing_is_stuck(play, play.job(KEY))


def _triggered_later(new_play: NewPlay) -> Play:
    play = new_play(NOW)
    play.store_jobs([spec("job", Every(3600, NOW + 3_600_000))])
    return play
