"""A deployment in memory and in virtual time, whose parts can be broken.

Its parts are the ticker, scans, queues, executors, the watch and the canary. Each runs the code of its function, in a
process with its own settings, clock and memory. The metrics are recorded as `basic` writes them. SQS's own metrics are
computed here, as SQS documents them.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, cast

from tests.drills.judge import MINUTE_MS, Series
from tests.engine.play import NOW
from tests.engine.skewed_clock import SkewedClock
from tests.simulation.world.queue import UnrulyQueue
from timeball.aws.sqs import UnreadableMessageError, parse_message
from timeball.domain.model.ids import JobKey, Shards
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.hours import UNKNOWN_TENANT
from timeball.engine.changes.canary import JOB_ID, begin_canary, canary_spec, note_canary
from timeball.engine.context import Context, Known, Rules
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Term
from timeball.engine.metrics import MEANINGS, Metric, refused, throttled
from timeball.engine.runs.watch import recheck, reconcile_messages
from timeball.engine.scanning.buckets import Sweeps, noting_ticks
from timeball.engine.scanning.eras import note_era
from timeball.engine.scanning.pulse import Pulse
from timeball.engine.scanning.scan import ScanResult, scan
from timeball.engine.tally import Tally
from timeball.ports.collections import LedgerQuery
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery, Inbox, Queue, Watch
from timeball.ports.target import Answer, Call
from timeball.ports.telemetry import Measurement
from timeball.targets.envelope import facts_of
from timeball.targets.http.verdict import answered
from timeball.testing.at_work import inline
from timeball.testing.faults import LIST_WRITES, each_port
from timeball.testing.memory_queue import handed_out
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

OPERATORS = "main"
CANARY = JobKey(OPERATORS, JOB_ID)

_FUNCTION = "arn:aws:lambda:eu-central-1:111122223333:function:Timeball-canary"
_EXECUTORS = 4
PARTITIONS = 2
_SHARDS = 4
_MOST_PARTITIONS = 4
_LIFE_MS = 900 * SECOND_MS
_LEAP_SECONDS = 25
"""How many ticks may be leaped over at once while nothing is due."""
_RECHECK_MS = 5 * SECOND_MS
_TRIES = 3
"""How many times AWS refuses a write while the table is throttled, before it accepts it."""


@dataclass
class Part:
    """A process: its name, its settings, how far its clock is wrong, and what it remembers."""

    name: str
    rules: Rules
    skew_ms: int = 0
    known: Known = field(default_factory=Known)
    sweeps: Sweeps = field(default_factory=Sweeps)
    pulse: Pulse = field(default_factory=Pulse)


@dataclass
class Broken:
    """What is broken now."""

    partitions: set[int] = field(default_factory=set)
    """The partitions without a tick."""
    executors: bool = False
    watch: bool = False
    canary: bool = False
    """Its function records nothing."""
    throttled: bool = False
    """The table refuses each write three times before it accepts it."""
    queues: bool = False
    """The queues do not answer."""
    refuses: Callable[[str, str, Sequence[Any]], bool] = lambda part, name, items: False  # noqa: ARG005
    """Whether a request of a part is refused, by the name of the request and the items that it is about."""
    status: Callable[[Call], int] = lambda _: 200
    """The answer of a target."""
    begins_late_ms: Callable[[Delivery], int] = lambda _: 0
    """How late an executor begins with a message."""
    strangers: bool = False
    """A request with an unknown key comes each second."""


class Deployment:
    """All parts of a deployment, and the series of its metrics."""

    def __init__(self, shards: int = _SHARDS, partitions: int = PARTITIONS, *, leaps: bool = False) -> None:
        self.clock = VirtualClock(NOW - NOW % MINUTE_MS)
        self.begun_at = self.clock.now()
        self.series, self.store, self.broken = Series(), MemoryStore(), Broken()
        self.rules = Rules(shards=shards, runs_per_message=1)
        self.partitions, self._leaps = partitions, leaps
        self.tally = Tally(self.clock, _Recorder(self))
        self.queue = _CountedQueue(self)
        self.unreadable: list[object] = []
        self.calls: list[tuple[int, Call]] = []
        self.refused_tries = 0
        self.takes_ms = 200
        self.scanners = [self.part(f"scan-{number}") for number in range(_MOST_PARTITIONS)]
        self.executors = [self.part(f"execute-{number}") for number in range(_EXECUTORS)]
        self.watcher, self.api, self.canary = self.part("watch"), self.part("api"), self.part("canary")
        self.batches: dict[asyncio.Task[Any], Part] = {}
        self._runner = self.clock.runner()
        self._tasks: list[asyncio.Task[None]] = []
        begin_canary(self.context(self.api), canary_spec(OPERATORS, 300, _FUNCTION))

    def part(self, name: str, rules: Rules | None = None) -> Part:
        """Return a new process."""
        return Part(name, rules or self.rules)

    def context(self, part: Part) -> Context:
        """Return the context of a process."""
        store = each_port(self.store, lambda one, called: _SeenPort(self, part, one, called))
        queue = cast("Queue", _SeenPort(self, part, self.queue, "queue."))
        return Context(store, queue, SkewedClock(self.clock, part.skew_ms), part.rules, self.tally, known=part.known)

    def submit(self, specs: Iterable[JobSpec]) -> None:
        """Store jobs; the scan does the rest."""
        now = self.clock.now()
        jobs = [new_job(one, now, Shards(self.rules.shards)) for one in specs]
        assert self.store.jobs.insert(jobs, now) == [None] * len(jobs)

    def run(self, minutes: float) -> None:
        """Let time pass."""
        self._runner.run(self._until(self.clock.now() + int(minutes * MINUTE_MS)))

    def close(self) -> None:
        """End all processes."""
        self._runner.close()

    def end_batches(self, share: int) -> int:
        """End each `share`-th batch of executors in the middle of its work; return how many."""
        ended = [task for number, task in enumerate(self.batches) if number % share == 0]
        for task in ended:
            task.cancel()
        return len(ended)

    def runs(self, job: JobKey) -> list[Run]:
        """Return the ledger of a job, oldest first."""
        page = self.store.runs.ledger(LedgerQuery(job, 10_000))
        return list(reversed(page.runs))

    def refuse(self, part: Part, name: str, items: Sequence[Any]) -> None:
        """Refuse a request, if it is broken. Raises UnavailableError."""
        if self.broken.refuses(part.name, name, items):
            raise UnavailableError(f"{name} is refused")
        if self.broken.throttled and name.rpartition(".")[2] in LIST_WRITES and not name.startswith("queue."):
            self.refused_tries += _TRIES * len(items)

    async def _until(self, at: int) -> None:
        if not self._tasks:
            loops = [*(self._tick(number) for number in range(len(self.scanners))), self._receive(), self._recheck()]
            self._tasks = [asyncio.create_task(loop) for loop in (*loops, self._measure_queues(), self._come())]
        await self.clock.sleep_until(at)
        for task in self._tasks:
            if task.done():
                task.result()

    async def _tick(self, partition: int) -> None:
        while True:
            now = self.clock.now()
            seconds = self._seconds_without_work(now) if self._leaps else 1
            await self.clock.sleep_until(now // SECOND_MS * SECOND_MS + seconds * SECOND_MS)
            if partition < self.partitions and partition not in self.broken.partitions:
                for _ in range(seconds - 1):  # the ticks that were leaped over
                    self.scanners[partition].pulse.took_ms.append(0)
                self._scan(partition)

    def _seconds_without_work(self, now: int) -> int:
        """Return how soon a scan may find something, or at most _LEAP_SECONDS."""
        due_at = min((due_at for _, _, due_at in self.store.waiting().values()), default=now + _LIFE_MS)
        return max(1, min((due_at - self.rules.lookahead_ms - now) // SECOND_MS, _LEAP_SECONDS))

    def _scan(self, partition: int) -> None:
        """Do what the scan's function does, and again while there is a backlog."""
        part = self.scanners[partition]
        context, done = self.context(part), ScanResult(backlog=True)
        owner = Owner(f"{self.clock.now() // MINUTE_MS}", "ticker")  # a new execution begins each minute
        while done.backlog:
            began_at = context.clock.now()
            try:
                note_era(context)
                with noting_ticks(part.sweeps, partition, owner):
                    done = scan(context, partition, owner, part.sweeps, self.partitions)
            except UnavailableError:
                return
            part.pulse.note(context, done, began_at, partition, self.partitions)
        throttled(context, self.refused_tries)
        self.refused_tries = 0

    async def _receive(self) -> None:
        """Hand each batch of messages that arrive to an executor, in turns."""
        number = 0
        while True:
            arrived = await self.queue.arrivals()
            if self.broken.executors or self.broken.queues:
                await self.clock.sleep_until(self.clock.now() + SECOND_MS)
                continue
            for priority in arrived:
                if deliveries := self.queue.receive(priority):
                    part = self.executors[number % len(self.executors)]
                    number += 1
                    task = asyncio.create_task(self._execute(part, priority, deliveries, f"{part.name}/{number}"))
                    self.batches[task] = part
                    task.add_done_callback(self._end_batch)

    def _end_batch(self, task: "asyncio.Task[Any]") -> None:
        del self.batches[task]
        if not task.cancelled():
            task.result()

    async def _execute(self, part: Part, priority: str, deliveries: Sequence[Delivery], owner: str) -> None:
        context = self.context(part)
        if late_ms := max(map(self.broken.begins_late_ms, deliveries)):
            await self.clock.sleep_until(self.clock.now() + late_ms)
        inbox = cast("Inbox", _SeenPort(self, part, self.queue.inbox(priority), "inbox."))
        term = Term(context.clock.now() + _LIFE_MS)
        work = execute(context, inbox, _Targets(self, context), deliveries, owner, inline, term)
        await handed_out(inbox, deliveries, work)

    async def _recheck(self) -> None:
        """Do what the watch's function does."""
        while True:
            await self.clock.sleep_until(self.clock.now() + _RECHECK_MS)
            if self.broken.watch or self.broken.queues:
                continue
            with suppress(UnavailableError):  # the messages come again
                self._recheck_due(self.context(self.watcher))

    def _recheck_due(self, context: Context) -> None:
        due = self.queue.due_watches()
        for watch, is_gone in zip(due, recheck(context, due), strict=True):
            if is_gone:
                self.queue.watches.remove(watch)
                self.series.record("Watch.NumberOfMessagesDeleted", self.clock.now(), 1)
        dead = list(self.queue.dead)
        for run, is_gone in zip(dead, reconcile_messages(context, dead), strict=True):
            if is_gone:
                self.queue.dead.remove(run)

    async def _measure_queues(self) -> None:
        """Record what SQS reports each minute of a queue that is in use, zeros too."""
        while True:
            now = self.clock.now()
            self.series.record("Watch.NumberOfMessagesSent", now, 0)
            self.series.record("Watch.NumberOfMessagesDeleted", now, 0)
            self.series.record("Unreadable.ApproximateNumberOfMessagesVisible", now, len(self.unreadable))
            await self.clock.sleep_until(now + MINUTE_MS)

    async def _come(self) -> None:
        """Let strangers come."""
        while True:
            await self.clock.sleep_until(self.clock.now() + (SECOND_MS if self.broken.strangers else MINUTE_MS))
            if self.broken.strangers:
                refused(self.context(self.api), UNKNOWN_TENANT, "unknown")

    def keep_unreadable(self, body: str) -> None:
        """Do what the executor's function does with a message that it cannot read."""
        try:
            parse_message({"messageId": "1", "receiptHandle": "1", "body": body})
        except UnreadableMessageError:
            self.unreadable.append(body)


@dataclass(frozen=True)
class _Recorder:
    """Telemetry that records the values of metrics as `basic` writes them."""

    deployment: Deployment

    def note(self, events: Sequence[Measurement]) -> None:
        record_basic(self.deployment.series, self.deployment.clock.now(), events)


def record_basic(series: Series, at: int, events: Sequence[Measurement]) -> None:
    """Record the values of the metrics that `basic` writes, at an instant (ms)."""
    for event in events:
        if event.watched and MEANINGS[Metric(event.name)].is_basic:
            series.record(event.name, at, event.value)


class _SeenPort:
    """A port as a process sees it, which may be refused."""

    def __init__(self, deployment: Deployment, part: Part, port: object, called: str) -> None:
        self._deployment, self._part, self._port, self._called = deployment, part, port, called

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)

        def request(*arguments: Any, **named: Any) -> object:
            first = arguments[0] if arguments else ()
            items = first if isinstance(first, Sequence) else (first,)
            if items:  # an empty list makes no request
                self._deployment.refuse(self._part, self._called + name, items)
            return method(*arguments, **named)

        self.__dict__[name] = request
        return request


class _CountedQueue(UnrulyQueue):
    """Queues that behave well, count the watches that are sent, and may be out of reach."""

    def __init__(self, deployment: Deployment) -> None:
        rules = deployment.rules
        super().__init__(deployment.clock, Random(0), rules.lead, rules.runs_per_message)
        self.unruly, self._deployment = False, deployment

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        return [False] * len(runs) if self._deployment.broken.queues else super().send(runs, now)

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        deployment = self._deployment
        if deployment.broken.queues:
            return [False] * len(watches)
        if watches:
            deployment.series.record("Watch.NumberOfMessagesSent", deployment.clock.now(), len(watches))
        return super().watch(watches)


@dataclass(frozen=True)
class _Targets:
    """All targets, and the canary's function among them, as one executor calls them."""

    deployment: Deployment
    context: Context

    async def prepare(self, call: Call) -> None:
        """Fetch nothing."""

    async def call(self, call: Call) -> Answer:
        """Call a target once."""
        deployment, clock = self.deployment, self.context.clock
        called_at = clock.now()
        deployment.calls.append((deployment.clock.now(), call))
        if call.run.job == CANARY and not deployment.broken.canary:
            note_canary(deployment.context(deployment.canary), OPERATORS, facts_of(call))
        status = deployment.broken.status(call)
        await clock.sleep_until(called_at + deployment.takes_ms)
        return answered(call, called_at, clock.now(), status)


def replaced(part: Part, rules: Rules | None = None) -> Part:
    """Return the process that follows another one, perhaps with other settings. It remembers nothing."""
    return replace(Part(part.name, rules or part.rules), skew_ms=part.skew_ms)
