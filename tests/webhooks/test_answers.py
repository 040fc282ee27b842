"""The result of a call for each answer of its target, and when the call is said to have left."""

import asyncio
import gzip
from dataclasses import replace

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
    no_answer,
    receive,
    success,
)
from timeball.domain.model.runs.values import Failed, Succeeded
from timeball.ports.target import Answer
from timeball.targets.http.caller import http_caller
from timeball.targets.http.exchange import BODY_BYTES
from timeball.testing.virtual_clock import VirtualClock


def with_body(body: bytes, *fields: str) -> bytes:
    head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields, "", ""])
    return head.encode() + body


@pytest.mark.parametrize("status", [200, 202, 204, 301, 302, 304, 400, 404, 429, 500, 503, 599, 999])
def test_every_status_is_an_answer(status: int) -> None:
    answer, _ = call_target(answering(b"HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n" % status))
    assert (answer.called_at, answer.finished_at, answer.status, answer.body) == (NOW, NOW, status, "")
    assert isinstance(answer.verdict, Succeeded) is (status < 300)


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (OK, "ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", "ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nok", "ok"),  # the connection's end is the body's end
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, "ok"),
        (with_body("Grüße €".encode()), "Grüße €"),
        (with_body(b"a\xffb"), "a\ufffdb"),
        (with_body(b"x" * BODY_BYTES), "x" * BODY_BYTES),
        (with_body(b"x" * (BODY_BYTES + 1)), "x" * BODY_BYTES),
        (with_body("€".encode() * BODY_BYTES), "€" * (BODY_BYTES // 3)),
        (with_body(b"\xff" * BODY_BYTES), "\ufffd" * (BODY_BYTES // 3)),  # three times as large as text
        (with_body(gzip.compress(b"ok", mtime=0), "Content-Encoding: gzip"), ""),
        (with_body(b"no gzip", "Content-Encoding: gzip"), ""),  # not even decoded
        (with_body(b"ok", "Content-Encoding: identity"), "ok"),
    ],
)
def test_a_body_is_kept_as_text_up_to_16_kb(raw: bytes, body: str) -> None:
    answer, _ = call_target(answering(raw))
    assert (answer.status, answer.body, answer.error) == (200, body, None)


def test_an_answer_includes_its_retry_after() -> None:
    raw = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"
    answer, _ = call_target(answering(raw))
    error = "The target answered with status 503."
    assert answer == Answer(Failed(may_retry=True, retry_after_seconds=7.0), NOW, NOW, 503, "busy", error, is_down=True)


def test_a_call_leaves_after_the_name_is_resolved_and_ends_when_the_answer_is_read() -> None:
    clock = VirtualClock(NOW)

    def slow_lookup(_: str, __: int) -> list[str]:
        clock.advance(5_000)
        return ["127.0.0.1"]

    async def slow_answer(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(target, reader)
        clock.advance(700)
        writer.write(OK)

    async def main() -> Answer:
        async with listening(slow_answer) as target, http_caller(clock, LOCAL, slow_lookup) as caller:
            return await caller.call(a_call(f"http://hooks.example:{target.port}/"))

    assert asyncio.run(main()) == replace(success("ok"), called_at=NOW + 5_000, finished_at=NOW + 5_700)


def test_a_call_of_a_port_without_a_listener_never_left() -> None:
    async def main() -> Answer:
        async with closed_port() as port, http_caller(VirtualClock(NOW), LOCAL) as caller:
            return await caller.call(a_call(f"http://127.0.0.1:{port}/"))

    assert asyncio.run(main()) == no_answer("127.0.0.1 refused the connection.", None)


def test_a_silent_target_is_timed_out_and_did_receive_the_call() -> None:
    answer, target = call_target(holding(b"", leaps=60), timeout=60)
    error = "127.0.0.1 did not answer in full within 60 s."
    assert answer == no_answer(error, timed_out=True)
    assert len(target.requests) == 1


def test_a_call_that_outlasts_its_caller_is_cancelled_and_does_not_affect_the_next() -> None:
    async def main() -> tuple[bool, Answer]:
        async with listening(holding(b"")) as silent, listening(answering(OK)) as target:
            async with http_caller(VirtualClock(NOW), LOCAL) as caller:
                calling = asyncio.create_task(caller.call(a_call(silent.url)))
                while not silent.requests:
                    await asyncio.sleep(0)
            async with http_caller(VirtualClock(NOW), LOCAL) as caller:
                answer = await caller.call(a_call(target.url))
            await asyncio.wait([calling])
            return calling.cancelled(), answer

    assert asyncio.run(main()) == (True, success("ok"))


def test_a_cancelled_call_hangs_up() -> None:
    async def main() -> None:
        received, hung_up = asyncio.Event(), asyncio.Event()

        async def notice(target: Target, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            await receive(target, reader)
            received.set()
            await reader.read()
            hung_up.set()

        async with listening(notice) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            calling = asyncio.create_task(caller.call(a_call(target.url)))
            await received.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            await hung_up.wait()

    asyncio.run(main())
