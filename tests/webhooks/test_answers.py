"""What is made of a target's answer, and when the call is said to have left."""

import asyncio
import gzip

import pytest

from tests.webhooks.targets import (
    LOCAL,
    NOW,
    OK,
    Target,
    a_call,
    answering,
    call_target,
    closed_port,
    holding,
    listening,
    receive,
)
from timeball.aws.http_target import BODY_BYTES, HttpCaller, parse_retry_after
from timeball.ports.target import Answer
from timeball.testing.virtual_clock import VirtualClock


def with_body(body: bytes, *fields: str) -> bytes:
    head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields, "", ""])
    return head.encode() + body


@pytest.mark.parametrize("status", [200, 202, 204, 301, 302, 304, 400, 404, 429, 500, 503, 599, 999])
def test_every_status_is_an_answer(status: int) -> None:
    answer, _ = call_target(answering(b"HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n" % status))
    assert answer == Answer(NOW, NOW, status)


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (OK, "ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nok", "ok"),  # ended by the connection's end
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, "ok"),
        (with_body("Grüße €".encode()), "Grüße €"),
        (with_body(b"a\xffb"), "a\ufffdb"),
        (with_body(b"x" * BODY_BYTES), "x" * BODY_BYTES),
        (with_body(b"x" * (BODY_BYTES + 1)), "x" * BODY_BYTES),
        (with_body("€".encode() * BODY_BYTES), "€" * (BODY_BYTES // 3)),
        (with_body(b"\xff" * BODY_BYTES), "\ufffd" * (BODY_BYTES // 3)),  # grows threefold as text
        (with_body(gzip.compress(b"ok", mtime=0), "Content-Encoding: gzip"), ""),
        (with_body(b"no gzip", "Content-Encoding: gzip"), ""),  # it is not even looked at
        (with_body(b"ok", "Content-Encoding: identity"), "ok"),
    ],
)
def test_a_body_is_kept_as_text_up_to_16_kb(raw: bytes, body: str) -> None:
    answer, _ = call_target(answering(raw))
    assert (answer.status, answer.body, answer.error) == (200, body, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("999999999", 999_999_999.0),
        ("Sat, 21 Nov 2026 09:31:00 GMT", 59.877),
        ("Sat, 21 Nov 2026 10:31:00 +0100", 59.877),
        ("Sat, 21 Nov 2026 09:31:00 -0000", 59.877),
        ("Saturday, 21-Nov-26 09:31:00 GMT", 59.877),  # the two older forms of a date in HTTP
        ("Sat Nov 21 09:31:00 2026", 59.877),
        ("Sat, 21 Nov 2026 09:29:00 GMT", 0.0),  # past
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("1e9", None),
        ("9" * 400, None),
        ("٣", None),  # a digit, but not HTTP's
        ("Sat, 99 Nov 2026 09:31:00 GMT", None),
        ("Sat, 21 Nov 99999 09:31:00 GMT", None),
        ("Sat, 21 Nov 2026 09:31:00 +9999999999", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, NOW) == seconds


def test_an_answer_carries_its_retry_after() -> None:
    raw = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"
    answer, _ = call_target(answering(raw))
    assert answer == Answer(NOW, NOW, 503, "busy", retry_after_seconds=7.0)


def test_the_call_leaves_after_the_name_is_resolved_and_ends_when_the_answer_is_read() -> None:
    clock = VirtualClock(NOW)

    def slow_lookup(_: str, __: int) -> list[str]:
        clock.advance(5_000)
        return ["127.0.0.1"]

    async def slow_answer(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(target, reader)
        clock.advance(700)
        writer.write(OK)

    async def main() -> Answer:
        async with listening(slow_answer) as target, HttpCaller(clock, LOCAL, slow_lookup) as caller:
            return await caller.call(a_call(f"http://hooks.example:{target.port}/"))

    assert asyncio.run(main()) == Answer(NOW + 5_000, NOW + 5_700, 200, "ok")


def test_a_call_that_finds_nobody_never_left() -> None:
    async def main() -> Answer:
        async with closed_port() as port, HttpCaller(VirtualClock(NOW), LOCAL) as caller:
            return await caller.call(a_call(f"http://127.0.0.1:{port}/"))

    assert asyncio.run(main()) == Answer(None, NOW, error="127.0.0.1 refused the connection.")


def test_a_target_that_keeps_silent_is_timed_out_and_did_receive_the_call() -> None:
    answer, target = call_target(holding(b""), timeout=0.2)
    error = "127.0.0.1 did not answer in full within 0.2 s."
    assert answer == Answer(NOW, NOW, error=error, timed_out=True)
    assert len(target.requests) == 1


def test_a_cancelled_call_hangs_up() -> None:
    async def main() -> None:
        received, hung_up = asyncio.Event(), asyncio.Event()

        async def notice(target: Target, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            await receive(target, reader)
            received.set()
            await reader.read()
            hung_up.set()

        async with listening(notice) as target, HttpCaller(VirtualClock(NOW), LOCAL) as caller:
            calling = asyncio.create_task(caller.call(a_call(target.url)))
            await received.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            await hung_up.wait()

    asyncio.run(main())


def test_a_caller_that_is_not_open_is_a_mistake_of_ours() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(HttpCaller(VirtualClock(NOW), LOCAL).call(a_call("http://127.0.0.1/")))
