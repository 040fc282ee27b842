"""The world of a simulation: a store whose index lags, a queue that doubles and disorders, a target that notes calls.

The store keeps every version of every job, so that a checker can tell which schedule was in force when.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

from tests.simulation.process import Process
from timeball.domain.ids import RunId
from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job
from timeball.ports import Answer, Call, Delivery, Dispatch, DuePage, DueQuery, Owned, Swap, Swapped
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONGEST_LAG_MS = 10 * SECOND_MS


class LaggingStore(MemoryStore):
    """A store whose due index follows its rows by up to ten seconds, key by key in order."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self.lags = True
        self.history: list[Job] = []
        self._clock, self._random = clock, random
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._last_seen: dict[Owned, int] = {}
        self._order = count()

    def due(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer from what has reached the index."""
        now = self._clock.now()
        while self._coming and self._coming[0][0] <= now:
            heappop(self._coming)[2]()
        return super().due(queries)

    def create_jobs(self, jobs: Sequence[Job], now: int) -> list[Job | None]:
        """Create, and keep each first version."""
        standing = super().create_jobs(jobs, now)
        self.history += [job for job, found in zip(jobs, standing, strict=True) if found is None]
        return standing

    def swap_jobs(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Swap, and keep each version."""
        answers = super().swap_jobs(swaps, now)
        self.history += [answer.row for answer in answers if answer.done and answer.row is not None]
        return answers

    def _index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        true_now = self._clock.now()
        lag_ms = self._random.choice((0, 0, 0, 50, 50, LONGEST_LAG_MS)) if self.lags else 0
        seen_at = max(true_now + lag_ms, self._last_seen.get(key, 0))
        self._last_seen[key] = seen_at
        index = super()._index
        heappush(self._coming, (seen_at, next(self._order), lambda: index(key, due_at, shard, now)))


class UnrulyQueue(MemoryQueue):
    """A queue that now and then delivers a message twice, late, or out of order."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__(clock.now)
        self.unruly = True
        self._clock, self._random = clock, random

    def send(self, dispatches: Sequence[Dispatch], now: int) -> list[bool]:
        """Send each, some twice."""
        doubled = [one for one in dispatches if self.unruly and self._random.random() < 0.1]
        super().send(doubled, now)
        return super().send(dispatches, now)

    def receive(self, priority: str, limit: int = 10, visibility_seconds: int = 900) -> list[Delivery]:
        """Deliver some of what is visible, in any order."""
        if self.unruly:
            self._random.shuffle(self._messages.get(priority, []))
            limit = self._random.randrange(1, limit + 1)
        return super().receive(priority, limit, visibility_seconds)


@dataclass(frozen=True)
class Arrival:
    """A call as the target saw it (true time, ms)."""

    at: int
    run: RunId
    attempt: int
    payload: str | None


@dataclass
class Receiver:
    """All targets: what arrived, in order."""

    clock: VirtualClock
    random: Random
    arrivals: list[Arrival] = field(default_factory=list)
    statuses: tuple[int, ...] = (200, 200, 200, 200, 500, 404)

    def answer_of(self, call: Call) -> tuple[int, int]:
        """Note a call; return its status and how long the answer takes."""
        self.arrivals.append(Arrival(self.clock.now(), call.run, call.attempt, call.work.payload))
        takes_ms = self.random.choice((10, 200, 200, 3_000, 25_000))
        return self.random.choice(self.statuses), takes_ms


@dataclass(frozen=True)
class SimulatedCaller:
    """The caller of one process: the call leaves at once, the answer reaches the process when it is not frozen."""

    receiver: Receiver
    process: Process

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        process = self.process
        await process.thaw()
        called_at = process.now()
        status, takes_ms = self.receiver.answer_of(call)
        process.trace(f"{process.name} calls {call.run} attempt {call.attempt}: {status} in {takes_ms} ms")
        limit_ms = int(call.timeout_seconds * SECOND_MS)
        await process.sleep_until(called_at + min(takes_ms, limit_ms))
        if takes_ms > limit_ms:
            return Answer(called_at, process.now(), error="It took too long.", timed_out=True)
        return Answer(called_at, process.now(), status)
