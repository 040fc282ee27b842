"""The stage for crashes: every crash that a verb can suffer, before and after each of its outside calls.

A crash is known by what it leaves outside of its process: rows, messages, calls that have left, the time. So a verb is
played once, and at each point a picture of these is taken; a system that stands as the picture shows must recover. Two
neighbouring points may leave the same picture (after a write, and before the next one): then one recovery tests both.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pytest

from tests.contract.backends import MotoPosts, MotoTable, thin_client
from tests.engine.play import NotingCaller, Play
from timeball.aws.dynamodb.store import dynamo_store
from timeball.engine.context import Rules
from timeball.ports.store import Store
from timeball.testing.faults import Crash, Points, crash
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_services import Started
from timeball.testing.memory_store import MemoryStore


class Place(Protocol):
    """The rows of one store at a time. `name` is its name in figures."""

    name: str

    def empty(self) -> Store:
        """Return a store without rows; stores returned earlier are emptied."""

    def rows(self) -> object:
        """Return a copy of all rows, to be compared and put back."""

    def put_back(self, rows: Any) -> Store:
        """Return a store with these rows."""


class Memory:
    """Rows in this process."""

    name = "memory"

    def __init__(self) -> None:
        self._store = MemoryStore()

    def empty(self) -> Store:
        """Make a new store."""
        self._store = MemoryStore()
        return self._store

    def rows(self) -> bytes:
        """Copy all rows of the store."""
        return pickle.dumps(self._store)

    def put_back(self, rows: bytes) -> Store:
        """Make a new store of a copy."""
        self._store = pickle.loads(rows)  # noqa: S301 - it was dumped here
        return self._store


class Moto:
    """Rows in one DynamoDB table mocked by moto.

    Moto is slow, so the table is created once and its rows are replaced.
    """

    name = "moto"

    def __init__(self) -> None:
        self._table = MotoTable()
        self._store = dynamo_store(thin_client("dynamodb", MotoPosts("dynamodb")), self._table.name, threads=2)

    def empty(self) -> Store:
        """Drop all rows."""
        self._table.replace({})
        return self._store

    def rows(self) -> object:
        """Copy the table's items."""
        return self._table.items()

    def put_back(self, rows: Any) -> Store:
        """Replace the table's items."""
        self._table.replace(rows)
        return self._store


@dataclass(frozen=True)
class Picture:
    """The state outside of all processes at an instant (ms): rows, messages, and the calls that have left by then."""

    at: int
    rows: object
    messages: bytes
    caller: NotingCaller
    executions: dict[str, Started]
    rules: Rules
    invocations: int

    def shows_what(self, other: "Picture") -> bool:
        """Say whether a recovery from either would be the same."""
        return self._shown() == other._shown()

    def _shown(self) -> tuple[object, ...]:
        return self.at, self.rows, self.messages, self.caller.calls, self.caller.statuses, self.executions


class Stage:
    """Plays on one place, one at a time: a new play clears the previous one.

    `later_ms` is how long after a crash the tests let the system recover. `measure` receives the counts.
    """

    def __init__(self, place: Place, later_ms: int, measure: Callable[[str, int], None]) -> None:
        self._place, self.later_ms, self._measure = place, later_ms, measure

    def play(self, at: int) -> Play:
        """Begin at an instant, with nothing stored."""
        return Play(self._place.empty(), at)

    @property
    def step(self) -> int:
        """Return the distance between two points that leave different rows: 2, except that memory plays each point.

        The point after a write leaves the same rows as the point before the next. For verbs that are played anew for
        each point.
        """
        return 1 if isinstance(self._place, Memory) else 2

    def crashes(self, play: Play, verb: Callable[[Play], object], points: int | None) -> Iterator[Play]:
        """Yield the state after each crash of a verb, which has at least `points` of them; None: it may have none."""
        pictures = self.pictures(play, verb)
        assert points is None or 0 < points <= len(pictures), f"{len(pictures)} points"
        distinct = [
            picture
            for picture, previous in zip(pictures, [None, *pictures], strict=False)
            if previous is None or not picture.shows_what(previous)
        ]
        if not self.later_ms:  # otherwise these are the same points a second time
            self._measure(f"{self._place.name} points", len(pictures))
        self._measure(f"{self._place.name} recoveries", len(distinct))
        for picture in distinct:
            yield self.as_in(picture)

    def pictures(self, play: Play, verb: Callable[[Play], object]) -> list[Picture]:
        """Play a verb to its end, and return a picture from each of its points: before and after each call."""
        pictures: list[Picture] = []
        play.points = _EveryPoint(lambda: pictures.append(self.picture(play)))
        verb(play)
        play.points = None
        return pictures

    def as_in(self, picture: Picture) -> Play:
        """Return a play in the state of a picture, with no process at work."""
        play = Play(self._place.put_back(picture.rows), picture.at, picture.rules)
        play.queue = _restored(play.queue, picture.messages)
        play.executions.started = {**picture.executions}
        play.caller = _noted_by(picture.caller, play)
        play.invocations = picture.invocations
        return play

    def picture(self, play: Play) -> Picture:
        """Return a picture of the current state outside of all processes."""
        caller, executions = _noted_by(play.caller, play), {**play.executions.started}
        rows, messages = self._place.rows(), _kept(play.queue)
        return Picture(play.clock.now(), rows, messages, caller, executions, play.rules, play.invocations)


def stop_when(play: Play, verb: Callable[[Play], object], condition: Callable[[Play], bool]) -> None:
    """Let a verb crash at the first of its points at which a condition is true."""

    def stop() -> None:
        if points.crashed or condition(play):
            points.crashed = True
            crash()

    play.points = points = _EveryPoint(stop)
    with pytest.raises(Crash):
        verb(play)
    play.points = None


class _EveryPoint(Points):
    """Acts at each point that is reached."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__(None, act)

    def reach(self) -> None:
        """Count a point, and act."""
        self.reached += 1
        self._act()


_OF_ITS_PROCESS = frozenset({"_lock", "_now"})
"""Attributes of a queue in memory that a picture leaves out."""


def _kept(fake: MemoryQueue) -> bytes:
    return pickle.dumps({name: value for name, value in vars(fake).items() if name not in _OF_ITS_PROCESS})


def _restored(fake: MemoryQueue, kept: bytes) -> MemoryQueue:
    vars(fake).update(pickle.loads(kept))  # noqa: S301 - it was dumped here
    return fake


def _noted_by(caller: NotingCaller, play: Play) -> NotingCaller:
    """Return a target that knows the calls that it has received so far; calls of other processes are over."""
    noted = replace(caller, clock=play.clock, calls=[*caller.calls], statuses=[*caller.statuses], meanwhile=None)
    return replace(noted, executions=play.executions, ends=[*caller.ends])
