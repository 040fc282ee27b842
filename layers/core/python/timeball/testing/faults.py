"""Ports that stop their caller between any two writes, so that every crash can be enumerated; and ports with outages.

A write of a list is done item by item, and each item has two points: before it and after it. A plan of faults counts
the points that its ports reach, and acts at one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar, cast

from timeball.ports.errors import UnavailableError
from timeball.ports.store import Store

_Port = TypeVar("_Port")

LIST_WRITES = frozenset(
    {"insert", "swap", "replace", "save", "note", "add", "forget"}  # a collection's
    | {"send", "watch"}  # a queue's
    | {"hide", "send_again", "delete"}  # an inbox's
    | {"stop"}  # of executions
    | {"put", "remove"}  # a bus's
)
"""Methods whose first argument is a list, each item of which is a write of its own."""

SINGLE_WRITES = frozenset(
    {
        "take",
        "reserve",
        "release",
        "reckon",
        "move_oldest_day",
        "most_shards",
        "secrets",
        "rotate",
        "ensure",
        "receive",
    }
)
"""Methods that are one write."""


def each_port(port: _Port, wrap: Callable[[object, str], object]) -> _Port:
    """Return a port wrapped by `wrap`; for a store, each of its ports, with the prefix of its methods' names."""
    if not isinstance(port, Store):
        return cast("_Port", wrap(port, ""))
    wrapped: Any = {part.name: wrap(getattr(port, part.name), f"{part.name}.") for part in fields(Store)}
    return cast("_Port", Store(**wrapped))


class Crash(SystemExit):
    """The process ends here. Only the test catches it, and it stops the event loop."""


def crash() -> None:
    """End the process."""
    raise Crash("stopped at a point that a test chose")


class Points:
    """The points that the ports of one process reach, numbered from 0. At number `at`, `act` is called.

    A process that has crashed writes nothing more: each later write of it crashes too.
    """

    def __init__(self, at: int | None = None, act: Callable[[], None] = crash) -> None:
        self.reached = 0
        self.crashed = False
        self._at, self._act = at, act

    def reach(self) -> None:
        """Count a point, and act if it is the chosen one."""
        if self.crashed:
            crash()
        self.reached += 1
        if self.reached - 1 == self._at:
            try:
                self._act()
            except Crash:
                self.crashed = True
                raise


class _FaultyPort:
    def __init__(self, port: object, points: Points) -> None:
        self._port, self._points = port, points

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)
        if name in LIST_WRITES:
            return lambda items, *rest: self._one_by_one(method, items, rest)
        if name in SINGLE_WRITES:
            return lambda *arguments: self._between_points(method, arguments)
        return method

    def _one_by_one(
        self, method: Callable[..., object], items: Sequence[object], rest: tuple[object, ...]
    ) -> list[object]:
        answers: list[object] = []
        for item in items:
            answer = self._between_points(method, ([item], *rest))
            answers += cast("list[object]", answer) if isinstance(answer, list) else []
        return answers

    def _between_points(self, method: Callable[..., object], arguments: tuple[object, ...]) -> object:
        self._points.reach()
        answer = method(*arguments)
        self._points.reach()
        return answer


def with_faults(port: _Port, points: Points) -> _Port:
    """Return a port that does what the given one does, and reaches the points before and after each write."""
    return each_port(port, lambda one, _: _FaultyPort(one, points))


class _OutagePort:
    def __init__(self, port: object, called: str, fails: Callable[[str, object], bool]) -> None:
        self._port, self._called, self._fails = port, called, fails

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)
        return (
            (lambda items, *rest: self._but_those(self._called + name, method, items, rest))
            if name in LIST_WRITES
            else method
        )

    def _but_those(
        self, name: str, method: Callable[..., object], items: Sequence[object], rest: tuple[object, ...]
    ) -> object:
        failing = [self._fails(name, item) for item in items]
        answer = method([item for item, fails in zip(items, failing, strict=True) if not fails], *rest)
        if any(failing):
            raise UnavailableError(f"a test lets {name} fail")
        return answer


def with_outages(port: _Port, fails: Callable[[str, object], bool]) -> _Port:
    """Return a port that skips the writes of items for which `fails(method, item)`, and then raises UnavailableError.

    A store's methods are named after its ports, as in "runs.swap".
    """
    return each_port(port, lambda one, called: _OutagePort(one, called, fails))
