"""The API and the engine in memory, behind both transports of httpx, and clocks that move the engine's."""

import httpx

from tests.console.world import World
from timeball.client import AsyncTimeball, Timeball
from timeball.domain.time.instants import SECOND_MS
from timeball.rehearsal.transport import MemoryTransport

URL = "http://timeball.test"


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests by a world; `asked` lists them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[httpx.Request] = []
        self._memory = MemoryTransport(lambda event: world.handle(event))  # noqa: PLW0108 - a test may replace the method

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self._memory.handle_request(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return await self._memory.handle_async_request(request)


class WorldClock:
    """Waits by letting the engine work; `slept` has each wait in seconds."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.slept: list[float] = []

    def now(self) -> float:
        return self.world.clock.now() / SECOND_MS

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.world.advance(seconds)


class AsyncWorldClock:
    """The same with an event loop."""

    def __init__(self, world: World) -> None:
        self._clock = WorldClock(world)

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


def client(world: World, role: str = "admin") -> Timeball:
    return Timeball(URL, world.keys[role], transport=Transport(world), clock=WorldClock(world))


def async_client(world: World, role: str = "admin") -> AsyncTimeball:
    return AsyncTimeball(URL, world.keys[role], transport=Transport(world), clock=AsyncWorldClock(world))
