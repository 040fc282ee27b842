"""Ports that stop their caller between any two writes, so that every crash can be enumerated; and ports with outages.

A write of a list is done item by item, and each item has two points: before it and after it. A plan of faults counts
the points that its ports reach, and acts at one of them.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from timeball.ports import UnavailableError

_Port = TypeVar("_Port")

LIST_WRITES = frozenset(
    {"create_jobs", "swap_jobs", "conclude_jobs", "insert_runs", "swap_runs"}  # a store's
    | {"save_attempts", "replace_attempts"}  # a store's too
    | {"save_works", "create_backfills", "swap_backfills", "create_hosts", "swap_hosts", "swap_slots"}  # a store's too
    | {"send", "watch"}  # a queue's
    | {"hide", "delete"}  # an inbox's
)
"""Methods whose first argument is a list of which each item is a write of its own."""

SINGLE_WRITES = frozenset({"take_partition", "move_cursor", "remember"})
"""Methods that are one write."""


class Crash(SystemExit):
    """The process ends here. Nothing but the test catches it, and an event loop that meets it stops."""


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
        """Count a point, and act if it is the one."""
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
    return cast("_Port", _FaultyPort(port, points))


class _OutagePort:
    def __init__(self, port: object, fails: Callable[[str, object], bool]) -> None:
        self._port, self._fails = port, fails

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)
        return (lambda items, *rest: self._but_those(name, method, items, rest)) if name in LIST_WRITES else method

    def _but_those(
        self, name: str, method: Callable[..., object], items: Sequence[object], rest: tuple[object, ...]
    ) -> object:
        failing = [self._fails(name, item) for item in items]
        answer = method([item for item, fails in zip(items, failing, strict=True) if not fails], *rest)
        if any(failing):
            raise UnavailableError(f"a test lets {name} fail")
        return answer


def with_outages(port: _Port, fails: Callable[[str, object], bool]) -> _Port:
    """Return a port that writes all of a list but the items for which `fails(method, item)`; it then says: unknown."""
    return cast("_Port", _OutagePort(port, fails))
