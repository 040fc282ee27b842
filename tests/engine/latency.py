"""Ports with latency: each of their round trips advances a virtual clock, and is counted.

Processor time is not included: for boto3 it is about 3 ms per request.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tests.engine.play import Play
from timeball.domain.model.ids import RunId
from timeball.engine.context import Context
from timeball.testing.faults import LIST_WRITES, each_port
from timeball.testing.virtual_clock import VirtualClock

REQUEST_MS = 20
"""The duration of a round trip: of one request, or of several in parallel."""
_AT_ONCE = 20
"""Parallel requests, as on AWS: the threads of the store, and of the queue (`runtime/wiring.py`)."""
_READ, _WRITTEN, _SENT = 100, 25, 10
"""The number of rows, or messages, in one request."""

_Port = TypeVar("_Port")


def slowed(port: object, clock: VirtualClock, ms: int) -> Any:
    """Return a port whose calls take so long, however many rows they name; a call without rows takes no time."""
    return _Slowed(port, clock, ms)


class _Slowed:
    def __init__(self, port: object, clock: VirtualClock, ms: int) -> None:
        self._port, self._clock, self._ms = port, clock, ms

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)

        def call(*args: object, **kwargs: object) -> object:
            self._clock.advance(self._ms if args and args[0] else 0)
            return method(*args, **kwargs)

        return call


class Slow:
    """A record of the requests: how many sequential ones of each kind, and when each run was sent (ms).

    `items` counts the rows, or messages, in them.
    """

    def __init__(self, play: Play) -> None:
        self.requests: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        self.sent_at: dict[RunId, int] = {}
        self._play = play

    def context(self) -> Context:
        """Return the context of a process whose store and queue have latency."""
        context = self._play.context()
        return replace(context, store=self._slow(context.store), queue=self._slow(context.queue))

    def _slow(self, port: _Port) -> _Port:
        return each_port(port, lambda one, called: _SlowPort(one, called, self._play.clock, self))


class _SlowPort:
    def __init__(self, port: object, called: str, clock: VirtualClock, slow: Slow) -> None:
        self._port, self._called, self._clock, self._slow = port, called, clock, slow

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)

        def call(*args: object, **kwargs: object) -> object:
            items: list[Any] = args[0] if isinstance(args[0], list) else [args[0]]
            round_trips = -(-len(items) // (_AT_ONCE * _together(self._called, name)))
            if round_trips:
                self._slow.requests[self._called + name] += round_trips
                self._slow.items[self._called + name] += len(items)
            self._clock.advance(round_trips * REQUEST_MS)
            if name == "send":
                for run in items:
                    self._slow.sent_at.setdefault(run.id, self._clock.now())
            return method(*args, **kwargs)

        return call


def _together(called: str, name: str) -> int:
    """Return how many items of its list one request of a method carries."""
    if name in ("send", "watch"):
        return _SENT
    if name in LIST_WRITES:
        return _WRITTEN
    return 1 if called + name in ("due.query", "edges.children") else _READ
