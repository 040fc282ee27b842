"""Requests to the API in memory: by a transport of httpx, which a client takes in place of the network.

Its answers come at once. Where a client waits, the clock of the rehearsal passes.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx

from timeball.domain.time.instants import SECOND_MS
from timeball.rehearsal.in_memory import Event, InMemory
from timeball.testing.gateway import event_of, sent_body

Handle = Callable[[Event], Mapping[str, Any]]
"""Answers an event of the HTTP API."""


class MemoryTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers requests from the API in memory, for clients with an event loop and without one."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        return self._answer(request, await request.aread())

    def _answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        query = request.url.query.decode("ascii")
        event = event_of(
            request.method,
            unquote(request.url.raw_path.decode("ascii").partition("?")[0]),
            dict(request.headers.items()),
            parse_qsl(query, keep_blank_values=True),
            body,
        )
        answer = self._handle(event | {"rawQueryString": query})
        return httpx.Response(answer["statusCode"], headers=answer["headers"], content=sent_body(answer))


class RehearsalClock:
    """The clock of a client: a pause lets the engine work."""

    def __init__(self, memory: InMemory, run_for: Callable[[float], object]) -> None:
        self._memory, self._run_for = memory, run_for

    def now(self) -> float:
        """Return the virtual time in seconds since 1970."""
        return self._memory.clock.now() / SECOND_MS

    def sleep(self, seconds: float) -> None:
        """Let so much virtual time pass."""
        self._run_for(seconds)


class AsyncRehearsalClock:
    """The clock of a client with an event loop: a pause lets the engine work."""

    def __init__(self, memory: InMemory, run_for: Callable[[float], object]) -> None:
        self._clock = RehearsalClock(memory, run_for)

    def now(self) -> float:
        """Return the virtual time in seconds since 1970."""
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        """Let so much virtual time pass."""
        self._clock.sleep(seconds)


def ask(memory: InMemory, method: str, path: str, body: object, key: str) -> int:
    """Send a request to the API with a key or a token, and return the status of its answer."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    return int(memory.handle(event_of(method, path, headers, body=json.dumps(body).encode()))["statusCode"])
