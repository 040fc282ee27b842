"""A server on the loopback interface that answers as a test says, and a clock on which no time passes."""

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from timeball.client import Timeball

KEY = "tb_acme.0123456789ab_the-secret-of-the-tests"
NOW = 1_795_000_000.0


@dataclass(frozen=True)
class Scripted:
    """One answer; a status of 0 closes the connection after the request was read."""

    status: int
    body: object = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ScriptedServer:
    """Answers request after request by its script, and then by its last line again."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        self.seen: list[Seen] = []
        self._script = list(script)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script, seen = self._script, self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen.append(Seen(self.command, self.path, headers, body))
                line = script[min(len(seen), len(script)) - 1]
                if not line.status:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                text = line.body if isinstance(line.body, bytes) else json.dumps(line.body).encode()
                self.send_response_only(line.status)
                for name, value in ({"Content-Type": "application/json"} | dict(line.headers)).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - as the base class

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        return Handler

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class StillClock:
    """A clock that only its sleeps move."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return NOW + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def client_of(server: ScriptedServer, clock: StillClock, timeout: float = 10) -> Timeball:
    return Timeball(server.url, KEY, clock=clock, timeout=timeout)
