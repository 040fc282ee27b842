"""All targets, which note the calls that arrive; and the caller by which a process reaches them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from zlib import crc32

from tests.simulation.world.process import Process
from timeball.domain.model.ids import RunId
from timeball.domain.model.terms.target import HttpTarget, is_followed
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.runs.callback import Naming, name_items
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Answer, Call
from timeball.targets.calls import unanswered
from timeball.targets.http.verdict import ACCEPTED, answered
from timeball.testing.virtual_clock import VirtualClock

HOSTS = ("one.example", "two.example", "three.example")
"""Hosts of targets that answer at once; each of them may be down for a while."""

REFUSED = 404
"""The status of a target that wants no retry."""

REPORTS_LATER = "https://later.example/hook"
"""A target that mostly answers 202, and reports later: sometimes before its 202 has been seen."""

WEAVERS = "weaver"
"""The tenant whose jobs depend on each other."""


@dataclass(frozen=True)
class Arrival:
    """A call as the target saw it (true time, ms)."""

    at: int
    run: RunId
    attempt: int
    payload: str | None
    url: str


@dataclass(frozen=True)
class Failing:
    """A part of a webhook's host that failed a call of a tenant (true time, ms)."""

    at: int
    tenant: str
    host: str | None
    segment: str


@dataclass
class Receiver:
    """All targets, and the calls that arrived, in order. A slow target is slow at each attempt.

    `down_until` has the end of the outage of each host, and of each first segment of its paths, which answer with
    errors of their own until then.
    """

    clock: VirtualClock
    random: Random
    arrivals: list[Arrival] = field(default_factory=list)
    statuses: tuple[int, ...] = (200, 200, 200, 200, 500, REFUSED)
    takes_ms: tuple[int, ...] = (10, 200, 200, 200, 3_000, 3_000, 25_000, 45_000)
    accepted: "asyncio.Queue[tuple[RunId, int]]" = field(default_factory=asyncio.Queue)
    down_until: dict[str, int] = field(default_factory=dict)
    failing: list[Failing] = field(default_factory=list)
    named: list[tuple[RunId, int, tuple[str, ...]]] = field(default_factory=list)
    _taken_ms: dict[RunId, int] = field(default_factory=dict)

    def note(self, call: Call) -> str:
        """Note a call, and return its URL, or its ARN."""
        target = call.work.target
        url = target.url if isinstance(target, HttpTarget) else target.resource
        self.arrivals.append(Arrival(self.clock.now(), call.run, call.attempt, call.work.payload, url))
        return url

    def answer_of(self, call: Call) -> tuple[int, int]:
        """Note a call, and return its status and how long the answer takes."""
        status, takes_ms = self._answer_of(call)
        target = call.work.target
        if isinstance(target, HttpTarget) and (status >= 500 or takes_ms > call.timeout_seconds * SECOND_MS):
            self.failing.append(Failing(self.clock.now(), call.run.job.tenant, target.resource, target.segment))
        return status, takes_ms

    def _answer_of(self, call: Call) -> tuple[int, int]:
        url = self.note(call)
        if self.down_until and self._is_down(*url.split("/")[2:4]):
            return 503, 10
        takes_ms = self._taken_ms.setdefault(call.run, self.random.choice(self.takes_ms))
        if url.startswith(REPORTS_LATER) and self.random.random() < 0.8:
            self.accepted.put_nowait((call.run, call.attempt))
            return ACCEPTED, min(takes_ms, 3_000)
        return self.random.choice(self.statuses), min(takes_ms, max(self.takes_ms))

    def _is_down(self, host: str, segment: str = "") -> bool:
        return any(self.down_until.get(part, 0) > self.clock.now() for part in (host, f"{host}/{segment}"))

    def calls(self) -> dict[RunId, list[Arrival]]:
        """Return the calls of each run."""
        calls: dict[RunId, list[Arrival]] = {}
        for arrival in self.arrivals:
            calls.setdefault(arrival.run, []).append(arrival)
        return calls


@dataclass(frozen=True)
class SimulatedCaller:
    """The caller of one process: a call leaves at once, and its answer reaches the process when it is not frozen."""

    receiver: Receiver
    process: Process
    context: Context
    """The clients of targets that name items."""
    start: Callable[[Process, Call], Awaitable[Answer]]
    """Starts the executions that runs follow."""

    async def prepare(self, call: Call) -> None:
        """Fetch nothing."""

    async def call(self, call: Call) -> Answer:
        """Call the target once."""
        process = self.process
        await process.thaw()
        if is_followed(call.work.target):
            return await self.start(process, call)
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
        """Name items before the answer, as some targets do. Some repeat the request, or name others later."""
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
    """Return an answer that names up to three items, if the job is of the tenant of graphs."""
    if call.run.job.tenant != WEAVERS:
        return ""
    count = crc32(f"{call.run} {call.attempt}".encode()) % 4
    return json.dumps({"fanOut": [f"answered {call.attempt} {number}" for number in range(count)]})
