"""Timeball at work on a virtual clock, with a target that notes its calls.

`until` lets it work. Between two calls of `until` a test performs user actions and failures.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from tests.engine.play import NOW, WORK, NotingCaller, Play, spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, with_spec
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Schedule, Timing
from timeball.engine.changes.change import Changed, revise
from timeball.ports.target import Answer, Call
from timeball.testing.at_work import AtWork
from timeball.testing.faults import Points
from timeball.testing.memory_store import MemoryStore

KEY = JobKey("acme", "job")
"""The job of a test that has one job."""


@dataclass
class Visit:
    """A call as its target saw it: from when to when it was in flight, however it ended."""

    run: RunId
    attempt: int
    from_at: int
    to_at: int


@dataclass
class Target(NotingCaller):
    """A target whose calls take as long as the test says."""

    takes: Callable[[Call], int] = lambda _: 0
    visits: list[Visit] = field(default_factory=list)

    async def call(self, call: Call) -> Answer:
        visit = Visit(call.run, call.attempt, self.clock.now(), self.clock.now())
        self.visits.append(visit)
        self.takes_ms = self.takes(call)
        try:
            return await super().call(call)
        finally:
            visit.to_at = self.clock.now()


class Service:
    """The engine at work over a play, with a target that notes its calls."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.target = Target(play.clock, executions=play.executions)
        assert isinstance(play.store, MemoryStore)
        self.engine = AtWork(play.context, play.store, play.queue, play.clock, lambda: self.target)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.engine.close()

    def until(self, at: int) -> None:
        """Work until an instant."""
        self.engine.until(at)

    def kill_executors(self) -> None:
        """End all executors in the middle of their work: they write nothing more, and their messages come again."""
        self.engine.kill_executors()


def at(seconds: float) -> int:
    """Return the instant this many seconds after NOW."""
    return NOW + int(seconds * SECOND_MS)


def locked(overlap: OverlapPolicy, timing: Timing | Schedule, name: str = "job") -> JobSpec:
    """Return a job with an overlap policy."""
    return replace(spec(name, timing), overlap=overlap)


def begin(service: Service, overlap: OverlapPolicy, timing: Timing | Schedule, takes_seconds: float) -> Job:
    """Store a job with an overlap policy, whose calls take this long."""
    (job,) = service.play.store_jobs([locked(overlap, timing)])
    service.target.takes = lambda _: int(takes_seconds * SECOND_MS)
    return job


def ledger(play: Play) -> dict[float, tuple[str, str | None]]:
    """Return state and reason of each row of the schedule, by seconds from NOW, except for future fires.

    A range stands at its first fire. A future row that has already ended is included.
    """
    return {
        (run.id.fire_at - NOW) / SECOND_MS: (run.state.value, run.reason and run.reason.value)
        for run in play.runs(KEY)
        if run.id.origin is Origin.SCHEDULE and (run.is_terminal or run.id.fire_at <= play.clock.now())
    }


def visits(service: Service) -> list[tuple[float, float, float]]:
    """Return fire time, begin and end of each call, in seconds from NOW."""
    return [
        ((one.run.fire_at - NOW) / SECOND_MS, (one.from_at - NOW) / SECOND_MS, (one.to_at - NOW) / SECOND_MS)
        for one in service.target.visits
    ]


def assert_calls_do_not_overlap(service: Service) -> None:
    """Assert that each call began after the one before it was over."""
    ends_at = 0.0
    for fire, from_at, to_at in visits(service):
        assert from_at >= ends_at, fire
        ends_at = to_at


def assert_guard_is_free(play: Play) -> None:
    """Assert that no run holds the job's overlap lock, or waits for it."""
    job = play.job(KEY)
    assert (job.holder, job.next_holder) == (None, None)


def calls(service: Service) -> list[tuple[float, float]]:
    """Return fire time and moment of each call, in seconds from NOW."""
    return [((call.run.fire_at - NOW) / SECOND_MS, (called - NOW) / SECOND_MS) for called, call in service.target.calls]


def reschedule(play: Play, timing: Timing | Schedule, points: Points | None = None) -> Changed:
    """Give the job another schedule, and keep its other fields."""
    job = with_spec(play.job(KEY), work=WORK)
    wanted = replace(
        spec("job", timing),
        catch_up=job.spec.catch_up,
        overlap=job.spec.overlap,
        jitter_seconds=job.spec.jitter_seconds,
    )
    (changed,) = revise(play.context(points), [(job, wanted)])
    return changed
