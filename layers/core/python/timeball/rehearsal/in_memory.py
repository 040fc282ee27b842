"""All of Timeball in this process, with its authorizer, on one clock that stands until it is moved.

`until` lets the engine work. Events that the bus matches make their runs meanwhile, and at once.
"""

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar

from aws_lambda_powertools.utilities.typing import LambdaContext

from timeball.api.app import build_api
from timeball.api.authorizer import Authorizer
from timeball.api.http.edge import ApiContext
from timeball.api.openapi.document import document_text
from timeball.api.openapi.page import page_text
from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.tenant import new_tenant
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context, Known, Rules
from timeball.engine.events.receive import receive
from timeball.engine.tally import Tally
from timeball.ports.target import Caller
from timeball.rehearsal.patterns import matches
from timeball.targets.aws.allowed import AllowedArn, AllowedArns
from timeball.targets.http.addresses import parse_rules
from timeball.testing.at_work import OWNER, AtWork
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_services import MemoryBus, MemoryExecutions
from timeball.testing.memory_store import MemoryStore, MemoryTenants
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

SIGNING_SECRET: Final = "s" * 64
"""Signs the tokens of attempts, which open nothing outside of this process."""

RULES: Final = Rules(shards=1, runs_per_message=1, lead_seconds=0, few_lead_ms=0)
"""No executor starts cold here, so a message comes at its instant."""

_ANY_ARN: Final = AllowedArns((AllowedArn("arn:*"),))
"""A rehearsal calls nothing of AWS, so a target may name anything."""

Event = dict[str, Any]

_T = TypeVar("_T")


class InMemory:
    """The API in memory, and an engine whose targets `caller` calls; it must be set before the engine works.

    The admins of the first tenant manage all tenants; `keys` holds an API key of each role of that tenant. `edge` are
    other fields of the API's context.
    """

    caller: Caller

    def __init__(
        self,
        at: int,
        tenants: Sequence[str],
        rules: Rules = RULES,
        at_each_step: Callable[[], None] = lambda: None,
        **edge: Any,  # noqa: ANN401 - fields of ApiContext
    ) -> None:
        self.clock = VirtualClock(at)
        self.store = MemoryStore()
        self.rules = rules
        self.queue = MemoryQueue(self.clock.now, self.rules.lead, self.rules.runs_per_message)
        self.executions = MemoryExecutions(self.clock.now)
        self.tally = Tally(self.clock, KeptTelemetry())
        self.context = Context(self.store, self.queue, self.clock, self.rules, self.tally, executions=self.executions)
        self.bus = MemoryBus(matches)
        self.tenants = MemoryTenants()
        self.tenants.tenants.insert([new_tenant(name, at) for name in tenants], at)
        self.keys = {role.value: self._key(tenants[0], role, number) for number, role in enumerate(Role)}
        self.engine = AtWork(
            lambda: self.context, self.store, self.queue, self.clock, lambda: self.caller, self._at_each_step
        )
        self.engine.is_watching = True
        self._and_then = at_each_step
        self._is_at_work = False
        self._lock = threading.RLock()
        numbers = itertools.count(1)
        self.edge = ApiContext(
            replace(self.context, known=Known()),
            lambda: next(numbers).to_bytes(16),
            document_text,
            page_text,
            self._wait_until,
            parse_rules("127.0.0.0/8,::1/128"),
            tenants[0],
            self.tenants,
            lambda: self.store.signing.secrets(SIGNING_SECRET).accepted(self.clock.now()),
            bus=self.bus,
            **{"allowed": _ANY_ARN, **edge},
        )
        self._handle = build_api(self.edge)
        self._authorize = Authorizer(self.tenants, self.clock)
        self._requests = 0
        self._threads = ThreadPoolExecutor(1)
        self._note_tick()

    def _key(self, tenant: str, role: Role, number: int) -> str:
        text = fresh_key(tenant, (number + 1).to_bytes(32))
        key = Key(id_in(text) or "", hash_of(text), role, self.clock.now(), name=f"The {role.value} of the tests")
        self.tenants.keys.insert([key], self.clock.now())
        return text

    @property
    def is_at_work(self) -> bool:
        """Whether the engine works now: a target is called, or asks something of the API."""
        return self._is_at_work

    def handle(self, event: Event) -> Mapping[str, Any]:
        """Answer an event of the HTTP API that has no authorizer's answer yet; threads take turns."""
        with self._lock:
            return self._answer(event)

    def _answer(self, event: Event) -> Mapping[str, Any]:
        self._requests += 1
        event["requestContext"]["requestId"] = f"request-{self._requests}"
        found = self._authorize(event)
        if not found["isAuthorized"]:
            return {"statusCode": 403, "headers": {}, "body": '{"message":"Forbidden"}', "isBase64Encoded": False}
        event["requestContext"]["authorizer"]["lambda"] = found["context"]
        return self._handle(event, LambdaContext())

    def until(self, at: int) -> None:
        """Let the engine work until an instant (ms); what is due at that very instant may be left."""
        if at > self.clock.now():
            self._work(self.engine.until, at)

    def through(self, at: int) -> None:
        """Let the engine work until an instant (ms), and do all that is due at that instant."""
        self._work(self.engine.through, at)

    def advance(self, seconds: float) -> None:
        """Let the engine work for so many seconds."""
        self.until(self.clock.now() + int(seconds * SECOND_MS))

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the clock of the engine."""
        return self._beside_a_loop(lambda: self.engine.run(work))

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Let other threads ask the API while the engine waits for a user's code."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def close(self) -> None:
        """End the engine."""
        self._beside_a_loop(self.engine.close)
        self._threads.shutdown()

    def _work(self, work: Callable[[int], None], at: int) -> None:
        # Rows that users have changed since the last time count at once, and not within some seconds.
        self.context = replace(self.context, known=Known())
        self._is_at_work = True
        try:
            self._beside_a_loop(lambda: work(at))
        finally:
            self._is_at_work = False
        self._note_tick()

    def _beside_a_loop(self, work: Callable[[], _T]) -> _T:
        """Work in this thread, where users' objects may be at home, unless an event loop runs in it."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._locked(work)
        return self._threads.submit(self._locked, work).result()

    def _locked(self, work: Callable[[], _T]) -> _T:
        with self._lock:
            return work()

    def _wait_until(self, at: int) -> None:
        """Let the engine work until an instant for which the API waits, unless it is at work already."""
        if not self._is_at_work:
            with self.let_go():  # the engine may work in another thread
                self.until(at)

    def _at_each_step(self) -> None:
        """Make the runs of the events that have come; those that are put off come again later."""
        if self.bus.queue:
            matched, self.bus.queue = self.bus.queue, []
            receive(self.context, self.bus, matched)
            later, self.bus.queue = self.bus.queue, []
            for one, seconds in zip(later, self.bus.delays[len(self.bus.delays) - len(later) :], strict=True):
                at = self.clock.now() + seconds * SECOND_MS
                self.engine.at(at, lambda one=one: self.bus.queue.append(one))  # type: ignore[misc]
        self._and_then()

    def _note_tick(self) -> None:
        """Write the counts, and note a tick: the engine leaps over the ticks that find nothing to do."""
        self.tally.flush(self.store.usage)
        self.store.partitions.take(0, OWNER, self.clock.now())
