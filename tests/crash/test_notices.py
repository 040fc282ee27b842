"""A process that ends or plans a run is stopped anywhere, and the notice is still sent, once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from tests.crash.stage import Stage, stop_when
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.jobs.revision import RevisionId
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.run_ends.notices import end_of
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.runs.manual import cancel_runs, retry_runs
from timeball.engine.scheduling.submit import submit
from timeball.ports.rows import Swap
from timeball.testing.faults import Points

KEY = JobKey("acme", "job")
TOLD = HttpTarget("https://told.example/hook")
STREAKS = Notify(on_failure=TOLD, on_recovery=TOLD)
GIVES_UP = RetryPolicy(max_retries=0)
TRIES_AGAIN = RetryPolicy(max_retries=2, base_seconds=1)


def begin(
    stage: Stage, retry: RetryPolicy, statuses: list[int], notify: Notify, pause_after: int | None = None
) -> Play:
    """Store a job that fires twice, twenty minutes apart, the first time now."""
    play = stage.play(NOW)
    schedule = Schedule(Every(20 * 60, NOW), max_runs=2)
    play.store_jobs([replace(spec("job", schedule, retry), notify=notify, pause_after_failures=pause_after)])
    play.caller.statuses = statuses
    return play


def work_on(play: Play, seconds: int) -> None:
    for _ in range(seconds):
        play.scan_all()
        while play.execute_next():
            pass
        play.clock.advance(SECOND_MS)


def recovered(stage: Stage, crashes: Iterator[Play]) -> Iterator[Play]:
    """Let the system work after each crash until the message of an executor that died has come again."""
    for left in crashes:
        left.clock.advance(stage.later_ms)
        work_on(left, 2)
        left.clock.advance(16 * MINUTE_MS - stage.later_ms)
        work_on(left, 20)
        yield left


def told(play: Play) -> Counter[str]:
    """Return the types of notices that were sent, counted by notice, because a call may be repeated as any call may."""
    calls = {call.run: call.work.payload or "" for _, call in play.caller.calls if call.run.job != KEY}
    return Counter(payload.split('"')[3] for payload in calls.values())


def test_an_end_that_begins_a_streak_is_notified_once(stage: Stage) -> None:
    play = begin(stage, GIVES_UP, [500], STREAKS)
    play.scan_all()
    for left in recovered(stage, stage.crashes(play, Play.execute_next, 6)):
        assert told(left) == {"failure": 1}
        assert left.job(KEY).failing == end_of(left.runs(KEY)[0])


def test_an_end_that_ends_a_streak_is_notified_once(stage: Stage) -> None:
    play = begin(stage, TRIES_AGAIN, [400], STREAKS)
    work_on(play, 3)
    assert told(play) == {"failure": 1}
    play.clock.advance(20 * MINUTE_MS - 4 * SECOND_MS)
    play.scan_all()
    for left in recovered(stage, stage.crashes(play, Play.execute_next, 6)):
        assert told(left) == {"failure": 1, "recovery": 1}
        assert left.job(KEY).failing is None


# The target's answer to the retry (None: it is cancelled before), and the notices in the end.
FATES: dict[str, tuple[int | None, dict[str, int]]] = {
    "it succeeds": (200, {"failure": 1, "recovery": 1}),
    "it fails again": (500, {"failure": 1}),
    "it is cancelled": (None, {"failure": 1}),
}


@pytest.mark.parametrize("fate", FATES)
def test_a_streak_is_notified_once_although_its_run_is_retried_while_a_process_notes_it_and_dies(
    stage: Stage, fate: str
) -> None:
    """The process has read that the run failed, and writes that to the job at any moment of the retry."""
    status, expected = FATES[fate]
    play = begin(stage, GIVES_UP, [500], STREAKS)
    play.scan_all()
    stop_when(play, Play.execute_next, lambda play: play.runs(KEY)[0].is_terminal)
    before, (failed, *_) = stage.picture(play), play.runs(KEY)
    (moments := Points()).reach()
    retry_runs(stage.as_in(before).context(moments), [failed.id])
    for moment in range(moments.reached):
        left = stage.as_in(before)
        points = Points(moment, partial(note, left, failed))
        points.reach()
        retry_runs(left.context(points), [failed.id])
        if status is None:
            cancel_runs(left.context(), [failed.id])
        left.caller.statuses = [] if status is None else [status]
        work_on(left, 20)
        assert told(left) == expected, f"noted at moment {moment}"


def note(play: Play, failed: Run) -> None:
    job = play.job(KEY)
    assert play.store.jobs.swap([Swap(job, replace(job, failing=end_of(failed)))], play.clock.now())[0].done


def test_a_failure_that_pauses_a_job_does_so_wherever_the_executor_was_stopped(stage: Stage) -> None:
    play = begin(stage, GIVES_UP, [500], STREAKS, pause_after=1)
    play.scan_all()
    for left in recovered(stage, stage.crashes(play, Play.execute_next, 6)):
        job = left.job(KEY)
        assert (job.status, job.paused_by_failures, job.intent) == (JobStatus.PAUSED, True, None)
        assert [
            one.version for one in left.store.changes.of_job(RevisionId(KEY, job.created_at, job.version - 1), 5)
        ] == [1]
        assert told(left) == {"failure": 1}


def test_a_late_run_is_notified_wherever_the_scan_that_planned_it_was_stopped(stage: Stage) -> None:
    play = begin(stage, TRIES_AGAIN, [500, 500, 500], Notify(on_late=TOLD, deadline_seconds=1))
    for left in recovered(stage, stage.crashes(play, Play.scan_all, 8)):
        assert told(left)["late"] >= 1


@pytest.mark.parametrize("timeout", [86_400, 1])
def test_a_streak_of_runs_that_parents_stop_is_notified_wherever_the_scan_was_stopped(
    stage: Stage, timeout: int
) -> None:
    """The parent's run has failed: the child's is blocked, or has waited for so long that it is skipped."""
    play = stage.play(NOW)
    every = Schedule(Every(20 * 60, NOW), max_runs=1)
    parent, wish = spec("job", every, GIVES_UP), Notify(on_blocked=TOLD, after_blocked=1)
    child = replace(spec("child", every), depends_on=(Parent("job"),), dependency_timeout_seconds=timeout, notify=wish)
    for one in (parent, child):
        submit(play.context(), [one], play.clock.now())
    play.caller.statuses = [500]
    work_on(play, 1)
    assert told(play) == {}
    play.clock.advance(2 * SECOND_MS)
    for left in recovered(stage, stage.crashes(play, Play.scan_all, 4)):
        assert told(left) == {"blocked": 1}
        assert left.job(child.key).stopped is not None
