"""An executor is stopped at every point between its writes; its message comes again, and the run ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, PLAIN_RETRY, Play, result_of, spec
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.claim import claim
from timeball.engine.execution.finish import Result, finish
from timeball.ports.queue import Delivery
from timeball.testing.faults import Crash, Points


@dataclass(frozen=True)
class Case:
    """The answers to the first calls (then 200), how run and job end, the number of points, the duration of a call."""

    statuses: tuple[int, ...]
    ends: tuple[RunState, JobStatus]
    points: int
    takes_ms: int = 0


CASES = {
    "it succeeds": Case((), (RunState.SUCCEEDED, JobStatus.COMPLETED), 8),
    "it is retried": Case((500,), (RunState.SUCCEEDED, JobStatus.COMPLETED), 8),
    "it is not worth a retry": Case((404, 404), (RunState.FAILED, JobStatus.FAILED), 10),
    # The run is renewed twice, and its message hidden anew.
    "it takes long": Case((), (RunState.SUCCEEDED, JobStatus.COMPLETED), 20, takes_ms=25_000),
}


def _sent(stage: Stage, statuses: Sequence[int] = ()) -> tuple[Play, Job, list[Delivery]]:
    play = stage.play(NOW)
    play.caller.statuses = list(statuses)
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 1
    return play, job, deliveries


@pytest.mark.parametrize("case", CASES)
def test_a_run_whose_executor_was_stopped_anywhere_ends_and_was_called_with_rising_numbers(
    stage: Stage, case: str
) -> None:
    chosen = CASES[case]
    play, job, deliveries = _sent(stage, chosen.statuses)
    play.caller.takes_ms = chosen.takes_ms
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), chosen.points):
        left.clock.advance(stage.later_ms)
        left.run_on(job.key)
        rest = at_rest(left, job)
        (run,) = rest.runs
        assert (run.state, rest.row.status) == chosen.ends
        assert rest.calls, "at least once"
        assert run.attempt >= rest.calls[-1][1].attempt
        assert (run.owner, run.lease_until) == (None, None)
        assert_all_is_well(rest)


def test_a_message_without_time_for_its_run_is_never_lost_on_its_way_back(stage: Stage) -> None:
    play, job, deliveries = _sent(stage)
    send_back = partial(Play.execute, deliveries=deliveries, deadline_at=NOW + 100 * SECOND_MS)
    # Hidden, the new message sent, the old one removed; in between there are two.
    for left in stage.crashes(play, send_back, 6):
        assert left.messages()
        left.clock.advance(stage.later_ms)
        left.run_on(job.key)
        rest = at_rest(left, job)
        assert (rest.runs[0].state, rest.row.status, len(rest.calls)) == (RunState.SUCCEEDED, JobStatus.COMPLETED, 1)
        assert_all_is_well(rest)


def test_each_job_of_a_batch_ends_by_itself_if_the_executor_was_stopped_anywhere(stage: Stage) -> None:
    play = stage.play(NOW)
    jobs = play.store_jobs(spec(name, At(NOW + 400)) for name in ("a", "b"))
    play.scan_all()
    play.caller.statuses = [200, 500]
    deliveries = play.queue.receive("normal")
    # Hidden, claimed, called, one attempt kept, finished, one job concluded, the messages removed; b is retried.
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), 24):
        for job in jobs:
            left.run_on(job.key)
        for job in jobs:
            rest = at_rest(left, job)
            (run,) = rest.runs
            assert (run.state, rest.row.status) == (RunState.SUCCEEDED, JobStatus.COMPLETED)
            assert_all_is_well(rest)


def test_an_executor_stopped_over_and_over_leaves_a_failed_run_and_never_a_live_one(stage: Stage) -> None:
    play, job, deliveries = _sent(stage)
    for attempt in range(1, PLAIN_RETRY.max_retries + 2):
        # Hidden, claimed, and then gone; from the third attempt on, the lost attempt before the last is kept first.
        with pytest.raises(Crash):
            play.execute(deliveries, Points(4 if attempt < 3 else 6))
        play.clock.advance(900 * SECOND_MS)
        deliveries = play.queue.receive("normal")
    play.execute(deliveries)
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt) == (RunState.FAILED, 4)
    assert play.job(job.key).status is JobStatus.FAILED
    assert play.queue.waiting("normal") == []


def test_a_zombie_cannot_finish_a_run_after_its_lease_was_taken_over(stage: Stage) -> None:
    for status in (200, 500, 404):
        play, job, (delivery,) = _sent(stage)
        zombie = _claimed(play, delivery, "zombie")
        play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
        heir = _claimed(play, delivery, "heir")
        assert (zombie.attempt, heir.attempt) == (1, 2)

        now = play.clock.now()
        assert finish(play.context(), [result_of(zombie, job, now, status)]) == [False]
        assert play.store.runs.read([delivery.run]) == [heir]
        assert finish(play.context(), [result_of(heir, job, now, 404)]) == [True]
        assert finish(play.context(), [result_of(zombie, job, now, status)]) == [True]
        (run,) = play.runs(job.key)
        assert (run.state, run.attempt) == (RunState.FAILED, 2)
        told = [(one.number, one.outcome, one.status) for one in play.store.attempts.of_run(run.id)]
        assert told == [(1, Outcome.LOST, None), (2, Outcome.FAILED, 404)]


def test_a_zombie_finishing_between_any_two_writes_of_its_successor_changes_nothing(stage: Stage) -> None:
    point, count = 0, 1
    while point < count:
        play, job, (delivery,) = _sent(stage)
        zombie = _claimed(play, delivery, "zombie")
        play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
        heir = _claimed(play, delivery, "heir")
        now = play.clock.now()

        late = result_of(zombie, job, now, 500)

        def wake(play: Play = play, late: Result = late) -> None:
            finish(play.context(), [late])

        points = Points(point, wake)
        assert finish(play.context(points), [result_of(heir, job, now, 200)]) == [True]
        (run,) = play.runs(job.key)
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
        assert play.job(job.key).status is JobStatus.COMPLETED
        point, count = point + 1, max(count, points.reached)
    assert count >= 4


def _claimed(play: Play, delivery: Delivery, owner: str) -> Run:
    (one,) = claim(play.context(), [delivery.run], owner)
    assert one.is_mine
    assert one.run is not None
    return one.run
