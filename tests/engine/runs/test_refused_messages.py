"""SQS accepts some messages of a batch and refuses others: no run is sent without a watch, and none is forgotten."""

from collections.abc import Callable, Sequence

import pytest

from tests.engine.play import NOW, Play, result_of, spec
from tests.engine.service import KEY, Service, at
from tests.engine.submitting import submit_once
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.context import Rules
from timeball.engine.execution.claim import claim
from timeball.engine.execution.finish import finish
from timeball.engine.runs.send import send
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.ports.queue import MAX_WATCHED, Watch
from timeball.testing.memory_queue import MemoryQueue


class PartialQueue(MemoryQueue):
    """A queue that refuses single messages of a batch: `takes_watch` and `takes_run` decide by their numbers."""

    takes_watch: Callable[[int], bool] = staticmethod(lambda _: True)
    takes_run: Callable[[int], bool] = staticmethod(lambda _: True)
    asked_watches = asked_runs = 0

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        answers = [self.takes_watch(self.asked_watches + number) for number in range(len(watches))]
        self.asked_watches += len(watches)
        super().watch([one for one, taken in zip(watches, answers, strict=True) if taken])
        return answers

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        answers = [self.takes_run(self.asked_runs + number) for number in range(len(runs))]
        self.asked_runs += len(runs)
        super().send([one for one, taken in zip(runs, answers, strict=True) if taken], now)
        return answers


def with_partial_queue() -> tuple[Play, PartialQueue]:
    play = Play(rules=Rules(shards=1, runs_per_message=1))
    queue = PartialQueue(play.clock.now, play.rules.lead)
    play.queue = queue
    return play, queue


def test_a_run_whose_watch_is_refused_is_not_sent() -> None:
    play, queue = with_partial_queue()
    names = [f"job-{number:03}" for number in range(MAX_WATCHED + 5)]
    play.store_jobs([spec(name, At(at(1))) for name in names])
    queue.takes_run = lambda _: False
    play.scan_all()
    runs = [play.runs(JobKey("acme", name))[0] for name in names]
    queue.takes_watch, queue.takes_run = (lambda number: number == 0), (lambda number: number != 7)
    queue.asked_watches = queue.asked_runs = 0
    queue.watches.clear()
    assert send(play.context(), runs, play.clock.now()) == [
        number < MAX_WATCHED and number != 7 for number in range(len(runs))
    ]
    watched = {run for watch in queue.watches for run in watch.runs}
    assert [run.id for run in queue.sent if run.id not in watched] == []


def _fires_of_a_schedule(play: Play) -> None:
    play.store_jobs([spec("job", Schedule(Every(5, NOW), max_runs=4))])


def _is_submitted(play: Play) -> None:
    submit_once(play.context(), spec("job", At(NOW)), "job")


def _is_triggered(play: Play) -> None:
    play.store_jobs([spec("job", At(at(20)))])
    trigger(play.context(), [Trigger(KEY, fingerprint="f")])


def _waits_for_the_overlap_lock(play: Play) -> None:
    wanted = spec("job", Schedule(Every(5, NOW), max_runs=3))
    play.store_jobs([evolve(wanted, overlap=OverlapPolicy.QUEUE_ONE)])


def _waits_for_its_key(play: Play) -> None:
    wanted = spec("job", Schedule(Every(5, NOW), max_runs=3))
    play.store_jobs([evolve(wanted, flow=Flow(concurrency=ConcurrencyLimit("k", 1)))])


WAYS = (_fires_of_a_schedule, _is_submitted, _is_triggered, _waits_for_the_overlap_lock, _waits_for_its_key)


@pytest.mark.parametrize("refused", [0, 1], ids=["even ones", "odd ones"])
@pytest.mark.parametrize("what", ["watches", "messages"])
@pytest.mark.parametrize("way", WAYS)
def test_every_run_is_called_once_although_every_second_message_is_refused(
    way: Callable[[Play], None], what: str, refused: int
) -> None:
    play, queue = with_partial_queue()

    def takes(number: int) -> bool:
        return number % 2 != refused

    queue.takes_watch, queue.takes_run = (takes, queue.takes_run) if what == "watches" else (queue.takes_watch, takes)
    with Service(play) as service:
        service.engine.is_watching = True
        service.target.takes = lambda _: 7_000
        way(play)
        service.until(at(600))
        runs = play.runs(KEY)
        assert play.job(KEY).status is JobStatus.COMPLETED
        assert sorted(call.run for _, call in service.target.calls) == sorted(run.id for run in runs)


@pytest.mark.parametrize("refused", ["takes_watch", "takes_run"])
def test_a_run_that_a_limiter_admits_is_sent_within_seconds_of_a_refusal(refused: str) -> None:
    """The limiter keeps the run's slot meanwhile."""
    play, queue = with_partial_queue()
    flow = Flow(concurrency=ConcurrencyLimit("db", 1))
    keys = [job.key for job in play.store_jobs([evolve(spec(name, At(NOW)), flow=flow) for name in "ab"])]
    play.scan_all()
    first, second = (play.runs(key)[0].id for key in keys)
    (claimed,) = claim(play.context(), [first], "one")
    claim(play.context(), [second], "two")
    queue.sent.clear()
    setattr(queue, refused, lambda _: False)
    assert claimed.run is not None
    assert claimed.job is not None
    finish(play.context(), [result_of(claimed.run, claimed.job, play.clock.now(), 200)])
    setattr(queue, refused, lambda _: True)
    assert queue.sent == []
    play.clock.advance(2 * SECOND_MS)
    play.scan_all()
    assert [run.id for run in queue.sent] == [second]
