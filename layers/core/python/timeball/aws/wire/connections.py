"""Connections to one endpoint, kept between requests; each thread that asks has one to itself meanwhile.

Invariant: a request is sent at most once. A kept connection that was closed meanwhile is seen before it is used, and
replaced; one on which anything goes wrong is closed.
"""

import os
import select
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class UnansweredError(Exception):
    """No answer came back, or not all of it: the request may have been done."""


class Connections:
    """Connections to an endpoint, as many as are used at once; `kept` of them at most outlast their request."""

    def __init__(self, url: str, connect_seconds: float, read_seconds: float, kept: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"no endpoint: {url}")
        self._host, self._port, self._is_plain = parts.hostname, parts.port, parts.scheme == "http"
        self._connect_seconds, self._read_seconds = connect_seconds, read_seconds
        self._idle: deque[HTTPConnection] = deque()
        self._kept = kept
        self.host = parts.netloc.rpartition("@")[2]

    def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Post to the root of the endpoint. Raises UnansweredError."""
        try:
            connection = self._taken() or self._opened()
            try:
                answer = _exchanged(connection, headers, body)
            except BaseException:  # nobody may read here what was an answer to somebody else
                connection.close()
                raise
        except (OSError, HTTPException) as error:
            raise UnansweredError(f"{type(error).__name__}: {error}") from error
        if connection.sock is None or len(self._idle) >= self._kept:  # the endpoint says that it closes it, or enough
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self) -> HTTPConnection | None:
        """Take the connection that was used last, if it still stands: what can be read there now is its end."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if connection.sock is not None and not _is_readable(connection.sock.fileno()):
                return connection
            connection.close()
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


def _exchanged(connection: HTTPConnection, headers: Mapping[str, str], body: bytes) -> Answer:
    """Send a request in one piece, and read what comes back. The headers are ours: none has a line's end in it."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    connection.sock.sendall(f"POST / HTTP/1.1\r\n{lines}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body)
    response = HTTPResponse(connection.sock, method="POST")
    response.begin()
    if response.length is None and not response.chunked:  # a head that was cut off would pass for an empty answer
        raise HTTPException("an answer of no length")
    answer = Answer(response.status, dict(response.headers), response.read())
    if response.will_close:
        connection.close()
    return answer


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@cache
def _trust(bundle: str | None) -> ssl.SSLContext:
    """Return what certificates are verified by: a bundle, or the one that boto3 brings, which is found, not loaded."""
    if bundle is None:
        spec = find_spec("botocore")
        brought = Path(spec.origin).with_name("cacert.pem") if spec is not None and spec.origin else None
        bundle = str(brought) if brought is not None and brought.exists() else None
    return ssl.create_default_context(cafile=bundle)
