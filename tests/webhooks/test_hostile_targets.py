"""Hostile and broken targets: each call ends with a result, within bounds of time and memory."""

import asyncio
import gzip
import logging

import pytest

from tests.leap import leap
from tests.webhooks.targets import (
    LOCAL,
    NOW,
    OK,
    Behaviour,
    Target,
    a_call,
    answering,
    call_target,
    call_url,
    endless,
    holding,
    listening,
    no_answer,
    receive,
    success,
)
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Answer
from timeball.targets.http.caller import http_caller
from timeball.targets.http.exchange import BODY_BYTES
from timeball.testing.virtual_clock import VirtualClock

SECRET = {"Authorization": "Bearer s3cret"}

EARLY = "127.0.0.1 closed the connection before it answered."

MIDDLE = "127.0.0.1 closed the connection in the middle of its answer, or broke the rules of HTTP there."

GARBAGE = "The answer of 127.0.0.1 is not HTTP, or its headers are too large."

LATE = "127.0.0.1 did not answer in full within 60 s."

BROKEN = [
    (b"", EARLY),
    (b"HTTP/1.1 200 OK\r\nContent-Le", EARLY),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", MIDDLE),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", MIDDLE),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n", MIDDLE),
    (b"\x00\xff\xfe garbage\r\n\r\n", GARBAGE),
    (b"SSH-2.0-OpenSSH_9.6\r\n", GARBAGE),
    (b"HTTP/1.1 abc OK\r\n\r\n", GARBAGE),
    (b"HTTP/9.9 200 OK\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", GARBAGE),
    (b"HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", EARLY),
    (b"HTTP/1.1 200 OK\r\n: nameless\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 200 OK\r\n" + b"X-Flood: 1\r\n" * 5_000 + b"\r\n", GARBAGE),
    (b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1_000_000 + b"\r\n\r\n", GARBAGE),
    (b"HTTP/1.1 200 " + b"O" * 1_000_000 + b"\r\n\r\n", GARBAGE),
]


@pytest.mark.parametrize(("raw", "error"), BROKEN)
def test_a_broken_answer_fails_the_call_with_a_reason(raw: bytes, error: str) -> None:
    answer, target = call_target(answering(raw), headers=SECRET)
    assert answer == no_answer(error)
    assert target.connections == 1


SLOW = [
    b"",
    b"H",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\n\r\nab",
]


@pytest.mark.parametrize("raw", SLOW)
def test_a_target_that_stalls_is_given_up_at_the_timeout(raw: bytes) -> None:
    answer, _ = call_target(holding(raw, leaps=60), timeout=60)
    assert answer == no_answer(LATE, timed_out=True)


async def trickle(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await receive(target, reader)
    writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        leap(5)
        await asyncio.sleep(0)


def test_a_byte_now_and_then_does_not_keep_a_call_alive() -> None:
    answer, _ = call_target(trickle, timeout=60)
    assert answer == no_answer(LATE, timed_out=True)


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n"]
)
def test_an_endless_body_is_cut_off(head: bytes) -> None:
    sent: list[int] = []
    answer, _ = call_target(endless(head, b"x" * 65_536, sent))
    assert answer == success("x" * BODY_BYTES)
    assert sum(sent) < 50_000_000  # the kernel buffered this much before the caller hung up


def test_an_endless_header_is_cut_off() -> None:
    answer, _ = call_target(endless(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 65_536, []))
    assert answer == no_answer(GARBAGE)


def test_a_gzip_bomb_is_not_opened() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    answer, _ = call_target(answering(head + bomb))
    assert answer == success()


def test_a_redirect_is_not_followed() -> None:
    async def main() -> tuple[Answer, int]:
        async with listening(answering(OK)) as private:
            location = f"HTTP/1.1 307 Moved\r\nLocation: {private.url}\r\nContent-Length: 0\r\n\r\n".encode()
            async with (
                listening(answering(location)) as target,
                http_caller(VirtualClock(NOW), LOCAL) as caller,
            ):
                return await caller.call(a_call(target.url)), private.connections

    answer, connections = asyncio.run(main())
    assert (answer.status, connections) == (307, 0)


async def slam(_: Target, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "POST"])
@pytest.mark.parametrize("behave", [slam, answering(b"")])
def test_no_method_is_sent_twice_when_the_connection_breaks(behave: Behaviour, method: str) -> None:
    answer, target = call_target(behave, method=method, headers=SECRET)
    assert answer == no_answer(EARLY)
    assert target.connections == 1


async def refuse_upload(_: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()
    await reader.read()


def test_an_answer_before_the_payload_is_read_is_an_answer() -> None:
    answer, _ = call_target(refuse_upload, payload='"' + "x" * 250_000 + '"')
    assert answer.status == 413


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "//hooks.example/",
        "/hook",
        "ftp://hooks.example/",
        "file:///etc/passwd",
        "ws://hooks.example/",
        "tcp://hooks.example/",
        "http://",
        "http:///hook",
        "http://:80/",
        "http://?",
        "http://hooks.example:99999/",
        "http://hooks.example:-1/",
        "http://hooks.example:port/",
        "http://[::1/",
        "http://[hooks]/",
        "http://[v1.a]/",
        "http://a..example/",
        "http://.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 20_000 + "example/",
        "http://" + "ä" * 20_000 + "/",
        "http://xn--a-\u0000/",
        "http://ho oks.example/",
        "http://hooks\r\n.example/",
        "http://hooks\\.example/",
        "http://hooks.example\ud800/",
        "http://user:s3cret@/",
        "http://%31%32%37.0.0.1/",
    ],
)
def test_a_malformed_url_fails_the_call(url: str) -> None:
    def nobody(_: str, __: int) -> list[str]:
        raise OSError

    answer = call_url(url, lookup=nobody)
    assert (answer.called_at, answer.status, answer.timed_out) == (None, None, False)
    assert answer.error is not None
    assert len(answer.error) < 350
    assert "s3cret" not in answer.error


def test_a_payload_that_is_no_text_fails_the_call() -> None:
    answer, target = call_target(answering(OK), payload="\ud800")
    assert (answer.status, target.connections) == (None, 0)
    assert answer.error is not None


def test_neither_errors_nor_logs_show_secrets(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> list[Answer]:
        answers = []
        async with http_caller(VirtualClock(NOW), LOCAL) as caller:
            for raw, _ in BROKEN:
                async with listening(answering(raw)) as target:
                    url = target.url + "?key=s3cret"
                    work = Work(HttpTarget(url, headers={"X-Key": "s3cret"}), '"s3cret"')
                    answers.append(await caller.call(a_call(url, work=work)))
        return answers

    with caplog.at_level(logging.DEBUG):
        answers = asyncio.run(main())
    assert "s3cret" not in repr(answers) + caplog.text
