"""Connections are kept and never shared; only a request that a purged connection swallowed is sent a second time."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.webhooks.targets import self_signed
from timeball.aws.connections import MOST_IDLE_SECONDS, Connections, UnansweredError

HEADERS = {"host": "here", "x-amz-target": "T"}
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
CLOSING = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

Serve = Callable[[socket.socket, int], bool]
"""Handle a request on a connection; False: hang up. The argument is the number of earlier requests."""


@dataclass
class Server:
    """A server that records the connection of each request."""

    serve: Serve
    listening: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    came_on: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def run(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self.listening.accept()
            except ssl.SSLError:  # the client rejects the certificate
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()
            number += 1

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as came:
            while came.readline():
                lines = [*iter(came.readline, b"\r\n")]
                length = next(int(line.split()[1]) for line in lines if line.startswith(b"content-length"))
                self.bodies.append(came.read(length))
                self.came_on.append(number)
                if not self.serve(connection, len(self.came_on) - 1):
                    break
            with suppress(OSError):  # the client may have hung up before
                connection.shutdown(socket.SHUT_RDWR)
        self.hung_up.set()


@pytest.fixture
def serve() -> Iterator[Callable[[Serve], Server]]:
    servers: list[Server] = []

    def start(how: Serve) -> Server:
        servers.append(Server(how))
        threading.Thread(target=servers[-1].run, daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.listening.close()


@contextmanager
def connections(server: Server, read_seconds: float = 10) -> Iterator[Connections]:
    with closing(Connections(server.url, connect_seconds=10, read_seconds=read_seconds, kept=4)) as found:
        yield found


def send(connection: socket.socket, answer: bytes) -> bool:
    connection.sendall(answer)
    return True


ANSWERS = {
    # The answer, and whether the connection is used again.
    "with a length": (ANSWER, True),
    "in chunks": (CHUNKED, True),
    "for the last time": (CLOSING, False),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_connection_is_used_again_unless_its_end_was_announced(serve: Callable[[Serve], Server], case: str) -> None:
    answer, is_kept = ANSWERS[case]
    server = serve(lambda connection, _: send(connection, answer))
    with connections(server) as asked:
        assert [asked.post(HEADERS, b"%d" % number).body for number in range(3)] == [b"{}"] * 3
    assert server.bodies == [b"0", b"1", b"2"]
    assert len(set(server.came_on)) == (1 if is_kept else 3)


def test_a_kept_connection_that_was_closed_meanwhile_is_replaced_before_anything_is_sent(
    serve: Callable[[Serve], Server],
) -> None:
    server = serve(lambda connection, _: not send(connection, ANSWER))
    with connections(server) as asked:
        asked.post(HEADERS, b"first")
        server.hung_up.wait(10)
        assert asked.post(HEADERS, b"second").status == 200
    assert server.bodies == [b"first", b"second"]


BROKEN: dict[str, bytes | None] = {
    "nothing at all": None,
    "the end of the connection": b"",
    "half of a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half of a body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
    "no HTTP": b"hello\r\n\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_missing_answer_is_unknown_and_its_request_is_not_repeated(
    serve: Callable[[Serve], Server], case: str
) -> None:
    said, silent = BROKEN[case], threading.Event()
    server = serve(lambda connection, _: silent.wait(10) if said is None else not send(connection, said))
    with connections(server, read_seconds=0.2) as asked:
        with pytest.raises(UnansweredError):
            asked.post(HEADERS, b"once")
        silent.set()
        assert server.bodies == [b"once"]
        assert not asked._idle


@pytest.mark.parametrize("case", ["half of a head", "half of a body", "no HTTP"])
def test_a_request_on_a_kept_connection_is_not_repeated_once_its_answer_has_begun(
    serve: Callable[[Serve], Server], case: str
) -> None:
    server = serve(
        lambda connection, number: send(connection, BROKEN[case] or b"" if number else ANSWER) and not number
    )
    with connections(server) as asked:
        asked.post(HEADERS, b"first")
        with pytest.raises(UnansweredError):
            asked.post(HEADERS, b"once")
    assert server.bodies == [b"first", b"once"]


def test_a_request_that_must_not_be_repeated_is_not_sent_again_on_a_new_connection(
    serve: Callable[[Serve], Server],
) -> None:
    server = serve(lambda connection, number: number == 0 and send(connection, ANSWER))
    with connections(server) as asked:
        asked.post(HEADERS, b"first")
        with pytest.raises(UnansweredError):
            asked.post(HEADERS, b"once", once=True)
    assert server.bodies == [b"first", b"once"]


def test_a_connection_that_was_idle_for_long_is_not_used_again(serve: Callable[[Serve], Server]) -> None:
    server, seconds = serve(lambda connection, _: send(connection, ANSWER)), [1_000.0]
    with closing(Connections(server.url, 10, 10, kept=4, now=lambda: seconds[0])) as asked:
        for idle_seconds in (0, MOST_IDLE_SECONDS, MOST_IDLE_SECONDS + 1, -1):
            seconds[0] += idle_seconds
            asked.post(HEADERS, b"")
    assert server.came_on == [0, 0, 1, 2]


def _with_kept(server: Server, asked: Connections, count: int) -> None:
    """Let this many connections be kept: send as many requests at once."""
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(lambda _: asked.post(HEADERS, b"warm"), range(count)))
    server.came_on.clear()
    server.bodies.clear()


def test_the_first_purged_connection_drops_all_and_its_request_is_sent_again_on_a_new_one(
    serve: Callable[[Serve], Server],
) -> None:
    together = threading.Barrier(8)

    def answer(connection: socket.socket, _: int) -> bool:
        if server.bodies[-1] == b"warm":
            together.wait(10)
            return send(connection, ANSWER)
        if server.came_on[-1] < 8:  # as a connection that AWS has purged: a reset, and nothing else
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return False
        return send(connection, ANSWER)

    server = serve(answer)
    with connections(server) as asked:
        _with_kept(server, asked, 8)
        assert asked.post(HEADERS, b"once").body == b"{}"
        assert len(server.came_on) == 2
        assert server.came_on[0] < 8 <= server.came_on[1]
        assert asked.post(HEADERS, b"next").body == b"{}"
        assert server.came_on[2] == server.came_on[1]


def test_a_kept_connection_that_stays_silent_drops_all_and_its_request_is_unanswered_once(
    serve: Callable[[Serve], Server],
) -> None:
    together, silent = threading.Barrier(3), threading.Event()

    def answer(connection: socket.socket, _: int) -> bool:
        if server.bodies[-1] == b"warm":
            together.wait(10)
            return send(connection, ANSWER)
        if server.came_on[-1] < 3:
            return not silent.wait(10)
        return send(connection, ANSWER)

    server = serve(answer)
    with connections(server, read_seconds=0.3) as asked:
        _with_kept(server, asked, 3)
        with pytest.raises(UnansweredError):
            asked.post(HEADERS, b"once")
        assert asked.post(HEADERS, b"again").body == b"{}"
        silent.set()
    assert server.bodies == [b"once", b"again"]


def test_a_request_to_an_unreachable_endpoint_is_unanswered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UnansweredError):
        Connections(f"http://127.0.0.1:{port}", 1, 1, kept=1).post(HEADERS, b"")


def test_simultaneous_requests_have_a_connection_each_and_get_their_own_answers(
    serve: Callable[[Serve], Server],
) -> None:
    together = threading.Barrier(4)

    def answer(connection: socket.socket, _: int) -> bool:
        together.wait(10)
        return send(connection, ANSWER)

    server = serve(answer)
    with connections(server) as asked, ThreadPoolExecutor(4) as threads:
        for _ in range(3):
            answers = list(threads.map(lambda _: asked.post(HEADERS, b""), range(4)))
            assert [answer.body for answer in answers] == [b"{}"] * 4
    assert sorted(set(server.came_on)) == [0, 1, 2, 3]


@pytest.mark.parametrize("url", ["dynamodb.example", "ftp://example", "https://example/path"])
def test_an_invalid_endpoint_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no endpoint"):
        Connections(url, 1, 1, kept=1)


def test_over_tls_no_request_is_sent_to_a_server_without_a_trusted_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = self_signed(tmp_path)
    server = Server(lambda connection, _: send(connection, ANSWER))
    server.listening = tls.wrap_socket(server.listening, server_side=True)
    threading.Thread(target=server.run, daemon=True).start()
    url = server.url.replace("http:", "https:")
    with server.listening, closing(Connections(url, 10, 10, kept=1)) as asked:
        with pytest.raises(UnansweredError, match="CERTIFICATE_VERIFY_FAILED"):
            asked.post(HEADERS, b"secret")
        monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "target.pem"))
        assert [asked.post(HEADERS, b"told").body for _ in range(2)] == [b"{}"] * 2
        assert server.bodies == [b"told"] * 2
        assert server.came_on[0] == server.came_on[1]


def test_no_more_connections_than_the_limit_outlive_their_requests(serve: Callable[[Serve], Server]) -> None:
    together = threading.Barrier(4)

    def answer(connection: socket.socket, _: int) -> bool:
        together.wait(10)
        return send(connection, ANSWER)

    server = serve(answer)
    with closing(Connections(server.url, 10, 10, kept=1)) as asked, ThreadPoolExecutor(4) as threads:
        for _ in range(2):
            assert len(list(threads.map(lambda _: asked.post(HEADERS, b""), range(4)))) == 4
    assert len(set(server.came_on)) == 4 + 3
