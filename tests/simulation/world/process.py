"""A simulated process: its calls of the world take time, may fail, and pause for as long as the process is frozen.

Engine code consists of plain calls. Here it runs in a greenlet, which yields at each call of a port, so that every
other process may go on between any two calls. All of it happens on one event loop in virtual time: the same seed gives
the same story.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Any, ParamSpec, TypeVar, cast

from greenlet import getcurrent, greenlet

from timeball.domain.time.instants import LATEST
from timeball.ports.errors import UnavailableError
from timeball.testing.faults import LIST_WRITES, each_port
from timeball.testing.virtual_clock import VirtualClock

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Port = TypeVar("_Port")

_UNHEARD = 10**15

_BEFORE = 0.55
"""The share of calls that yield before they take effect. As many yield after it, and a few do both."""


class CutOffError(BaseException):
    """The process that did this work is gone. The engine cannot catch this error, as it cannot catch its own end."""


@dataclass
class Weather:
    """How bad the world is: the shares of calls that fail before or after they take effect, and the longest latency.

    `slow` is the share of calls that take a hundred times as long, `stalls` the share of those that hang for up to 45
    seconds, and `cut_off` the share of requests whose process ends.
    """

    fails_before: float = 0.0
    fails_after: float = 0.0
    latency_ms: int = 40
    slow: float = 0.0
    stalls: float = 0.0
    cut_off: float = 0.0


@dataclass(frozen=True)
class Stop:
    """Where a process is stopped, and for how long: at which of the moments before and after each of its calls.

    At moment -1 it never is, and its moments are only counted. With `fails` the call fails there instead.
    """

    moment: int = -1
    milliseconds: int = 0
    fails: bool = False


@dataclass
class Process:
    """One process, and its own idea of the time. It is the clock of its world.

    `moments` counts the moments before and after each of its calls, `calls_left` is how many calls it may still begin,
    no call takes effect after `lives_until` (true time, ms), and none that begins before `cut_off_until`, or in an
    earlier `life`.
    """

    name: str
    clock: VirtualClock
    random: Random
    weather: Weather
    skew_ms: int = 0
    frozen_until: int = 0
    calls_left: int = _UNHEARD
    lives_until: int = LATEST
    cut_off_until: int = 0
    life: int = 0
    stop: Stop | None = None
    moments: int = 0
    trace: Callable[[str], None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        self.death = self.clock.alarm(None)

    def now(self) -> int:
        """Return the present instant by this process's clock."""
        return self.clock.now() + self.skew_ms

    async def sleep_until(self, at: int) -> None:
        """Wake when this process's clock has reached an instant, and not while it is frozen."""
        await self.clock.sleep_until(at - self.skew_ms)
        await self.thaw()

    async def thaw(self) -> None:
        """Wait for as long as the process is frozen."""
        while self.clock.now() < self.frozen_until:
            await self.clock.sleep_until(self.frozen_until)

    def freeze(self, milliseconds: int) -> None:
        """Stop the process for a while, which it does not notice."""
        self.frozen_until = max(self.frozen_until, self.clock.now() + milliseconds)
        self.trace(f"{self.name} is frozen for {milliseconds} ms")

    def kill(self) -> None:
        """End the process: none of its calls is ever answered."""
        self.frozen_until = _UNHEARD
        if not self.death.done():
            self.death.set_result(None)
        self.trace(f"{self.name} is killed")

    async def run(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run blocking work that yields at each of its calls: the engine's `Offload`."""
        inner = greenlet(work)
        inner.process, inner.life = self, self.life
        until = inner.switch(*args, **kwargs)
        while not inner.dead:
            await self.clock.alarm(cast("int", until))
            if self.clock.now() < self.frozen_until:
                await self.thaw()
            until = inner.switch()
        return cast("_T", until)

    async def run_cut_off(self, calls: int, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run blocking work that ends with its process, by a CutOffError, if it makes more calls than `calls`."""
        self.calls_left = calls
        try:
            return await self.run(work, *args, **kwargs)
        finally:
            self.calls_left = _UNHEARD

    def aside(self) -> None:
        """Yield, within `run`, for as long as a call takes."""
        weather, draw = self.weather, self.random.random
        latency = 1 + int(draw() * weather.latency_ms)
        if weather.slow and weather.slow > draw():
            latency *= 100
        if weather.stalls and weather.stalls > draw():
            latency = 2_000 + int(draw() * 43_000)
            self.trace(f"{self.name} stalls for {latency} ms")
        self.stand_aside(self.clock.now() + latency)

    def stand_aside(self, until: int) -> None:
        """Let all other processes go on, within `run`, until an instant (true time, ms)."""
        present = getcurrent()
        parent = present.parent
        if parent is None:
            return
        is_beside = getattr(present, "is_beside", False)
        if is_beside or until < self.frozen_until or not self.clock.pass_to(until):
            parent.switch(until)

    def side_by_side(self, calls: Sequence[Callable[[], _T]]) -> list[_T]:
        """Run calls in parallel, within `run`: each yields at its calls of the world, and the first to wake goes on.

        Raise the error of the first call that failed, after all have ended.
        """
        if len(calls) == 1:
            return [calls[0]()]
        answers: dict[int, _T] = {}
        failures: dict[int, BaseException] = {}
        lanes, life = [greenlet(call) for call in calls], getattr(getcurrent(), "life", self.life)
        waiting = [(self.clock.now(), number) for number in range(len(lanes))]
        while waiting:
            until, number = heappop(waiting)
            if until > self.clock.now():
                self.stand_aside(until)
            lane = lanes[number]
            lane.process, lane.is_beside, lane.life = self, True, life
            try:
                said = lane.switch()
            except (Exception, CutOffError) as error:  # noqa: BLE001 - it is raised after the others have ended
                failures[number] = error
                continue
            if lane.dead:
                answers[number] = said
            else:
                heappush(waiting, (said, number))
        if failures:
            raise failures[min(failures)]
        return [answers[number] for number in range(len(lanes))]

    def reach(self) -> None:
        """Count a moment of a process that must be stopped, and stop here if it is the chosen one."""
        self.moments += 1
        if self.stop is None or self.stop.moment != self.moments - 1:
            return
        if self.stop.fails:
            raise UnavailableError("it fails at this moment")
        self.freeze(self.stop.milliseconds)
        self.aside()

    def check_reach(self, begun_at: int) -> None:
        """Raise UnavailableError if a call that began then (true time, ms) reaches nothing."""
        if begun_at < self.cut_off_until or getattr(getcurrent(), "life", self.life) < self.life:
            raise UnavailableError("the process is cut off")

    def fails(self, share: float) -> bool:
        """Return whether this call is one of those that fail."""
        return share > self.random.random()


def acting() -> Process | None:
    """Return the process whose work is being done."""
    return getattr(getcurrent(), "process", None)


def acting_name() -> str:
    """Return the name of the process whose work is being done, which is the writer."""
    process = acting()
    return "nobody" if process is None else process.name


class _SimulatedPort:
    def __init__(self, port: object, called: str, process: Process) -> None:
        self._port, self._called, self._process = port, called, process

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)

        def write(items: Sequence[object], *rest: object) -> object:
            return self._write(self._called + name, method, items, rest)

        def call(*args: object, **kwargs: object) -> object:
            return self._call(self._called + name, method, args, kwargs)

        seen = write if name in LIST_WRITES else call
        self.__dict__[name] = seen  # from now on Python finds it without this method
        return seen

    def _call(self, name: str, method: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        process, weather = self._process, self._process.weather
        if args and isinstance(args[0], Sequence) and not args[0]:
            return method(*args, **kwargs)  # an empty list makes no request
        if process.calls_left <= 0:
            process.trace(f"{process.name} {name}: its process has ended")
            raise CutOffError
        process.calls_left -= 1
        begun_at, side = process.clock.now(), process.random.random()
        if process.stop is not None:
            process.reach()
        if side < _BEFORE:
            process.aside()
        if weather.fails_before and process.fails(weather.fails_before):
            process.trace(f"{process.name} {name}: not done")
            raise UnavailableError(f"{name} was throttled")
        if process.clock.now() > process.lives_until:
            process.trace(f"{process.name} {name}: its process has lived too long")
            raise CutOffError
        process.check_reach(begun_at)
        answer = method(*args, **kwargs)
        if process.stop is not None:
            process.reach()
        if side > 1 - _BEFORE:
            process.aside()
        if weather.fails_after and process.fails(weather.fails_after):
            process.trace(f"{process.name} {name}: done, and the answer is lost")
            raise UnavailableError(f"the answer of {name} was lost")
        return answer

    def _write(
        self, name: str, method: Callable[..., object], items: Sequence[object], rest: tuple[Any, ...]
    ) -> object:
        """Write a list: sometimes in two halves with other writes in between, and the second half may fail."""
        if len(items) < 2 or self._process.random.random() < 0.7:
            return self._call(name, method, (items, *rest), {})
        half = self._process.random.randrange(1, len(items))
        first = self._call(name, method, (items[:half], *rest), {})
        second = self._call(name, method, (items[half:], *rest), {})
        return None if first is None else cast("list[object]", first) + cast("list[object]", second)


def simulated(port: _Port, process: Process) -> _Port:
    """Return a port as a process sees it: its calls take time, and fail by the weather."""
    return each_port(port, lambda one, called: _SimulatedPort(one, called, process))
