"""A submission is stopped anywhere: the job is stored, and runs, or it is not; after a repeat there is exactly one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from tests.crash.promises import (
    assert_all_is_well,
    assert_each_instant_has_one_row,
    assert_each_run_was_called_once,
    at_rest,
)
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.aws.dynamodb.table.writes import Write, Writer, Written
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import revise
from timeball.engine.scheduling.submit import Submission, submit

LARGE = Work(HttpTarget("https://target.example/hook"), '"' + "x" * 1_000 + '"')
SOON = Schedule(Every(2, NOW + 1_000), end_at=NOW + 3_000)


@dataclass(frozen=True)
class Case:
    """The jobs of one request, and its least number of points."""

    specs: Sequence[JobSpec]
    points: int


CASES = {
    # The job, its run, the message, the job's advance.
    "due now": Case([spec("job", At(NOW))], 8),
    "due soon, twice": Case([spec("job", SOON)], 10),
    "a year late": Case([spec("job", At(NOW - 365 * DAY_MS))], 8),
    "due in a minute": Case([spec("job", At(NOW + MINUTE_MS))], 2),
    "one now and one in a minute": Case([spec("job", At(NOW)), spec("b", At(NOW + MINUTE_MS))], 10),
}


@pytest.mark.parametrize("asked_again", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_submission_stopped_anywhere_stores_its_jobs_which_then_run_or_stores_nothing(
    stage: Stage, name: str, *, asked_again: bool
) -> None:
    case = CASES[name]

    def ask(play: Play) -> list[Submission]:
        return [one.outcome for one in submit(play.context(), case.specs, play.clock.now())]

    for left in stage.crashes(stage.play(NOW), ask, case.points):
        keys = [one.key for one in case.specs]
        stood = [job for job in left.store.jobs.read(keys) if job is not None]
        if asked_again:
            left.clock.advance(SECOND_MS)
            assert ask(left).count(Submission.REPEATED) == len(stood)
        stored = [job for job in left.store.jobs.read(keys) if job is not None]
        assert stored == stood or len(stored) == len(keys)
        left.clock.advance(stage.later_ms)
        for key in keys:
            assert left.runs(key) == [] or key in [job.key for job in stored], "no run comes before its job"
        for job in stored:
            left.run_on(job.key, to_its_end=True)
        for job in stored:
            rest = at_rest(left, replace(job, next_fire_at=0))
            assert_each_instant_has_one_row(rest, NOW + MINUTE_MS)
            assert_each_run_was_called_once(rest)
            assert_all_is_well(rest)
            assert rest.row.status is JobStatus.COMPLETED
            assert RunState.SUCCEEDED in {run.state for run in rest.runs}
        assert {call.run.job for _, call in left.caller.calls} == {job.key for job in stored}


def _stop_between_rows(monkeypatch: pytest.MonkeyPatch, play: Play) -> None:
    """Give points to the single writes of a port's write, too: a large payload has a row of its own."""
    write = Writer.write

    def stoppable(writer: Writer, writes: Sequence[Write]) -> list[Written]:
        if play.points is not None:
            play.points.reach()
        return write(writer, writes)

    monkeypatch.setattr(Writer, "write", stoppable)


@pytest.mark.parametrize("asked_again", [True, False])
def test_a_submission_stopped_between_the_rows_of_a_large_payload_and_its_job_leaves_no_job(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, asked_again: bool
) -> None:
    wanted, play = replace(spec("job", At(NOW)), work=LARGE), stage.play(NOW)
    _stop_between_rows(monkeypatch, play)
    for left in stage.crashes(play, lambda play: submit(play.context(), [wanted], NOW), 8):
        (stored,) = left.store.jobs.read([KEY])
        if asked_again:
            left.clock.advance(SECOND_MS)
            (again,) = submit(left.context(), [wanted], left.clock.now())
            assert again.outcome is (Submission.CREATED if stored is None else Submission.REPEATED)
        elif stored is None:
            continue
        left.run_on(KEY)
        assert [call.work for _, call in left.caller.calls] == [LARGE]
        assert_all_is_well(at_rest(left, left.job(KEY)))


@pytest.mark.parametrize("grows", [True, False])
def test_a_change_of_a_large_payload_stopped_between_its_rows_leaves_the_old_one_or_the_new(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, grows: bool
) -> None:
    small = spec("job", At(NOW + MINUTE_MS))
    old, new = (small, replace(small, work=LARGE))[:: 1 if grows else -1]
    play = stage.play(NOW)
    (job,) = play.store_jobs([old])
    _stop_between_rows(monkeypatch, play)
    for left in stage.crashes(play, lambda play: revise(play.context(), [(job, new)]), 2):
        (stands,) = left.store.jobs.read([KEY], with_work=True)
        assert stands is not None
        assert (stands.spec.work, stands.version) in ((old.work, 1), (new.work, 2))
        left.run_on(KEY, to_its_end=True)
        assert [call.work for _, call in left.caller.calls] == [stands.spec.work]
        assert_all_is_well(at_rest(left, left.job(KEY)))
