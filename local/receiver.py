"""A target on this machine that records when it was called: lateness is measured where the call arrives.

Invariant: the clock is read before a request's bytes are processed, so that a call is never recorded earlier than it
arrived, and is recorded later only if the loop was busy at its arrival.

Paths: `/ok` answers 200, `/accepted` 202; `/flaky/<n>` answers 500 to the attempts up to n, then 200; `/slow/<seconds>`
answers 200 after this time, and `/slow/<seconds>/<n>` does so for the attempts up to n, then at once. All other paths
answer 404 and are recorded too.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from timeball.domain.time.instants import parse_instant

_MAX_HEAD_BYTES = 64 * 1024
_BACKLOG = 1024
_REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}


@dataclass(frozen=True)
class ReceivedRequest:
    """A request at its arrival, instants in ms. A request that is not a call of Timeball has no ids and fire time 0."""

    at: int
    path: str
    run_id: str
    job_id: str
    attempt: int
    fire_at: int
    body: bytes
    status: int
    token: str = ""


@dataclass(frozen=True)
class PlannedReply:
    """The answer of a path to an attempt, and its delay."""

    status: int
    after_seconds: float = 0.0


def reply_to(path: str, attempt: int) -> PlannedReply:
    """Return the answer of a path to an attempt (numbered from 1)."""
    match path.strip("/").split("/"):
        case ["ok"]:
            return PlannedReply(200)
        case ["accepted"]:
            return PlannedReply(202)
        case ["flaky", failures] if failures.isdecimal():
            return PlannedReply(500 if attempt <= int(failures) else 200)
        case ["slow", seconds] if _is_number(seconds):
            return PlannedReply(200, float(seconds))
        case ["slow", seconds, slow] if _is_number(seconds) and slow.isdecimal():
            return PlannedReply(200, float(seconds) if attempt <= int(slow) else 0.0)
    return PlannedReply(404)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


class Receiver:
    """A server on the loopback interface and a free port; leaving the context ends it."""

    def __init__(self) -> None:
        self._arrivals: list[ReceivedRequest] = []
        self._open: set[asyncio.Transport] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="receiver", daemon=True)
        self._ended = asyncio.Event()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if not self.url:
            self._thread.join()
            raise OSError("the receiver found no port to listen on")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def arrivals(self) -> list[ReceivedRequest]:
        """Return the requests that have arrived, in order."""
        return list(self._arrivals)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                runner.run(self._listen())
            finally:
                self._ready.set()

    async def _listen(self) -> None:
        server = await self._loop.create_server(
            lambda: _Connection(self._arrivals, self._open), "127.0.0.1", 0, backlog=_BACKLOG
        )
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._ended.wait()
        server.close()
        for transport in [*self._open]:
            transport.abort()
        await server.wait_closed()


class _Connection(asyncio.Protocol):
    """One connection, which carries one request."""

    def __init__(self, arrivals: list[ReceivedRequest], connections: set[asyncio.Transport]) -> None:
        self._arrivals = arrivals
        self._connections = connections
        self._received = b""
        self._arrived_at: int | None = None
        self._answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a connection that cannot be written to")
        self._transport = transport
        self._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        now = time.time_ns() // 1_000_000
        if self._arrived_at is None:
            self._arrived_at = now
        if self._answered:
            return
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            if len(head) > _MAX_HEAD_BYTES:
                self._answer(PlannedReply(400))
            return
        try:
            path, headers = _read_head(head)
            length = int(headers.get("content-length", "0"))
            if len(body) < length:
                return
            arrival = _arrival(self._arrived_at, path, headers, body[:length])
        except ValueError:
            self._answer(PlannedReply(400))
            return
        self._arrivals.append(arrival)
        self._answer(reply_to(path, arrival.attempt))

    def _answer(self, reply: PlannedReply) -> None:
        self._answered = True
        if reply.after_seconds:
            asyncio.get_running_loop().call_later(reply.after_seconds, self._write, reply.status)
        else:
            self._write(reply.status)

    def _write(self, status: int) -> None:
        if not self._transport.is_closing():
            line = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            self._transport.write(line.encode())
            self._transport.close()


def _read_head(head: bytes) -> tuple[str, Mapping[str, str]]:
    """Return the path and the headers, with names in lower case; raise ValueError if it is not HTTP."""
    line, *fields = head.decode("latin-1").split("\r\n")
    _method, path, _version = line.split(" ")
    pairs = (field.partition(":") for field in fields)
    return path, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _arrival(at: int, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
    fire_time = headers.get("timeball-fire-time")
    attempt = int(headers.get("timeball-attempt", "0"))
    return ReceivedRequest(
        at=at,
        path=path,
        run_id=headers.get("timeball-run-id", ""),
        job_id=headers.get("timeball-job-id", ""),
        attempt=attempt,
        fire_at=0 if fire_time is None else parse_instant(fire_time),
        body=body,
        status=reply_to(path, attempt).status,
        token=headers.get("timeball-callback-token", ""),
    )
