"""Connections to one endpoint, kept between requests; each thread that asks has one to itself meanwhile.

Lambda freezes a sandbox between invocations, and AWS purges idle connections meanwhile. So a connection that has been
idle for long is closed, and so is a connection whose end can be read before it is used. If a kept connection breaks all
the same, the others are as old: all are dropped. If it broke before a byte of an answer came, the request is sent again
at once on a new connection, unless its caller forbids that.

Invariant: no request is sent twice on new connections, nor after an answer has begun, nor after it may have taken long.
A connection on which anything fails is closed.
"""

import os
import select
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

MOST_IDLE_SECONDS = 20
"""How long a kept connection may be idle. AWS documents no bound; an idle scan asks every third second."""

_AT_ONCE_SECONDS = 0.5
"""Within this time a kept connection that AWS has purged breaks: AWS answers a request on it with a reset."""


@dataclass(frozen=True)
class Response:
    """An answer of the endpoint."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class UnansweredError(Exception):
    """No answer came back, or not all of it: the request may have been done."""


class _SwallowedError(ConnectionError):
    """The connection ended before a byte of an answer came."""


class Connections:
    """Connections to an endpoint, as many as are used at once; at most `kept` of them outlast their request.

    `now` (seconds) is the time of day: a monotonic clock may stand still while a sandbox is frozen.
    """

    def __init__(
        self,
        url: str,
        connect_seconds: float,
        read_seconds: float,
        kept: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"no endpoint: {url}")
        self._host, self._port, self._is_plain = parts.hostname, parts.port, parts.scheme == "http"
        self._connect_seconds, self._read_seconds = connect_seconds, read_seconds
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        self._kept, self._now = kept, now
        self.host = parts.netloc.rpartition("@")[2]

    def post(self, headers: Mapping[str, str], body: bytes, *, once: bool = False) -> Response:
        """Post to the root of the endpoint; `once`: the request is never sent again. Raises UnansweredError."""
        kept, begun_at = self._taken(), self._now()
        try:
            if kept is not None:
                try:
                    return self._exchange(kept, headers, body)
                except (OSError, HTTPException) as error:
                    self.close()
                    is_late = self._now() - begun_at > _AT_ONCE_SECONDS
                    if once or is_late or not isinstance(error, _SwallowedError):
                        raise
            return self._exchange(self._opened(), headers, body)
        except (OSError, HTTPException) as error:
            raise UnansweredError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the kept connections."""
        while (connection := self._popped()) is not None:
            connection[0].close()

    def _exchange(self, connection: HTTPConnection, headers: Mapping[str, str], body: bytes) -> Response:
        try:
            answer = _exchanged(connection, headers, body)
        except BaseException:  # another request must not read what was left of this answer
            connection.close()
            raise
        if connection.sock is None or len(self._idle) >= self._kept:  # the endpoint says that it closes it, or enough
            connection.close()
        else:
            self._idle.append((connection, self._now()))
        return answer

    def _taken(self) -> HTTPConnection | None:
        """Return the connection that was used last, if it is young and still open: readable data now is its end."""
        while (found := self._popped()) is not None:
            connection, used_at = found
            is_young = 0 <= self._now() - used_at <= MOST_IDLE_SECONDS
            if is_young and connection.sock is not None and not _is_readable(connection.sock.fileno()):
                return connection
            connection.close()
        return None

    def _popped(self) -> tuple[HTTPConnection, float] | None:
        try:
            return self._idle.pop()
        except IndexError:  # none is left, or another thread was faster
            return None

    def _opened(self) -> HTTPConnection:
        if self._is_plain:
            connection = HTTPConnection(self._host, self._port, timeout=self._connect_seconds)
        else:
            connection = HTTPSConnection(
                self._host, self._port, timeout=self._connect_seconds, context=_trust(os.environ.get("AWS_CA_BUNDLE"))
            )
        connection.connect()
        connection.sock.settimeout(self._read_seconds)
        return connection


def _exchanged(connection: HTTPConnection, headers: Mapping[str, str], body: bytes) -> Response:
    """Send a request in one piece, and read the answer. The headers are ours: none contains a line break."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    request = f"POST / HTTP/1.1\r\n{lines}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body
    response = HTTPResponse(connection.sock, method="POST")
    try:
        connection.sock.sendall(request)
        has_begun = bool(response.fp.peek(1))
    except TimeoutError:
        raise
    except OSError as error:
        raise _SwallowedError(str(error)) from error
    if not has_begun:
        raise _SwallowedError("the connection was closed")
    response.begin()
    if response.length is None and not response.chunked:  # a truncated head would pass for an empty answer
        raise HTTPException("an answer without a length")
    answer = Response(response.status, dict(response.headers), response.read())
    if response.will_close:
        connection.close()
    return answer


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@cache
def _trust(bundle: str | None) -> ssl.SSLContext:
    """Return the trust store: a bundle, or the one that boto3 brings, which is found without loading botocore."""
    if bundle is None:
        spec = find_spec("botocore")
        brought = Path(spec.origin).with_name("cacert.pem") if spec is not None and spec.origin else None
        bundle = str(brought) if brought is not None and brought.exists() else None
    return ssl.create_default_context(cafile=bundle)
