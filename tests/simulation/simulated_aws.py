"""The world of a simulation: a store whose index lags, a queue that doubles and disorders, a target that notes calls.

The store keeps a history of all that is written to it, so that a checker can tell who did what when.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any
from zlib import crc32

from tests.simulation.history import History, Write
from tests.simulation.process import Process, acting
from tests.urls import url_of
from timeball.domain.backfills.backfill import Backfill
from timeball.domain.model.calendar import Calendar
from timeball.domain.model.flow import Named
from timeball.domain.model.freeze import Freezes
from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.run import Run
from timeball.domain.model.task import Task
from timeball.domain.operations.operation import Operation
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.runs.naming import Naming, name_items
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.runs import LedgerPage, LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.registers.due_index import DuePage, DueQuery, Owned
from timeball.ports.target import Answer, Call
from timeball.targets.answers import unanswered
from timeball.targets.http.verdict import ACCEPTED, answered
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_queue import MAX_RECEIVES, MemoryQueue
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONGEST_LAG_MS = 10 * SECOND_MS

_READING_MS = 2_000
"""How long a page of the listing is read, which is of many partitions."""

HOSTS = ("one.example", "two.example", "three.example")
"""Hosts of targets that answer at once; each of them may be down for a while."""

REFUSED = 404
"""How a target answers that wants no other try."""

REPORTS_LATER = "https://later.example/hook"
"""A target that mostly answers 202, and reports later: sometimes before its 202 has been seen."""


class LaggingMemory(Memory):
    """A memory that notes each write, and whose due index follows by up to ten seconds, key by key in order."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self.lags = True
        self.history = History()
        self.live: dict[RunId, Run] = {}
        self.moving: dict[JobKey, int] = {}
        self.clock, self._random = clock, random
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._last_seen: dict[Owned, int] = {}
        self._order = count()

    def catch_up(self) -> None:
        """Let the index show what has reached it by now."""
        now = self.clock.now()
        while self._coming and self._coming[0][0] <= now:
            heappop(self._coming)[2]()

    def written(self, key: Any, before: Any, after: object, now: int) -> None:
        """Note who wrote what, and let the index follow."""
        super().written(key, before, after, now)
        at, by = self.clock.now(), _writer()
        self.history.named += [(at, before, after)] if isinstance(after, Named) else []
        if isinstance(after, Job):
            self.history.note_job(Write(at, by, before, after))
            if before is not None and before.status is not after.status:
                self.moving[after.key] = at
        elif isinstance(after, Task) and isinstance(key, TaskKey):
            self.history.note_task(Write(at, by, before, after))
        elif isinstance(after, Backfill):
            self.history.backfills.append(Write(at, by, before, after))
        elif isinstance(after, Freezes):
            self.history.note_freezes(at, after)
        elif isinstance(after, Calendar):
            self.history.calendars[after.key].append((at, after))
        elif isinstance(after, Operation):
            self.history.operations.append(Write(at, by, before, after))
        elif isinstance(after, Run):
            self.history.note_run(Write(at, by, before, after))
            self.live.pop(after.id, None)
            if not after.is_terminal:
                self.live[after.id] = after

    def index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Let a row stand in the due index after a while."""
        lag_ms = self._random.choice((0, 0, 0, 50, 50, LONGEST_LAG_MS)) if self.lags else 0
        seen_at = max(self.clock.now() + lag_ms, self._last_seen.get(key, 0))
        self._last_seen[key] = seen_at
        index = super().index
        heappush(self._coming, (seen_at, next(self._order), lambda: index(key, due_at, shard, now)))


class LaggingIndex(MemoryDueIndex):
    """A due index that answers from what has reached it; with its first question a scan begins."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        assert isinstance(memory, LaggingMemory)
        self._lagging = memory

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        if queries and not any(query.after for query in queries):
            self._lagging.history.note_scan(_writer())
        self._lagging.catch_up()
        return super().query(queries)


class LaggingJobs(MemoryJobs):
    """Jobs whose listing is read partition by partition: one that moves meanwhile is in neither."""

    def listed(self, statuses: Sequence[JobStatus], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Leave out, once, whatever has just moved from one status to another."""
        assert isinstance(self._memory, LaggingMemory)
        moving, now = self._memory.moving, self._memory.clock.now()
        named = super().listed(statuses, query)
        missed = {key for _, key in named if self._memory.lags and now - moving.get(key, -LATEST) <= _READING_MS}
        for key in missed:
            del moving[key]
        return [one for one in named if one[1] not in missed]


class NotedRuns(MemoryRuns):
    """Runs of which it is noted who looks into a job's ledger."""

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, and note who asks for it."""
        assert isinstance(self._memory, LaggingMemory)
        looks = self._memory.history.looks[_writer(), query.job, query.from_at]
        looks.append((self._memory.clock.now(), query.to_at or LATEST))
        return super().ledger(query)


class LaggingStore(MemoryStore):
    """A store whose due index lags; its `past` is all that was written to it."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        self.past = LaggingMemory(clock, random)
        super().__init__(self.past, jobs=LaggingJobs, runs=NotedRuns, due=LaggingIndex)

    @property
    def history(self) -> History:
        return self.past.history


def _writer() -> str:
    process = acting()
    return "nobody" if process is None else process.name


@dataclass(frozen=True)
class Deletion:
    """A message of a run was deleted at a true time (ms), by the process of that name; `others` were left."""

    at: int
    by: str
    run: RunId
    others: int


class UnrulyQueue(MemoryQueue):
    """A queue that now and then delivers a message twice, late, out of order, or gives up on it.

    `uncarried` is the share of runs whose messages it gives up each time.
    """

    def __init__(self, clock: VirtualClock, random: Random, lead_ms: int, runs_per_message: int) -> None:
        super().__init__(clock.now, lead_ms, runs_per_message)
        self.unruly = True
        self.uncarried = 0.0
        self._uncarried: set[RunId] = set()
        self._purged: set[RunId] = set()
        self._clock, self._random = clock, random
        self.deletions: list[Deletion] = []
        self._watches: list[tuple[int, asyncio.Future[None]]] = []

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        """Send each, some twice."""
        if self.unruly and self.uncarried:
            self._uncarried |= {one.id for one in runs if self._random.random() < self.uncarried}
        doubled = [one for one in runs if self.unruly and self._random.random() < 0.1]
        super().send(doubled, now)
        sent = super().send(runs, now)
        if sent:
            self._wake(self._clock.now())
        return sent

    def receive(self, priority: str, limit: int = 10, visibility_seconds: int = 900) -> list[Delivery]:
        """Deliver some of what is visible, in any order."""
        if self.unruly:
            messages = self._messages.get(priority, [])
            self._random.shuffle(messages)
            limit = self._random.randrange(1, limit + 1)
            for message in messages:
                given_up = not self._uncarried.isdisjoint(message.runs) or self._random.random() < 0.02
                if given_up and message.visible_at <= self._clock.now():
                    message.receives = MAX_RECEIVES
        return super().receive(priority, limit, visibility_seconds)

    def hide_one(self, priority: str, receipt: str, seconds: int) -> None:
        """Set from when a received message is seen again."""
        super().hide_one(priority, receipt, seconds)
        self._wake(self._clock.now() + seconds * SECOND_MS)

    def delete_one(self, priority: str, receipt: str) -> None:
        """Remove a received message, and note what is left of its run."""
        message = self.newest(receipt)
        super().delete_one(priority, receipt)
        if message is not None:
            for run in message.runs:
                others = sum(run in one.runs for one in self._messages.get(priority, ())) + self.dead.count(run)
                if run not in self._purged:  # otherwise the one that it relied on may be gone
                    self.deletions.append(Deletion(self._clock.now(), _writer(), run, others))

    def purge(self) -> None:
        """Lose all messages to executors."""
        self._purged |= {run for messages in self._messages.values() for message in messages for run in message.runs}
        super().purge()

    async def arrivals(self) -> list[str]:
        """Return the priorities of which a message may be received, as soon as there is one."""
        while True:
            now = self._clock.now()
            first = {name: min(one.visible_at for one in queue) for name, queue in self._messages.items() if queue}
            arrived = [name for name, visible_at in first.items() if visible_at <= now]
            if arrived:
                return arrived
            visible_at = min(first.values(), default=LATEST)
            watch = self._clock.alarm(visible_at)
            self._watches.append((visible_at, watch))
            await watch

    def _wake(self, at: int) -> None:
        """Let those look again who wait for a later instant."""
        for watched_at, watch in self._watches:
            if watched_at > at and not watch.done():
                watch.set_result(None)
        self._watches = [one for one in self._watches if not one[1].done()]


WEAVERS = "weaver"
"""Whose jobs depend on each other."""


@dataclass(frozen=True)
class Arrival:
    """A call as the target saw it (true time, ms)."""

    at: int
    run: RunId
    attempt: int
    payload: str | None
    url: str


@dataclass
class Receiver:
    """All targets: what arrived, in order. What is slow is slow at each attempt."""

    clock: VirtualClock
    random: Random
    arrivals: list[Arrival] = field(default_factory=list)
    statuses: tuple[int, ...] = (200, 200, 200, 200, 500, REFUSED)
    takes_ms: tuple[int, ...] = (10, 200, 200, 200, 3_000, 3_000, 25_000, 45_000)
    accepted: "asyncio.Queue[tuple[RunId, int]]" = field(default_factory=asyncio.Queue)
    down_until: dict[str, int] = field(default_factory=dict)
    named: list[tuple[RunId, int, tuple[str, ...]]] = field(default_factory=list)
    _taken_ms: dict[RunId, int] = field(default_factory=dict)

    def answer_of(self, call: Call) -> tuple[int, int]:
        """Note a call; return its status and how long the answer takes."""
        url = url_of(call.work.target)
        self.arrivals.append(Arrival(self.clock.now(), call.run, call.attempt, call.work.payload, url))
        if self.down_until and self.down_until.get(url.split("/")[2], 0) > self.clock.now():
            return 503, 10
        takes_ms = self._taken_ms.setdefault(call.run, self.random.choice(self.takes_ms))
        if url.startswith(REPORTS_LATER) and self.random.random() < 0.8:
            self.accepted.put_nowait((call.run, call.attempt))
            return ACCEPTED, min(takes_ms, 3_000)
        return self.random.choice(self.statuses), min(takes_ms, max(self.takes_ms))

    def calls(self) -> dict[RunId, list[Arrival]]:
        """Return what arrived of each run."""
        calls: dict[RunId, list[Arrival]] = {}
        for arrival in self.arrivals:
            calls.setdefault(arrival.run, []).append(arrival)
        return calls


@dataclass(frozen=True)
class SimulatedCaller:
    """The caller of one process: the call leaves at once, the answer reaches the process when it is not frozen."""

    receiver: Receiver
    process: Process
    context: Context
    """What the targets see that name items."""

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        process = self.process
        await process.thaw()
        called_at = process.now()
        status, takes_ms = self.receiver.answer_of(call)
        process.trace(f"{process.name} calls {call.run} attempt {call.attempt}: {status} in {takes_ms} ms")
        if call.run.job.tenant == WEAVERS:
            await self._name_items(call)
        limit_ms = int(call.timeout_seconds * SECOND_MS)
        await process.sleep_until(called_at + min(takes_ms, limit_ms))
        if takes_ms > limit_ms:
            return unanswered(call, called_at, process.now(), "It took too long.", timed_out=True)
        return answered(call, called_at, process.now(), status, _named_in_answer(call))

    async def _name_items(self, call: Call) -> None:
        """Name items before the answer, as some targets do; some say it twice, or several times something else."""
        draw = Random(f"the items of {call.run} {call.attempt}")
        counts = {"a": draw.choice((1, 1, 2, 2, 2, 3, 3, 3, 5, 120)), "b": 3}
        for request in draw.choice(([], [], ["a"], ["a", "a"], ["a", "b", "a"])):
            count = counts[request]
            items = tuple(f'"{request} {call.attempt} {number}"' for number in range(count))
            asked = Naming(call.run, call.attempt, items, request, request)
            try:
                answers = await self.process.run(name_items, self.context, [asked])
            except UnavailableError:
                continue
            if answers[0][0] is None:
                self.receiver.named.append((call.run, call.attempt, items))


def _named_in_answer(call: Call) -> str:
    """Return an answer that names up to three items, if the job belongs to those who weave graphs."""
    if call.run.job.tenant != WEAVERS:
        return ""
    count = crc32(f"{call.run} {call.attempt}".encode()) % 4
    return json.dumps({"fanOut": [f"answered {call.attempt} {number}" for number in range(count)]})
