"""Recovery after a loss: rows lost or old, queues and watches emptied, in any mixture; and recovering twice.

A story runs jobs for a while, remembers all rows at an instant, and runs on for up to 15 minutes. Then it loses some of
what was written since, and recovers while users and executors go on.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from tests.engine.operations.operations import operation, standing
from tests.engine.play import NOW, Play, spec
from tests.engine.service import Service
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, Job, JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.operation import OperationAction, OperationStatus
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, fires
from timeball.engine.operations.operation import create_operation
from timeball.engine.runs.trigger import Trigger, trigger

STORIES, ALWAYS, AT_ONCE = 60, 10, 10


def recover(play: Play, since: int, name: str = "op1", until: int | None = None) -> None:
    """Recover all jobs, as the request of an admin does; they are so few that the request completes most of it."""
    asked = replace(operation(OperationAction.RECOVER, play.clock.now(), name=name), since=since, until=until)
    create_operation(play.context(), asked)


@dataclass
class Loss:
    """A story, and what it knew before its loss."""

    service: Service
    since: int
    lost_at: int = 0
    once: set[JobKey] = field(default_factory=set)
    over: set[RunId] = field(default_factory=set)
    """The runs whose rows said after the loss that they were over."""

    @property
    def play(self) -> Play:
        return self.service.play

    def lose(self, draw: Random, jobs: dict[JobKey, Job], runs: dict[RunId, Run]) -> None:
        """Lose messages and watches, and rows that were written since the instant of `jobs` and `runs`."""
        store = _rows(self.play)
        now = self.lost_at = self.play.clock.now()
        if draw.random() < 0.7:
            self.play.queue.purge()
            self.play.queue.watches = []
        if share := draw.choice((0, 0.2, 1)):
            self.service.kill_executors()  # as a deployment with a restored table does
        for run_id in [*store.runs]:
            if store.runs[run_id] != runs.get(run_id) and draw.random() < share:
                if run_id in runs:  # under a new revision: no process has read it so
                    store.runs.write(run_id, replace(runs[run_id], revision=store.runs[run_id].revision + 1), now)
                else:
                    del store.runs[run_id]
        for key in [*store.jobs]:
            if key in jobs and store.jobs[key] != jobs[key] and draw.random() < share:
                store.jobs.write(key, replace(jobs[key], revision=store.jobs[key].revision + 1), now)
        self.over = {run.id for run in store.runs.values() if run.is_terminal}


def _spec(draw: Random, number: int, now: int) -> JobSpec:
    every = Every(draw.choice((7, 20, 60)), now - draw.randrange(MINUTE_MS))
    timing = draw.choice((every, every, At(now + draw.randrange(5 * MINUTE_MS))))
    return replace(
        spec(f"job-{number}", Schedule(timing)),
        delivery=draw.choice((Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)),
        catch_up=CatchUp(draw.choice(tuple(CatchUpPolicy)), 5, 3_600),
        overlap=draw.choice(tuple(OverlapPolicy)),
        jitter_seconds=0 if isinstance(timing, At) else draw.choice((0, 0, 3)),
    )


def _answer(service: Service, draw: Random) -> int:
    """Draw the answer of a call, and return how long it takes: the same however many others there are."""
    service.target.statuses = draw.choices((200, 500), (5, 1))
    return draw.choice((10, 500, 9_000, 40_000))


def _rows(play: Play) -> Any:
    """Return the memory store, whose collections are dictionaries."""
    return play.store


def story(number: int) -> Iterator[Loss]:
    """Play a story up to its loss, and yield it; then work on until all is over, and yield it again."""
    draw = Random(f"loss {number}")  # noqa: S311 - a story must be replayable
    with Service(Play(at=NOW - draw.randrange(MINUTE_MS))) as service:
        play, store = service.play, _rows(service.play)
        service.engine.is_watching = True
        service.target.takes = lambda call: _answer(service, Random(f"{number} {call.run} {call.attempt}"))  # noqa: S311
        specs = [_spec(draw, one, play.clock.now()) for one in range(4)]
        jobs = play.store_jobs(specs)
        service.until(play.clock.now() + draw.randrange(3 * MINUTE_MS))
        if draw.random() < 0.5:
            trigger(play.context(), [Trigger(jobs[0].key)])
        once = {one.key for one in specs if one.delivery is Guarantee.AT_MOST_ONCE}
        told = Loss(service, play.clock.now(), once=once)
        kept_jobs, kept_runs = dict(store.jobs), dict(store.runs)
        service.until(play.clock.now() + draw.choice((3, 40, 400, 900)) * SECOND_MS + draw.randrange(1_000))
        told.lose(draw, kept_jobs, kept_runs)
        yield told
        service.until(play.clock.now() + 6 * MINUTE_MS)
        for job in store.jobs.values():
            if not job.spec.schedule.is_one_off and job.is_open:
                store.jobs.write(job.key, replace(job, status=JobStatus.PAUSED, due_at=None), play.clock.now())
        service.until(play.clock.now() + 6 * MINUTE_MS)
        yield told


@pytest.mark.parametrize(
    "first",
    [
        *range(0, ALWAYS, AT_ONCE),
        *(pytest.param(first, marks=pytest.mark.more) for first in range(ALWAYS, STORIES, AT_ONCE)),
    ],
)
def test_after_a_recovery_each_due_instant_has_one_row_and_each_run_ends(first: int) -> None:
    for number in range(first, first + AT_ONCE):
        acts = story(number)
        told = next(acts)
        recover(told.play, told.since)
        called = Counter(call.run for _, call in told.service.target.calls)
        told.service.until(told.play.clock.now() + number % 3 * SECOND_MS)
        recover(told.play, told.since, "op2", told.lost_at)
        next(acts)
        _assert_whole(told, called, number)
        assert _end(told) == _end(_recovered_once(number)), number


def _recovered_once(number: int) -> Loss:
    acts = story(number)
    told = next(acts)
    recover(told.play, told.since)
    told.service.until(told.play.clock.now() + number % 3 * SECOND_MS)
    next(acts)
    return told


def _end(told: Loss) -> Any:
    """Return how each run ended, and how often each was called."""
    rows = {run.id: (run.state, run.reason, run.attempt) for run in _rows(told.play).runs.values()}
    return rows, Counter(call.run for _, call in told.service.target.calls)


def _assert_whole(told: Loss, called: Counter[RunId], number: int) -> None:
    play = told.play
    assert standing(play).status is OperationStatus.SUCCEEDED
    store = _rows(play)
    for job in store.jobs.values():
        rows = [run for run in play.runs(job.key) if run.id.origin is Origin.SCHEDULE]
        from_at = max(told.since, job.change.next_fire_at or 0)
        for at in fires(
            job.spec.schedule, from_at, min((job.next_fire_at or 10**15) - 1, job.final_fire_at or 10**15, told.lost_at)
        ):
            assert sum(row.covers(at) for row in rows) == 1, (number, job.key, at)
    live = [run for run in store.runs.values() if not run.is_terminal and run.state is not RunState.WITHDRAWN]
    assert not live, (number, live)
    later = Counter(call.run for _, call in told.service.target.calls) - called
    assert not [run for run in later if run in told.over], number
    all_calls = Counter(call.run for _, call in told.service.target.calls)
    twice = [run for run, count in all_calls.items() if count > 1 and run.job in told.once]
    assert not twice, (number, twice)


def test_a_fire_whose_row_is_lost_while_its_job_goes_on_has_one_again() -> None:
    with Service(Play()) as service:
        play, store = service.play, _rows(service.play)
        (job,) = play.store_jobs([replace(spec("job", Every(20, NOW)), catch_up=CatchUp(CatchUpPolicy.ALL, 100))])
        service.until(NOW + 70_000)
        lost = [RunId(job.key, NOW + at, Origin.SCHEDULE) for at in (20_000, 40_000)]
        for one in lost:
            del store.runs[one]
        recover(play, NOW + 10_000)
        service.until(NOW + 90_000)
        assert all(one in store.runs for one in lost)
        before = len(service.target.calls)
        recover(play, NOW + 10_000, "op2")
        service.until(NOW + 95_000)
        assert len(service.target.calls) == before


def test_an_at_most_once_run_that_may_have_begun_becomes_a_dead_letter_in_doubt() -> None:
    with Service(Play()) as service:
        play, store = service.play, _rows(service.play)
        once = replace(spec("job", Every(20, NOW)), delivery=Guarantee.AT_MOST_ONCE)
        (job,) = play.store_jobs([once])
        service.until(NOW + 30_000)
        lost = RunId(job.key, NOW + 20_000, Origin.SCHEDULE)
        del store.runs[lost]
        for name in ("op1", "op2"):
            recover(play, NOW, name)
            service.until(play.clock.now() + 2_000)
        run = store.runs[lost]
        assert (run.state, run.reason, run.is_dead_letter) == (RunState.FAILED, Reason.RECOVERY_IN_DOUBT, True)
        assert Counter(call.run for _, call in service.target.calls)[lost] == 1


def test_a_recovery_counts_the_runs_of_a_bounded_job_from_their_rows() -> None:
    with Service(Play()) as service:
        play, store = service.play, _rows(service.play)
        play.store_jobs([spec("job", Schedule(Every(10, NOW), max_runs=5))])
        service.until(NOW + 32_000)
        recover(play, NOW + 15_000)
        service.until(NOW + 3 * MINUTE_MS)
        assert len(store.runs) == 5
        assert play.job(JobKey("acme", "job")).status is JobStatus.COMPLETED
