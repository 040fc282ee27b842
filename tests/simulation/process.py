"""A simulated process: its calls of the world take time, may fail, and stop for as long as the process is frozen.

Engine code is written as plain calls. Here it runs in a greenlet, which stands aside at each call of a port, so that
every other process may go on between any two calls. All of it happens on one event loop in virtual time: the same seed
gives the same story.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ParamSpec, TypeVar, cast

from greenlet import getcurrent, greenlet

from timeball.ports import UnavailableError
from timeball.testing.faults import LIST_WRITES
from timeball.testing.virtual_clock import VirtualClock

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Port = TypeVar("_Port")

_UNHEARD = 10**15


@dataclass
class Weather:
    """How bad the world is: shares of calls that fail before or after they take effect, and the longest answer time."""

    fails_before: float = 0.0
    fails_after: float = 0.0
    latency_ms: int = 20
    slow: float = 0.0


@dataclass
class Process:
    """One process, and its own idea of the time. It is the clock of its world."""

    name: str
    clock: VirtualClock
    random: Random
    weather: Weather
    skew_ms: int = 0
    frozen_until: int = 0
    trace: Callable[[str], None] = field(default=lambda _: None)

    def now(self) -> int:
        """Return what this process takes for the present instant."""
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
        """Stop the process for a while; it does not notice."""
        self.frozen_until = max(self.frozen_until, self.clock.now() + milliseconds)
        self.trace(f"{self.name} is frozen for {milliseconds} ms")

    @property
    def is_dead(self) -> bool:
        """Whether the process was killed."""
        return self.frozen_until == _UNHEARD

    def kill(self) -> None:
        """End the process: none of its calls is ever answered."""
        self.frozen_until = _UNHEARD
        self.trace(f"{self.name} is killed")

    async def run(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run blocking work that stands aside at each of its calls: the engine's `Offload`."""
        inner = greenlet(work)
        paused = inner.switch(*args, **kwargs)
        while not inner.dead:
            await asyncio.sleep(paused / 1000)
            await self.thaw()
            paused = inner.switch()
        return cast("_T", paused)

    def aside(self) -> None:
        """Stand aside, within `run`, for as long as a call takes."""
        slow = self.weather.slow > self.random.random()
        latency = self.random.randrange(1, self.weather.latency_ms + 1) * (100 if slow else 1)
        parent = getcurrent().parent
        if parent is not None:
            parent.switch(latency)

    def fails(self, share: float) -> bool:
        """Say whether this call is one of those that fail."""
        return share > self.random.random()


class _SimulatedPort:
    def __init__(self, port: object, process: Process) -> None:
        self._port, self._process = port, process

    def __getattr__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._port, name)
        if name in LIST_WRITES:
            return lambda items, *rest: self._write(name, method, items, rest)
        return lambda *args, **kwargs: self._call(name, method, args, kwargs)

    def _call(self, name: str, method: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        process = self._process
        process.aside()
        if process.fails(process.weather.fails_before):
            process.trace(f"{process.name} {name}: not done")
            raise UnavailableError(f"{name} was throttled")
        answer = method(*args, **kwargs)
        process.aside()
        if process.fails(process.weather.fails_after):
            process.trace(f"{process.name} {name}: done, and the answer is lost")
            raise UnavailableError(f"the answer of {name} was lost")
        return answer

    def _write(
        self, name: str, method: Callable[..., object], items: Sequence[object], rest: tuple[Any, ...]
    ) -> object:
        """Write a list: sometimes in two halves with others in between, of which the second may fail."""
        if len(items) < 2 or self._process.random.random() < 0.7:
            return self._call(name, method, (items, *rest), {})
        half = self._process.random.randrange(1, len(items))
        first = self._call(name, method, (items[:half], *rest), {})
        second = self._call(name, method, (items[half:], *rest), {})
        return None if first is None else cast("list[object]", first) + cast("list[object]", second)


def simulated(port: _Port, process: Process) -> _Port:
    """Return a port as a process sees it: its calls take time, and fail as the weather has it."""
    return cast("_Port", _SimulatedPort(port, process))
