"""Targets that send without end: each is cut within bounds, and the other calls of its batch continue meanwhile."""

import asyncio
import ssl
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.effort import in_yardsticks
from tests.webhooks.floods import FLOODS, flooding
from tests.webhooks.targets import (
    LOCAL,
    NOW,
    OK,
    Behaviour,
    Target,
    a_call,
    answering,
    endless,
    holding,
    listening,
    no_answer,
    self_signed,
    success,
    trusting,
)
from timeball.ports.target import Answer
from timeball.targets.http.caller import HttpCaller, http_caller
from timeball.targets.http.exchange import BODY_BYTES, HEAD_BYTES, WIRE_BYTES
from timeball.testing.virtual_clock import VirtualClock

CUT = "127.0.0.1 sent more than 256 KB around its answer, or more than 32 KB before it."
MIDDLE = "127.0.0.1 closed the connection in the middle of its answer, or broke the rules of HTTP there."
GARBAGE = "The answer of 127.0.0.1 is not HTTP, or its headers are too large."
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FOR_EVER = 600.0

over_both = pytest.mark.parametrize("over", ["plain", "tls"])


async def call_once(
    behave: Behaviour, tls: ssl.SSLContext | None = None, trust: Path | None = None, times: int = 1
) -> Sequence[Answer]:
    async with (
        asyncio.timeout(FOR_EVER / 2),  # far below the call's own timeout: a flood that only times out fails
        listening(behave, tls=tls) as target,
        http_caller(VirtualClock(NOW), LOCAL, trust=trust) as caller,
    ):
        return await asyncio.gather(*(caller.call(a_call(target.url, timeout=FOR_EVER)) for _ in range(times)))


def answers(behave: Behaviour, over: str, folder: Path, times: int = 1) -> Sequence[Answer]:
    if over == "plain":
        return asyncio.run(call_once(behave, times=times))
    return asyncio.run(call_once(behave, self_signed(folder), trusting(folder), times))


ENDS = {
    "interim answers": CUT,
    "interim answers with headers": GARBAGE,  # more than 5,000 of them
    "a chunk's extensions": CUT,
    "a chunk size's zeros": MIDDLE,  # more digits than any size has
    "tiny chunks with extensions": CUT,
    "line ends before the answer": GARBAGE,
}


@over_both
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_cut_and_its_error_says_what_it_was(flood: str, over: str, tmp_path: Path) -> None:
    assert answers(endless(*FLOODS[flood]), over, tmp_path) == [no_answer(ENDS[flood])]


@over_both
def test_endless_trailers_break_the_rules_of_http(over: str, tmp_path: Path) -> None:
    flood = endless(CHUNKED + b"0\r\n", b"a:\r\n" * 16_384)
    assert answers(flood, over, tmp_path) == [no_answer(MIDDLE)]


def test_bytes_of_tls_itself_count_too(tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    tls.num_tickets = 2_000
    [answer] = asyncio.run(call_once(holding(b""), tls, trusting(tmp_path)))
    assert (answer.status, answer.error) == (None, CUT)


@pytest.mark.parametrize(("length", "error"), [(WIRE_BYTES, None), (WIRE_BYTES + 1, CUT)])
def test_exactly_256_kb_are_accepted(length: int, error: str | None, tmp_path: Path) -> None:
    begin, end = CHUNKED + b"2;", b"\r\nok\r\n0\r\n\r\n"
    [answer] = answers(answering(begin + b"a" * (length - len(begin + end)) + end), "plain", tmp_path)
    assert answer.error == error


@pytest.mark.parametrize(("length", "error"), [(HEAD_BYTES - 1_000, None), (HEAD_BYTES + 100_000, CUT)])
def test_32_kb_may_come_before_an_answer(length: int, error: str | None, tmp_path: Path) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
    [answer] = answers(answering(interim * (length // len(interim)) + OK), "plain", tmp_path)
    assert answer.error == error


HEADERS = b"".join(b"X-%d: %s\r\n" % (number, b"v" * 1_000) for number in range(8))
LARGE = b"x" * 5_000_000


@over_both
@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LARGE) + LARGE,
        b"HTTP/1.1 200 OK\r\n\r\n" + LARGE,
        b"HTTP/1.1 200 OK\r\n\r\n" + LARGE[:BODY_BYTES],  # ends with the connection, before it is parsed
        b"HTTP/1.1 103 E\r\nLink: a\r\n\r\n" * 5 + b"HTTP/1.1 200 OK\r\n" + HEADERS + b"\r\n" + LARGE[:BODY_BYTES],
        CHUNKED + b"1\r\nx\r\n" * BODY_BYTES + b"0\r\n\r\n",
    ],
    ids=["large", "large without a length", "ended by its end", "large head", "tiny chunks"],
)
def test_a_whole_batch_of_merely_large_answers_is_read(raw: bytes, over: str, tmp_path: Path) -> None:
    batch = answers(answering(raw), over, tmp_path, times=10)
    assert [(answer.status, len(answer.body), answer.error) for answer in batch] == [(200, BODY_BYTES, None)] * 10


async def speak_first(_: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n" + HEADERS + b"\r\n" + bytes(range(65, 125)) * 150)
    await reader.read()


@over_both
def test_an_answer_that_comes_before_its_request_is_read_in_its_order(over: str, tmp_path: Path) -> None:
    batch = answers(speak_first, over, tmp_path, times=10)
    assert [(answer.status, answer.body) for answer in batch] == [(200, bytes(range(65, 125)).decode() * 150)] * 10


def test_a_long_chain_of_certificates_is_no_flood(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    self_signed(tmp_path)
    own = (tmp_path / "target.pem").read_text()
    self_signed(tmp_path / "other")
    certificate = (tmp_path / "other/target.pem").read_text().partition("-----END PRIVATE KEY-----\n")[2]
    trust = trusting(tmp_path)
    (tmp_path / "target.pem").write_text(own + certificate * 150)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "target.pem")
    assert asyncio.run(call_once(answering(OK), tls, trust)) == [success("ok")]


class ProcessorTime:
    """A clock that advances only while this thread computes, so other work of the machine makes no call late."""

    def now(self) -> int:
        return int(time.thread_time() * 1_000)

    async def sleep_until(self, moment: int) -> None:
        raise AssertionError(f"a caller waits for no instant, and this one for {moment}")


async def latest_start(caller: HttpCaller, clock: ProcessorTime, hostile: str, neighbour: str) -> int:
    """Call nine hostile targets at once, and a neighbour repeatedly; return how late (ms) its latest call left."""
    nine = [asyncio.create_task(caller.call(a_call(hostile))) for _ in range(9)]
    late = 0
    while not all(call.done() for call in nine):
        instant = clock.now()
        answer = await caller.call(a_call(neighbour, timeout=FOR_EVER))
        assert answer.called_at is not None
        assert answer.status == 200
        late = max(late, answer.called_at - instant)
    return late


@over_both
@pytest.mark.parametrize("flood", ["interim answers", "interim answers with headers"])
def test_nine_floods_do_not_delay_a_neighbour(flood: str, over: str, tmp_path: Path) -> None:
    trust = None
    if over == "tls":
        self_signed(tmp_path)
        trust = trusting(tmp_path)
    clock = ProcessorTime()

    async def main(hostile: str, neighbour: str) -> list[int]:
        async with http_caller(clock, LOCAL, trust=trust) as caller:
            return [await latest_start(caller, clock, hostile, neighbour) for _ in range(3)]

    with flooding(flood, tmp_path if trust else None) as (hostile, neighbour):
        late = sorted(asyncio.run(main(hostile, neighbour)))
    print(f"{flood}, {over}: a neighbour's call left {late} ms late")  # noqa: T201 -- a figure for `pytest -s`
    assert in_yardsticks(late[1]) < 50
