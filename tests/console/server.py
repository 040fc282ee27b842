"""Serve the console and the API in memory on a port of this machine: `python -m tests.console.server [empty|demo|…]`.

The pages are read from their folder at each change, so a reload shows an edit. The clock follows this machine's, and
with `--virtual` it stands: a test moves it by `advance`.
"""

import argparse
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit
from wsgiref.handlers import format_date_time

from tests.api.client import Answer
from tests.console.seeds import PLAYED_SECONDS, SEEDS
from tests.console.world import STARTS_AT, World
from timeball.console.packing import ServedFile, pack, served_in, unpack
from timeball.console.serving import PREFIX, answer
from timeball.domain.time.instants import SECOND_MS
from timeball.testing.gateway import event_of, sent_body

FOLDER = Path(__file__).parents[2] / "console"


@dataclass(frozen=True)
class Asked:
    """A request that was answered."""

    method: str
    path: str
    status: int


class _Folder:
    """The pages of the folder, packed anew when a file has changed."""

    def __init__(self) -> None:
        self._state: object = None
        self._pages: Mapping[str, ServedFile] = {}

    def pages(self, path: str) -> Mapping[str, ServedFile]:
        """Return the pages to answer a path from; only a request of the index looks for edits."""
        if path.rstrip("/") == PREFIX or not self._pages:
            state = [(path, file.stat().st_mtime_ns) for path, file in served_in(FOLDER)]
            if state != self._state:
                self._state, self._pages = state, unpack(pack(FOLDER))
        return self._pages


class ConsoleServer:
    """A server with a world of its own; `asked` lists its answered requests."""

    def __init__(self, port: int = 0, at: int | None = None) -> None:
        self.follows_machine = False
        self.world = World(STARTS_AT if at is None else at)
        self.asked: list[Asked] = []
        self._lock = threading.RLock()
        self._folder = _Folder()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            self.world.close()

    def reset(self) -> None:
        """Begin a world that is empty, at the same address."""
        with self._lock:
            self.world.close()
            self.world = World()
            self.asked = []

    @cached_property
    def base(self) -> str:
        """The URL of the API, with a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    @property
    def url(self) -> str:
        """The URL of the console, with a slash at its end."""
        return f"{self.base}console/"

    @property
    def keys(self) -> Mapping[str, str]:
        """An API key of each role."""
        return self.world.keys

    def link(self, role: str = "admin") -> str:
        """Return an address that opens the console logged in, once."""
        with self._lock:
            self._catch_up()
            return f"{self.base}console#s={self.world.code(role)}"

    def call(self, method: str, path: str, body: object = None, **also: Any) -> Answer:
        """Send a request, as `World.call` does."""
        with self._lock:
            self._catch_up()
            return self.world.call(method, path, body, **also)

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send a request that succeeds, as `World.send` does."""
        with self._lock:
            self._catch_up()
            return self.world.send(method, path, body)

    def seed(self, name: str) -> None:
        """Make the resources of `SEEDS`; the virtual clock is later afterwards."""
        with self._lock:
            SEEDS[name](self.world)

    def advance(self, seconds: float) -> None:
        """Let the engine work for so many seconds."""
        with self._lock:
            self.world.advance(seconds)

    def answer(self, event: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Answer a request, one at a time."""
        with self._lock:
            self._catch_up()
            if event["rawPath"] == PREFIX or event["rawPath"].startswith(f"{PREFIX}/"):
                answered = answer(self._folder.pages(event["rawPath"]), event)
            else:
                answered = dict(self.world.handle(event))
            date = {"Date": format_date_time(self.world.clock.now() / SECOND_MS)}
            status = int(answered["statusCode"])
            self.asked.append(Asked(event["requestContext"]["http"]["method"], event["rawPath"], status))
            return status, answered["headers"] | date, sent_body(answered)

    def _catch_up(self) -> None:
        if self.follows_machine:
            self.world.until(_now())


def _now() -> int:
    return time.time_ns() // 1_000_000


def _handler_of(server: ConsoleServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            event = _event(self.command, self.path, self.headers.items(), self.rfile.read(length))
            status, headers, body = server.answer(event)
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815 - as the base class

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


def _event(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> dict[str, Any]:
    """Return the event that API Gateway makes of a request."""
    parts = urlsplit(target)
    sent = {**dict(headers), "X-Forwarded-Proto": "http"}
    event = event_of(method, unquote(parts.path), sent, parse_qsl(parts.query, keep_blank_values=True), body)
    return event | {"rawQueryString": parts.query}


def main(arguments: list[str]) -> None:
    """Serve until Ctrl-C; Enter prints another link."""
    parser = argparse.ArgumentParser(prog="python -m tests.console.server", description="Serve the console in memory.")
    parser.add_argument("seed", nargs="?", default="demo", choices=[*SEEDS], help="what the tenant has")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--virtual", action="store_true", help="let the clock stand")
    asked = parser.parse_args(arguments)
    at = None if asked.virtual else _now() - (0 if asked.seed == "empty" else PLAYED_SECONDS * SECOND_MS)
    with ConsoleServer(asked.port, at=at) as server:
        server.seed(asked.seed)
        server.follows_machine = not asked.virtual
        for role, key in server.keys.items():
            sys.stdout.write(f"{role:>10}  {key}\n")
        sys.stdout.write("Enter prints another link, Ctrl-C ends it.\n")
        while True:
            sys.stdout.write(f"\n{server.link()}\n")
            sys.stdout.flush()
            if not sys.stdin.readline():
                threading.Event().wait()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
