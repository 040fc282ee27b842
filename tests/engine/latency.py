"""Ports that take their time: each round trip of theirs moves a virtual clock on, and is counted.

The time of a processor is not in it: of boto3 that is some 3 ms for each request.
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
"""What a round trip takes: of one request, or of those that go side by side."""
_AT_ONCE = 20
"""Requests that go side by side, as on AWS: the threads of the store, and of the queue (`runtime/wiring.py`)."""
_READ, _WRITTEN, _SENT = 100, 25, 10
"""Rows, or messages, that one request is for."""

_Port = TypeVar("_Port")


class Slow:
    """What became of the requests: how many there were in a row of each kind, and when each run was sent (ms).

    `items` counts the rows, or messages, that they were for.
    """

    def __init__(self, play: Play) -> None:
        self.requests: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        self.sent_at: dict[RunId, int] = {}
        self._play = play

    def context(self) -> Context:
        """Return the world as a process sees it to which nothing comes at once."""
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
    """Return how many items of its list one request of a method is for."""
    if name in ("send", "watch"):
        return _SENT
    if name in LIST_WRITES:
        return _WRITTEN
    return 1 if called + name in ("due.query", "edges.children") else _READ
