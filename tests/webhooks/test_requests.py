"""The request that a target receives."""

import asyncio
from dataclasses import replace

import pytest

from tests.webhooks.targets import (
    LOCAL,
    NOW,
    OK,
    RUN,
    Target,
    a_call,
    answering,
    call_target,
    listening,
    receive,
)
from timeball import __version__
from timeball.domain.model.ids import RunId
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.targets.http.caller import http_caller
from timeball.testing.virtual_clock import VirtualClock


def test_a_target_receives_the_payload_and_the_ids_of_its_run_and_attempt() -> None:
    answer, target = call_target(answering(OK), headers={"Authorization": "Bearer s3cret"})
    (request,) = target.requests
    assert (answer.status, answer.body, answer.error) == (200, "ok", None)
    assert (request.line, request.body) == ("POST /hook HTTP/1.1", b'{"n": 1}')
    expected = {
        "host": f"127.0.0.1:{target.port}",
        "authorization": "Bearer s3cret",
        "content-type": "application/json",
        "user-agent": f"Timeball/{__version__}",
        "accept-encoding": "identity",
        "timeball-tenant": "acme",
        "timeball-job-id": "nightly",
        "timeball-run-id": f"nightly.{NOW - 100}.s",
        "timeball-attempt": "1",
        "timeball-fire-time": "2026-11-21T09:30:00.023Z",
        "timeball-scheduled-by": "schedule",
        "idempotency-key": f"nightly.{NOW - 100}.s",
        "webhook-id": f"nightly.{NOW - 100}.s",
        "webhook-timestamp": str(NOW // 1000),
    }
    assert {name: request.headers.get(name) for name in expected} == expected
    assert not {"cookie", "webhook-signature", "transfer-encoding"} & request.headers.keys()


def test_a_call_that_continues_a_trace_has_its_header_and_any_other_call_has_none() -> None:
    context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    async def main() -> list[str | None]:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            own = Work(HttpTarget(target.url, headers={"Traceparent": "the user's"}), None)
            for call in (a_call(target.url), a_call(target.url, work=own)):
                await caller.call(call)
                await caller.call(replace(call, traceparent=context))
        return [request.headers.get("traceparent") for request in target.requests]

    assert asyncio.run(main()) == [None, context, "the user's", context]


def test_the_ids_of_a_run_stay_the_same_over_its_attempts() -> None:
    async def main() -> list[tuple[str, ...]]:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            for attempt in (1, 2):
                await caller.call(a_call(target.url, attempt=attempt))
        names = ("timeball-attempt", "idempotency-key", "webhook-id")
        return [tuple(request.headers[name] for name in names) for request in target.requests]

    assert asyncio.run(main()) == [("1", str(RUN), str(RUN)), ("2", str(RUN), str(RUN))]


@pytest.mark.parametrize(("takes_report", "expected"), [(True, "token of nightly 1"), (False, None)])
def test_a_target_that_may_report_receives_the_token_of_its_attempt(
    expected: str | None, *, takes_report: bool
) -> None:
    def sign(run: RunId, attempt: int) -> str:
        return f"token of {run.job.job_id} {attempt}"

    async def main() -> str | None:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL, sign=sign) as caller:
            await caller.call(replace(a_call(target.url), takes_report=takes_report))
        (request,) = target.requests
        return request.headers.get("timeball-callback-token")

    assert asyncio.run(main()) == expected


@pytest.mark.parametrize(
    ("header", "given", "sent"),
    [
        ("content-type", "application/cloudevents+json", "application/cloudevents+json"),  # the user's choice
        ("user-agent", "acme/1", "acme/1"),
        ("Accept-Encoding", "gzip", "identity"),  # ours
        ("idempotency-key", "mine", str(RUN)),
        ("timeball-attempt", "7", "1"),
        ("WEBHOOK-ID", "forged", str(RUN)),
        ("X-Name", "Zoë", "ZoÃ«"),  # UTF-8, as this server decodes it
    ],
)
def test_a_user_may_set_headers_but_not_forge_ours(header: str, given: str, sent: str) -> None:
    _, target = call_target(answering(OK), headers={header: given})
    assert target.requests[0].headers[header.lower()] == sent


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "internal"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("Expect", "100-continue"),
        ("Upgrade", "websocket"),
        ("X-A", "s3cret\r\nX-B: 2"),
        ("X-A", "s3cret\n"),
        ("X-A", "s3cret\x00"),
        ("X-A", "s3cret\ud800"),
        ("X A", "s3cret"),
        ("X-A:", "s3cret"),
        ("", "s3cret"),
        ("X-Ä", "s3cret"),
    ],
)
def test_a_header_that_would_break_the_request_fails_the_call_before_it_leaves(header: str, value: str) -> None:
    answer, target = call_target(answering(OK), headers={header: value})
    assert target.connections == 0
    assert (answer.called_at, answer.status) == (None, None)
    assert answer.error is not None
    assert "header" in answer.error
    assert "s3cret" not in answer.error


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "post"])
def test_each_method_is_sent(method: str) -> None:
    answer, target = call_target(answering(b"HTTP/1.1 204 No Content\r\n\r\n"), method=method)
    assert answer.status == 204
    assert target.requests[0].line == f"{method.upper()} /hook HTTP/1.1"
    assert target.requests[0].body == b'{"n": 1}'


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "", "GET / HTTP/1.1\r\nX: y\r\n\r\n", "PÖST"])
def test_an_unknown_method_fails_the_call_before_it_leaves(method: str) -> None:
    answer, target = call_target(answering(OK), method=method)
    assert (target.connections, answer.status, answer.called_at) == (0, None, None)
    assert answer.error is not None
    assert answer.error.startswith("The target's method must be one of")


def test_a_job_without_payload_sends_no_body_and_no_content_type() -> None:
    _, target = call_target(answering(OK), payload=None)
    assert target.requests[0].body == b""
    assert target.requests[0].headers["content-length"] == "0"
    assert "content-type" not in target.requests[0].headers


def test_a_payload_of_256_kb_arrives_whole() -> None:
    payload = '"' + "é" * 131_000 + '"'
    answer, target = call_target(answering(OK), payload=payload)
    assert answer.status == 200
    assert target.requests[0].body == payload.encode()


def test_cookies_of_one_answer_are_not_sent_with_the_next_call() -> None:
    async def main() -> Target:
        raw = b"HTTP/1.1 200 OK\r\nSet-Cookie: id=1; Path=/\r\nContent-Length: 0\r\n\r\n"
        async with listening(answering(raw)) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            for _ in range(2):
                await caller.call(a_call(target.url))
        return target

    target = asyncio.run(main())
    assert len(target.requests) == 2
    assert all("cookie" not in request.headers for request in target.requests)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    answer, _ = call_target(answering(OK))
    assert answer.status == 200


def test_fifty_calls_are_under_way_at_once() -> None:
    everyone = 50

    async def main() -> tuple[list[int | None], int]:
        full = asyncio.Event()

        async def wait_for_all(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receive(target, reader)
            if len(target.requests) == everyone:
                full.set()
            await full.wait()
            writer.write(OK)

        async with listening(wait_for_all) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            work = Work(HttpTarget(target.url))
            calls = (caller.call(a_call(target.url, work=work, attempt=n)) for n in range(everyone))
            answers = await asyncio.gather(*calls)
        return [answer.status for answer in answers], target.connections

    assert asyncio.run(main()) == ([200] * everyone, everyone)


def test_each_call_has_a_connection_of_its_own() -> None:
    async def main() -> int:
        async with listening(answering_for_ever) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            for _ in range(3):
                assert (await caller.call(a_call(target.url))).status == 200
        return target.connections

    async def answering_for_ever(target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await receive(target, reader)
            writer.write(OK)

    assert asyncio.run(main()) == 3


@pytest.mark.parametrize(
    ("name", "value"), [("X-Empty", ""), ("Accept", "text/plain"), ("x-A", "a;b"), ("X-B", "a: b")]
)
def test_a_header_arrives_as_it_was_written(name: str, value: str) -> None:
    _, target = call_target(answering(OK), headers={name: value})
    assert target.requests[0].headers[name.lower()] == value


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("/a/../b/./c//d", "/a/../b/./c//d"),
        ("/%2e%2E/caf%C3%A9/%7Eid;v=1@x:y", "/%2e%2E/caf%C3%A9/%7Eid;v=1@x:y"),
        ("/hook?x=/../y&z=%2F+1&&=", "/hook?x=/../y&z=%2F+1&&="),
        ("?x=1", "/?x=1"),
        ("", "/"),
        ('/{id}|"<>\\^`', "/%7Bid%7D%7C%22%3C%3E%5C%5E%60"),  # characters that no URL may contain
    ],
)
def test_the_part_of_a_url_after_the_host_arrives_as_it_was_written(url: str, line: str) -> None:
    async def main() -> str:
        async with listening(answering(OK)) as target, http_caller(VirtualClock(NOW), LOCAL) as caller:
            await caller.call(a_call(target.url.removesuffix("/hook") + url))
            return target.requests[0].line

    assert asyncio.run(main()) == f"POST {line} HTTP/1.1"
