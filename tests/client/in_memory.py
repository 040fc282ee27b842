"""The API and the engine in memory, behind both transports of httpx, and clocks that move the engine's."""

import base64
from typing import Any

import httpx

from tests.api.client import event_of, sent_body
from tests.console.world import World
from timeball.client import AsyncTimeball, Timeball
from timeball.domain.time.instants import SECOND_MS

URL = "http://timeball.test"


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests by a world; `asked` lists them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer(request, await request.aread())

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        self.asked.append(request)
        query: dict[str, Any] = {}
        for name, value in request.url.params.multi_items():
            query.setdefault(name, []).append(value)
        event = event_of(request.method, request.url.path, None, dict(request.headers), query)
        if body:
            event |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        answer = self.world.handle(event)
        return httpx.Response(answer["statusCode"], headers=answer["headers"], content=sent_body(answer))


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
