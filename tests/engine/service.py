"""Timeball at work on a virtual clock: scans each whole second, parallel executors, and reconciled messages.

`until` lets it work. Between two calls of `until` a test performs user actions and failures.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from tests.engine.play import NOW, WORK, NotingCaller, Play, inline, spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, Priority, with_spec
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Schedule, Timing
from timeball.engine.changes.change import Changed, revise
from timeball.engine.execution.execute import execute
from timeball.engine.runs.watch import reconcile_messages
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.target import Answer, Call
from timeball.testing.faults import Points
from timeball.testing.memory_queue import handed_out
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
    """Scans and executors over a play, each of which can be switched off; and the watch, if wanted."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.target = Target(play.clock, executions=play.executions)
        self.is_scanning = self.is_executing = True
        self.is_watching = False
        self._runner = play.clock.runner()
        self._executors: set[asyncio.Task[object]] = set()
        self._sweeps = Sweeps()
        self._scanned_at = 0
        self._invocations = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._runner.close()

    def until(self, at: int) -> None:
        """Work until an instant."""
        self._runner.run(self._work(at))

    def kill_executors(self) -> None:
        """End all executors in the middle of their work: they write nothing more, and their messages come again."""
        for executor in self._executors:
            executor.cancel()

    async def _work(self, until: int) -> None:
        clock = self.play.clock
        while True:
            if self.is_scanning and clock.now() // SECOND_MS > self._scanned_at and clock.now() >= self._next_scan_at():
                self._scanned_at = clock.now() // SECOND_MS
                while scan(self.play.context(), 0, Owner("2026", "a"), self._sweeps).backlog:
                    pass
            self._hand_out()
            await asyncio.sleep(0)
            if clock.now() >= until:
                return
            await clock.sleep_until(min(self._next_moment(), until))

    def _hand_out(self) -> None:
        """Start an executor for each batch of messages that can be received."""
        for priority in Priority if self.is_executing else ():
            while deliveries := self.play.queue.receive(priority):
                self._invocations += 1
                owner, inbox = f"executor-{self._invocations}", self.play.queue.inbox(priority)
                work = execute(self.play.context(), inbox, self.target, deliveries, owner, inline)
                handing_out = handed_out(inbox, deliveries, work)
                task: asyncio.Task[object] = asyncio.get_running_loop().create_task(handing_out)
                self._executors.add(task)
                task.add_done_callback(self._executors.discard)
        if self.is_watching:
            self.play.watch()
        if self.play.queue.dead:
            assert all(reconcile_messages(self.play.context(), self.play.queue.dead))
            self.play.queue.dead = []

    def _next_moment(self) -> int:
        now = self.play.clock.now()
        moments = [now + SECOND_MS - now % SECOND_MS] if self._executors else []
        if self.is_scanning:
            moments.append(max(self._next_scan_at(), (self._scanned_at + 1) * SECOND_MS))
        if self.is_executing:
            moments += [seen_at for priority in Priority for _, seen_at in self.play.queue.waiting(priority)]
        if self.is_watching:
            moments += [watch.at for watch in self.play.queue.watches]
        return max(min(moments, default=now + 3600 * SECOND_MS), now + 1)

    def _next_scan_at(self) -> int:
        """Return the first whole second at which a scan has work: an earlier scan would find nothing."""
        assert isinstance(self.play.store, MemoryStore)
        due_at = min((at for _, _, at in self.play.store.waiting().values()), default=None)
        if due_at is None:
            return self.play.clock.now() + 3600 * SECOND_MS
        return -(-(due_at - self.play.rules.lookahead_ms) // SECOND_MS) * SECOND_MS


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
