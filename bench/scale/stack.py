"""A deployment in virtual time: the real scan and the real executor, called as by the ticker and the queues.

Shared-nothing parts may be simulated alone: some of the partitions with their shards, and the same fraction of the
executors and of what AWS gives the table and a mapping. Nothing crashes here; the stories of the simulation do that.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from bench.scale.deployment import Deployment, table_of
from bench.scale.limits import (
    INVOKE,
    MAKE_ENVIRONMENT_MS,
    NEW_ENVIRONMENTS_A_SECOND,
    NEW_ENVIRONMENTS_AT_ONCE,
    POLL,
    START_CPU_MS,
    TARGET,
    Times,
)
from bench.scale.machine import Machine, World
from bench.scale.queues import Line, Lines
from bench.scale.queues import Mapping as QueueMapping
from bench.scale.trace import Trace
from bench.scale.units import Tokens
from timeball.domain.sharing.executors import PollerBounds
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import Term
from timeball.engine.scanning.buckets import Older, Sweeps
from timeball.engine.scanning.pollers import PollerOutlook, look_ahead
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer, Call
from timeball.targets.http.verdict import answered
from timeball.testing.memory_queue import handed_out
from timeball.testing.memory_store import MemoryStore
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

_LOOK_EVERY_MS = 20
_SCAN_ITEMS, _EXECUTE_ITEMS = 4, 7
"""Items that a run is in the calls of a scan and of an executor; its measured processor time is divided among them.

A scan reads, inserts, sends and swaps; an executor hides, reads run and job, claims, calls, finishes and deletes.
"""
_SERIES = ("sent", "called", "at once", "waiting", "scanning")
_LIVES_MS = 880 * SECOND_MS


@dataclass(frozen=True)
class _Caller:
    """The target of one machine: a call first costs processor time."""

    machine: Machine
    trace: Trace

    async def prepare(self, call: Call) -> None:
        """Do nothing."""

    async def call(self, call: Call) -> Answer:
        """Call once."""
        self.trace.note("claimed", [call.run], self.machine.now())
        await self.machine.sleep_until(self.machine.worked(1))
        called_at = self.machine.now()
        self.trace.called(call.run, called_at)
        await self.machine.sleep_until(called_at + math.ceil(TARGET.draw(self.machine.world.random)))
        return answered(call, called_at, self.machine.now(), 200)


@dataclass(frozen=True)
class _Raised:
    """The pollers of mappings, as the scan raises them."""

    mappings: Mapping[str, QueueMapping]
    pollers: dict[str, int]
    clock: VirtualClock

    def ready(self) -> Mapping[str, int]:
        """Return how many pollers are kept ready."""
        return dict(self.pollers)

    def make_ready(self, priority: str, pollers: int) -> None:
        """Keep so many pollers ready."""
        self.pollers[priority] = pollers
        self.mappings[priority].make_ready(pollers, self.clock.now())


@dataclass
class _Environment:
    machine: Machine
    context: Context


class Stack:
    """A deployment at work. `series` has the events of each second: for "at once" the most, otherwise the sum."""

    def __init__(self, deployment: Deployment, at: int, seed: int = 1) -> None:
        self.deployment, self.settings = deployment, deployment.settings
        settings, parts = self.settings, deployment.parts
        rules = settings.functions.rules
        if settings.partitions % parts or rules.shards % settings.partitions:
            raise ValueError("a part of a stack must have whole partitions, each with as many shards")
        self.part = 1 / parts
        self.partitions = settings.partitions // parts
        self.rules = replace(rules, shards=rules.shards // parts)
        table = table_of(deployment)
        self.clock = VirtualClock(at)
        self.world = World(self.clock, Random(seed), table, rules.runs_per_message)
        self.store = MemoryStore()
        self.trace = Trace()
        self.lines = Lines(self.clock, self.trace, rules.lead, rules.runs_per_message)
        self.series: dict[str, Counter[int]] = {name: Counter() for name in _SERIES}
        self.cold_starts = 0
        self.at_once = 0
        self._mappings: dict[str, QueueMapping] = {}
        self._idle: dict[str, list[_Environment]] = {}
        self._new = {
            name: Tokens(NEW_ENVIRONMENTS_A_SECOND * self.part, NEW_ENVIRONMENTS_AT_ONCE * self.part)
            for name in settings.executors
        }
        least = {name: pollers[0] for name, pollers in settings.pollers_of.items()}
        self._outlook, self.raised = PollerOutlook(), _Raised(self._mappings, least, self.clock)
        self._invocations = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def most_at_once(self) -> int:
        """Return the most executors that worked at once in the whole deployment."""
        return round(max(self.series["at once"].values(), default=0) / self.part)

    async def work(self) -> None:
        """Tick and hand out messages, forever."""
        settings = self.settings
        for priority, most in settings.executors.items():
            mapping = self._mappings[priority] = QueueMapping(most, self.part, settings.pollers_of.get(priority))
            self._idle[priority] = []
            if self.deployment.is_warm:
                mapping.warm()
                self._idle[priority] = [self._environment(priority) for _ in range(int(mapping.level))]
        await asyncio.gather(
            *(self._tick(partition) for partition in range(self.partitions)),
            *(self._feed(priority, mapping) for priority, mapping in self._mappings.items()),
        )

    def _environment(self, name: str) -> _Environment:
        megabytes = self.settings.functions.execute_memory_mb
        return self._made(Machine(self.world, name, megabytes, self.deployment.cpu.execute_ms / _EXECUTE_ITEMS))

    def _made(self, machine: Machine) -> _Environment:
        store, lines = machine.sees(self.store), machine.sees(self.lines)
        context = Context(store, lines, machine, self.rules, KeptTelemetry())
        return _Environment(machine, replace(context, side_by_side=machine.process.side_by_side))

    async def _tick(self, partition: int) -> None:
        """Scan on each whole second, and at once again while there is a backlog (`infra/tick.asl.json`)."""
        machine = Machine(self.world, "scan", self.settings.scan_memory_mb, self.deployment.cpu.scan_ms / _SCAN_ITEMS)
        shards = range(partition, self.rules.shards, self.partitions)
        older = {shard: Older(2**60, 2**60, 2**60) for shard in shards}
        one, sweeps = self._made(machine), Sweeps(older=older, shards=self.rules.shards, shards_read_at=2**60)
        while True:
            await self.clock.sleep_until((self.clock.now() // SECOND_MS + 1) * SECOND_MS)
            has_backlog = True
            while has_backlog:
                await self._pass(INVOKE)
                begun_at = self.clock.now()
                try:
                    done = await machine.run(
                        scan, one.context, partition, Owner("2026", "a"), sweeps, partitions=self.partitions
                    )
                    has_backlog = done.backlog
                    self.series["sent"][begun_at // SECOND_MS] += done.sent
                except UnavailableError:
                    has_backlog = False
                if partition == 0 and not has_backlog:
                    await machine.run(self._look_ahead, one.context)
                self._note_scanning(begun_at)
                self._called(machine, begun_at)

    def _look_ahead(self, context: Context) -> None:
        """Raise pollers, if the settings say so; the look-ahead samples one of the whole deployment's shards."""
        settings = self.settings
        bounds = {name: PollerBounds(settings.pollers_of[name][0], most) for name, most in settings.raised_of.items()}
        if bounds:
            look_ahead(replace(context, rules=settings.functions.rules), self._outlook, self.raised, bounds)

    def _note_scanning(self, begun_at: int) -> None:
        """Record for how long of each second the scan ran."""
        at, now = begun_at, self.clock.now()
        while at < now:
            until = min(now, (at // SECOND_MS + 1) * SECOND_MS)
            self.series["scanning"][at // SECOND_MS] += until - at
            at = until

    async def _feed(self, priority: str, mapping: QueueMapping) -> None:
        line = self.lines.of[priority]
        while True:
            await self.clock.sleep_until(self.clock.now() + _LOOK_EVERY_MS)
            waiting, now = line.visible(), self.clock.now()
            for _ in range(mapping.begins(waiting, now)):
                self._begin(self._hand_out(priority, line, mapping))
                mapping.under_way += 1
            waits = self.series["waiting"]
            waits[now // SECOND_MS] = max(waits[now // SECOND_MS], waiting)

    def _begin(self, work: "asyncio.coroutines.Coroutine[None, None, None]") -> None:  # type: ignore[name-defined]
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hand_out(self, priority: str, line: Line, mapping: QueueMapping) -> None:
        """Poll, and call a function with the messages: an idle environment, or a new one."""
        await self._pass(POLL)
        deliveries = line.receive(10, 900)
        if deliveries:
            one = self._idle[priority].pop() if self._idle[priority] else await self._started(priority)
            await self._invoke(priority, one, line, deliveries)
        mapping.under_way -= 1

    async def _started(self, priority: str) -> _Environment:
        tokens = self._new[priority]
        while not tokens.has(1, self.clock.now()):
            await self.clock.sleep_until(self.clock.now() + _LOOK_EVERY_MS)
        tokens.take(1)
        self.cold_starts += 1
        one = self._environment(priority)
        await self._pass(Times(*MAKE_ENVIRONMENT_MS))
        await self.clock.sleep_until(self.clock.now() + math.ceil(START_CPU_MS["execute"] / one.machine.speed))
        return one

    async def _invoke(self, priority: str, one: _Environment, line: Line, deliveries: Sequence[Delivery]) -> None:
        self._invocations += 1
        self.at_once += 1
        begun_at, machine = self.clock.now(), one.machine
        self.trace.note("begun", [delivery.run for delivery in deliveries], begun_at)
        most = self.series["at once"]
        most[begun_at // SECOND_MS] = max(most[begun_at // SECOND_MS], self.at_once)
        work = execute(
            one.context,
            machine.sees(line),
            _Caller(machine, self.trace),
            deliveries,
            f"invocation-{self._invocations}",
            machine.run,
            Term(begun_at + _LIVES_MS),
        )
        await handed_out(line, deliveries, work)
        self.at_once -= 1
        self._called(machine, begun_at)
        self._idle[priority].append(one)

    def _called(self, machine: Machine, begun_at: int) -> None:
        kind = "scan" if machine.kind == "scan" else "execute"
        spent = self.world.spent
        spent.calls[kind] += 1
        spent.gb_ms[kind] += max(1, self.clock.now() - begun_at) * machine.megabytes // 1024

    async def _pass(self, times: Times) -> None:
        await self.clock.sleep_until(self.clock.now() + math.ceil(times.draw(self.world.random)))
