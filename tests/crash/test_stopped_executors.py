"""An executor is stopped at every point between its writes; its message comes again, and the run ends."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.crash.conftest import NewPlay
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import At
from timeball.engine.claim import claim
from timeball.engine.finish import Result, finish
from timeball.ports import Answer, Delivery
from timeball.testing.faults import Crash, Points


@dataclass(frozen=True)
class Case:
    """The target's answers to the first calls (then 200), how a run and its job end, and how many points it has."""

    statuses: tuple[int, ...]
    ends: tuple[RunState, JobStatus]
    points: int


CASES = {
    "it succeeds": Case((), (RunState.SUCCEEDED, JobStatus.COMPLETED), 8),
    "it is retried": Case((500,), (RunState.SUCCEEDED, JobStatus.COMPLETED), 8),
    "it is not worth a retry": Case((404, 404), (RunState.FAILED, JobStatus.FAILED), 10),
}


def _sent(new_play: NewPlay, case: Case) -> tuple[Play, Job, list[Delivery]]:
    play = new_play(NOW)
    play.caller.statuses = list(case.statuses)
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 1
    return play, job, deliveries


def _stopped_executors(new_play: NewPlay, case: Case) -> Iterator[tuple[Play, Job]]:
    play, _, deliveries = _sent(new_play, case)
    points = Points()
    play.execute(deliveries, points)
    assert points.reached >= case.points
    for point in range(points.reached):
        play, job, deliveries = _sent(new_play, case)
        with pytest.raises(Crash):
            play.execute(deliveries, Points(point))
        yield play, job


@pytest.mark.parametrize("case", CASES)
def test_a_run_whose_executor_was_stopped_anywhere_ends_and_was_called_with_rising_numbers(
    new_play: NewPlay, case: str
) -> None:
    chosen = CASES[case]
    for play, job in _stopped_executors(new_play, chosen):
        play.run_on(job.key)
        (run,) = play.runs(job.key)
        assert (run.state, play.job(job.key).status) == chosen.ends
        numbers = [attempt for _, attempt in play.caller.attempts()]
        assert numbers, "at least once"
        assert numbers == sorted(set(numbers))
        assert run.attempt >= numbers[-1]
        assert play.queue.waiting("normal") == []
        assert (run.owner, run.lease_until, run.due_at) == (None, None, None)


def test_an_executor_stopped_over_and_over_leaves_a_failed_run_and_never_a_live_one(
    new_play: NewPlay,
) -> None:
    play, job, deliveries = _sent(new_play, CASES["it succeeds"])
    for attempt in range(1, PLAIN_RETRY.max_retries + 2):
        # Hidden, claimed, and then gone; from the third attempt on, the lost one before last is kept first.
        with pytest.raises(Crash):
            play.execute(deliveries, Points(4 if attempt < 3 else 6))
        play.clock.advance(900 * SECOND_MS)
        deliveries = play.queue.receive("normal")
    play.execute(deliveries)
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt) == (RunState.FAILED, 4)
    assert play.job(job.key).status is JobStatus.FAILED
    assert play.queue.waiting("normal") == []


def test_a_zombie_cannot_finish_a_run_after_its_lease_was_taken_over(new_play: NewPlay) -> None:
    for status in (200, 500, 404):
        play, job, (delivery,) = _sent(new_play, CASES["it succeeds"])
        zombie = _claimed(play, delivery, "zombie")
        play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
        heir = _claimed(play, delivery, "heir")
        assert (zombie.attempt, heir.attempt) == (1, 2)

        now = play.clock.now()
        assert finish(play.world(), [Result(zombie, job, Answer(now, now, status))]) == [False]
        assert play.store.read_runs([delivery.run]) == [heir]
        assert finish(play.world(), [Result(heir, job, Answer(now, now, 200))]) == [True]
        assert finish(play.world(), [Result(zombie, job, Answer(now, now, status))]) == [True]
        (run,) = play.runs(job.key)
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)


def test_a_zombie_finishing_between_any_two_writes_of_its_heir_changes_nothing(new_play: NewPlay) -> None:
    point, count = 0, 1
    while point < count:
        play, job, (delivery,) = _sent(new_play, CASES["it succeeds"])
        zombie = _claimed(play, delivery, "zombie")
        play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
        heir = _claimed(play, delivery, "heir")
        now = play.clock.now()

        late = Result(zombie, job, Answer(now, now, 500))

        def wake(play: Play = play, late: Result = late) -> None:
            finish(play.world(), [late])

        points = Points(point, wake)
        assert finish(play.world(points), [Result(heir, job, Answer(now, now, 200))]) == [True]
        (run,) = play.runs(job.key)
        assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
        assert play.job(job.key).status is JobStatus.COMPLETED
        point, count = point + 1, points.reached
    assert count >= 4


def _claimed(play: Play, delivery: Delivery, owner: str) -> Run:
    (one,) = claim(play.world(), [delivery.run], owner)
    assert one.is_mine
    assert one.run is not None
    return one.run
