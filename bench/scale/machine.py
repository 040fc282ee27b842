"""An environment of a function with its share of a processor; calls of its ports take time, processor and units.

The engine's code runs unchanged: each call of a port makes as many requests as the adapter would, on as many threads,
and waits as long as they take. Throttled requests are repeated as in `aws/request_retries.py`.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ParamSpec, TypeVar, cast

from bench.scale.limits import (
    MESSAGES_OF_A_REQUEST,
    PROCESSOR_MEGABYTES,
    QUERY,
    QUEUE,
    READ,
    REQUESTS_AT_ONCE,
    WRITE,
    Times,
)
from bench.scale.units import Table
from tests.simulation.world.process import Process, Weather
from timeball.aws.dynamodb.table.writes import BATCH
from timeball.aws.request_retries import PAUSES_SECONDS
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.due_index import DuePage, DueQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import in_messages
from timeball.testing.faults import each_port
from timeball.testing.virtual_clock import VirtualClock

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Port = TypeVar("_Port")

_READ_AT_ONCE = 100
_ENTRIES_OF_A_UNIT = 150
"""Entries of the due index that a read of one unit examines: 1,000 take some 13 units, and half without strong reads.
"""


@dataclass
class Spent:
    """The requests of all machines by kind, and the GB-milliseconds and calls of functions by kind."""

    requests: Counter[str] = field(default_factory=Counter)
    gb_ms: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)


@dataclass
class World:
    """What all machines share."""

    clock: VirtualClock
    random: Random
    table: Table
    runs_per_message: int
    spent: Spent = field(default_factory=Spent)


class Machine:
    """An environment. It has one invocation at a time, whose threads take turns on its processor.

    `item_cpu_ms` is the cost of one item of a call on a whole processor: a row, or a run of a message.
    """

    def __init__(self, world: World, kind: str, megabytes: int, item_cpu_ms: float) -> None:
        self.world, self.kind, self.megabytes, self.item_cpu_ms = world, kind, megabytes, item_cpu_ms
        self.speed = min(1.0, megabytes / PROCESSOR_MEGABYTES)
        self.process = Process(kind, world.clock, world.random, Weather())
        self._busy_until = 0.0

    def now(self) -> int:
        """Return the present instant (ms); the clocks of machines agree here."""
        return self.world.clock.now()

    async def sleep_until(self, at: int) -> None:
        """Return when the instant (ms) has come."""
        await self.world.clock.sleep_until(at)

    async def run(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run blocking work, as the engine's `Offload`."""
        return await self.process.run(work, *args, **kwargs)

    def worked(self, items: int) -> int:
        """Queue the work of so many items for the processor; return when (ms) it is done."""
        self._busy_until = max(self._busy_until, self.now()) + items * self.item_cpu_ms / self.speed
        return math.ceil(self._busy_until)

    def ask(self, kind: str, times: Times, items: int, requests: int) -> None:
        """Prepare requests for so many items, send them in parallel, and wait for the last answer."""
        self.world.spent.requests[kind] += requests
        self.process.stand_aside(self.worked(items))
        random, wait_ms = self.world.random, 0.0
        for start in range(0, requests, REQUESTS_AT_ONCE):
            wait_ms += max(times.draw(random) for _ in range(min(REQUESTS_AT_ONCE, requests - start)))
        self.wait(wait_ms)

    def wait(self, milliseconds: float) -> None:
        """Wait for so many milliseconds of virtual time."""
        self.process.stand_aside(self.now() + math.ceil(milliseconds))

    def sees(self, port: _Port) -> _Port:
        """Return a port whose calls take this machine's time."""
        return each_port(port, lambda one, called: _TimedPort(one, called, self))


class _TimedPort:
    """A port whose calls take as long as on AWS."""

    def __init__(self, port: object, called: str, machine: Machine) -> None:
        self._port, self._called, self._machine = port, called, machine

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)
        timed = _TIMED.get(f"{self._called.partition('.')[0]}.{name}") or _TIMED.get(f".{name}") or _once
        machine = self._machine

        def call(*args: object, **kwargs: object) -> object:
            if args and isinstance(args[0], Sequence) and not args[0]:
                return method(*args, **kwargs)  # an empty list makes no request
            return timed(machine, method, args, kwargs)

        self.__dict__[name] = call
        return call


def _once(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    machine.ask("table", WRITE, 0, 1)
    return method(*args, **kwargs)


def _read(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    keys = cast("Sequence[object]", args[0])
    machine.wait(machine.world.table.read(len(keys), machine.now()))
    machine.ask("table", READ, len(keys), -(-len(keys) // _READ_AT_ONCE))
    return method(*args, **kwargs)


def _query(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    queries = cast("Sequence[DueQuery]", args[0])
    machine.ask("table", QUERY, 0, len(queries))
    pages = cast("list[DuePage]", method(queries))
    now, wait_ms = machine.now(), 0.0
    for query, page in zip(queries, pages, strict=True):
        examined = query.limit if page.stopped is not None else len(page.candidates)
        units = 0.5 * (1 + examined / _ENTRIES_OF_A_UNIT)
        wait_ms = max(wait_ms, machine.world.table.read_index(query.shard, units, now))
    if wait_ms:
        machine.wait(wait_ms)
    return pages


def _ahead(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    machine.ask("table", QUERY, 0, 1)
    instants = cast("list[int]", method(*args))
    machine.world.table.read(0.5 * (1 + len(instants) / _ENTRIES_OF_A_UNIT), machine.now())
    return instants


def _write(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    """Write a list, and repeat throttled writes up to six times. Raises UnavailableError."""
    items, rest = cast("Sequence[object]", args[0]), args[1:]
    answers: list[object] = [None] * len(items)
    left = list(range(len(items)))
    for pause_seconds in (*PAUSES_SECONDS, None):
        machine.ask("table", WRITE, len(left), -(-len(left) // BATCH))
        admitted = machine.world.table.admit([items[position] for position in left], machine.now())
        done = [position for position, is_admitted in zip(left, admitted, strict=True) if is_admitted]
        written = cast("list[object]", method([items[one] for one in done], *rest) or [])
        for position, answer in zip(done, written, strict=False):
            answers[position] = answer
        left = [position for position, is_admitted in zip(left, admitted, strict=True) if not is_admitted]
        if not left:
            return answers
        if pause_seconds is not None:
            machine.wait(pause_seconds * SECOND_MS * machine.world.random.random())
    raise UnavailableError(f"{len(left)} writes were throttled")


def _send(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    runs = cast("Sequence[Run]", args[0])
    messages = in_messages(runs, machine.world.runs_per_message)
    machine.ask("queue", QUEUE, len(runs), -(-len(messages) // MESSAGES_OF_A_REQUEST))
    return method(*args)


def _message(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    items = cast("Sequence[object]", args[0])
    machine.ask("queue", QUEUE, len(items), -(-len(items) // MESSAGES_OF_A_REQUEST))
    return method(*args)


def _receive(machine: Machine, method: Callable[..., object], args: tuple[Any, ...], _: dict[str, Any]) -> object:
    machine.ask("queue", QUEUE, 0, 1)
    return method(*args)


_Timed = Callable[[Machine, Callable[..., object], tuple[Any, ...], dict[str, Any]], object]
_TIMED: dict[str, _Timed] = {
    "due.query": _query,
    "due.ahead": _ahead,
    ".read": _read,
    ".read_with_tasks": _read,
    ".insert": _write,
    ".swap": _write,
    ".send": _send,
    ".watch": _message,
    ".hide": _message,
    ".delete": _message,
    ".send_again": _message,
    ".receive": _receive,
}
"""By the method's name, with the name of its collection before it if only one is meant; others are one small request.
"""
