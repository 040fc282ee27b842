"""Which requests are sent again, and after which waits; on real sockets where the connection matters."""

import json
import logging
import socket
from pathlib import Path

import pytest

from tests.client.scripted import KEY, NOW, Scripted, ScriptedServer, StillClock, client_of
from timeball.client import (
    ApiError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    Quota,
    Stale,
    Timeball,
    TimeballError,
    Unavailable,
)
from timeball.client.retries import TRIES, Outcome, is_repeatable, seconds_of, wait_before_next

DOCUMENT = Path(__file__).parents[2] / "docs/openapi.json"
OK = Scripted(200, {"jobId": "report", "status": "pending"})
LOST = Scripted(0)
BUSY = Scripted(503, {"type": "urn:timeball:problem:unavailable", "detail": "Again, please."}, {"Retry-After": "3"})


def asked(script: list[Scripted], method: str, path: str, body: object = None) -> tuple[ScriptedServer, StillClock]:
    """Send a request that succeeds in the end; return the server that has seen it, and the clock of the waits."""
    clock = StillClock()
    with ScriptedServer(script) as server, client_of(server, clock) as timeball:
        timeball.request(method, path, body)
    return server, clock


def refused(script: list[Scripted], method: str, path: str) -> tuple[ApiError, ScriptedServer, StillClock]:
    """Send a request that fails; return the error, the server that has seen it, and the clock of the waits."""
    clock = StillClock()
    with ScriptedServer(script) as server, client_of(server, clock) as timeball, pytest.raises(ApiError) as raised:
        timeball.request(method, path, {} if method in ("POST", "PUT") else None)
    return raised.value, server, clock


def test_a_lost_answer_is_asked_for_again_with_the_same_idempotency_key() -> None:
    server, clock = asked([LOST, BUSY, OK], "POST", "/v1/jobs", {"handler": "https://example.com/hook"})
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert [seen.json for seen in server.seen] == [{"handler": "https://example.com/hook"}] * 3
    assert clock.slept[1] >= 3


def test_each_post_has_a_key_of_its_own() -> None:
    with ScriptedServer([OK]) as server, client_of(server, StillClock()) as timeball:
        timeball.request("POST", "/v1/jobs", {})
        timeball.request("POST", "/v1/jobs", {})
    assert server.seen[0].headers["idempotency-key"] != server.seen[1].headers["idempotency-key"]


def test_a_program_that_begins_again_makes_nothing_twice(timeball: Timeball) -> None:
    job = {"handler": "https://example.com/hook", "everySeconds": 60}
    first = timeball.jobs.create(job, idempotency_key="import-7")
    assert timeball.jobs.create(job, idempotency_key="import-7").id == first.id
    run = timeball.jobs.trigger(first.id, idempotency_key="tonight")
    assert timeball.jobs.trigger(first.id, idempotency_key="tonight").id == run.id
    made = timeball.jobs.batch([job], idempotency_key="many").items[0].job
    again = timeball.jobs.batch([job], idempotency_key="many").items[0].job
    assert made is not None
    assert again is not None
    assert made.id == again.id


def test_a_key_that_the_program_gives_is_sent_instead() -> None:
    with ScriptedServer([OK]) as server, client_of(server, StillClock()) as timeball:
        timeball.request("POST", "/v1/jobs", {}, headers={"idempotency-key": "import-7"})
    assert server.seen[0].headers["idempotency-key"] == "import-7"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_a_request_that_may_be_repeated_is(method: str) -> None:
    server, _ = asked([LOST, OK], method, "/v1/jobs/report", {"handler": "x"} if method == "PUT" else None)
    assert [seen.method for seen in server.seen] == [method] * 2


@pytest.mark.parametrize("answer", [LOST, BUSY])
@pytest.mark.parametrize("path", ["/v1/admin/keys", "/v1/targets:test", "/v1/dead-letters:replay"])
def test_a_request_whose_repeat_has_another_effect_is_not_repeated(path: str, answer: Scripted) -> None:
    error, server, _ = refused([answer, OK], "POST", path)
    assert isinstance(error, Unavailable)
    assert len(server.seen) == 1


@pytest.mark.parametrize(("limit", "times"), [({}, 2), ({"limit": 5}, 1)])
def test_a_discard_is_repeated_only_without_a_limit(limit: dict[str, int], times: int) -> None:
    with (
        ScriptedServer([LOST, Scripted(500)]) as server,
        client_of(server, StillClock()) as timeball,
        pytest.raises(Unavailable),
    ):
        timeball.request("POST", "/v1/dead-letters:discard", {"filter": {}, **limit})
    assert len(server.seen) == times


def test_a_refused_flood_is_repeated_whatever_was_asked_because_nothing_was_done() -> None:
    server, clock = asked([Scripted(429, {"message": "Too Many Requests"}), OK], "POST", "/v1/admin/keys", {})
    assert len(server.seen) == 2
    assert 0.25 <= clock.slept[0] <= 0.5


def test_tries_are_bounded_and_waits_grow() -> None:
    _, server, clock = refused([Scripted(503)], "GET", "/v1/jobs")
    assert len(server.seen) == TRIES
    assert len(clock.slept) == TRIES - 1
    assert all(longest / 2 <= wait <= longest for wait, longest in zip(clock.slept, [0.5, 1, 2, 4], strict=True))


def test_an_answer_that_asks_for_a_long_wait_is_raised_at_once() -> None:
    quota = Scripted(
        429,
        {"type": "urn:timeball:problem:quota-exceeded", "detail": "Too many.", "quota": "eventPatterns"},
        {"Retry-After": "60"},
    )
    error, _, clock = refused([quota], "PUT", "/v1/jobs/report")
    assert isinstance(error, Quota)
    assert (error.quota, error.retry_after, clock.slept) == ("eventPatterns", 60, [])


def test_a_server_that_is_not_there_is_unavailable() -> None:
    clock = StillClock()
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        timeball = Timeball(f"http://127.0.0.1:{held.getsockname()[1]}", KEY, clock=clock)
        with timeball, pytest.raises(Unavailable, match="did not answer"):
            timeball.request("POST", "/v1/admin/keys", {"role": "viewer"})
    assert len(clock.slept) == TRIES - 1  # nothing was sent, so even this may be tried again


def test_a_server_that_does_not_answer_in_time_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        timeball = Timeball(f"http://127.0.0.1:{silent.getsockname()[1]}", KEY, clock=StillClock(), timeout=0.01)
        with timeball, pytest.raises(Unavailable, match="ReadTimeout"):
            timeball.request("POST", "/v1/targets:test", {})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (405, ApiError),
        (409, Conflict),
        (412, Stale),
        (413, Invalid),
        (422, Conflict),
        (500, Unavailable),
    ],
)
def test_a_status_has_its_error_even_without_a_problem(status: int, kind: type[ApiError]) -> None:
    bodies = [b"<html>", b"[]", b'{"message": "Forbidden"}', b""]
    script = [Scripted(status, body) for body in bodies]
    with ScriptedServer(script) as server, client_of(server, StillClock()) as timeball:
        for _ in bodies:
            with pytest.raises(ApiError) as raised:
                timeball.request("GET", "/v1/jobs")
            assert type(raised.value) is kind
            assert raised.value.status == status
            assert str(raised.value)


def test_no_log_error_or_text_has_the_key(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), ScriptedServer([LOST, Scripted(401, {})]) as server:
        timeball = client_of(server, StillClock())
        with timeball, pytest.raises(TimeballError) as raised:
            timeball.request("GET", "/v1/jobs")
    texts = [caplog.text, repr(timeball), repr(vars(timeball)), str(raised.value), repr(vars(raised.value))]
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert caplog.records
    assert not [text for text in texts if "the-secret" in text]


def test_a_redirect_is_not_followed_because_the_key_would_go_along() -> None:
    _, server, _ = refused([Scripted(302, {}, {"Location": "/elsewhere"})], "GET", "/v1/jobs")
    assert [seen.path for seen in server.seen] == ["/v1/jobs"]


def test_a_header_that_cannot_be_sent_is_refused_without_a_word_of_it() -> None:
    with ScriptedServer([OK]) as server:
        timeball = client_of(server, StillClock())
        with timeball, pytest.raises(ValueError, match="bad character") as raised:
            timeball.request("GET", "/v1/jobs", headers={"X-Team": "the-secret\n"})
    assert "the-secret" not in repr(raised.value)
    assert raised.value.__suppress_context__


def test_an_unchanged_resource_is_no_error() -> None:
    with ScriptedServer([Scripted(304, b"", {"ETag": '"7"'})]) as server, client_of(server, StillClock()) as timeball:
        reply = timeball.send("GET", "/v1/now", headers={"If-None-Match": '"7"'})
    assert (reply.status, reply.body, reply.headers["etag"]) == (304, None, '"7"')


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("Wed, 18 Nov 2026 11:06:45 GMT", 5.0),  # NOW is five seconds before
        ("Wed, 18 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_wait_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header, NOW) == seconds


def test_a_decision_needs_no_network() -> None:
    lost = Outcome(None)
    assert wait_before_next(lost, 1, repeatable=True, draw=1.0) == 0.5
    assert wait_before_next(lost, 1, repeatable=False, draw=1.0) is None
    assert wait_before_next(lost, TRIES, repeatable=True, draw=1.0) is None
    assert wait_before_next(Outcome(404), 1, repeatable=True, draw=1.0) is None


KEYLESS_AND_HARMLESS = {
    "/v1/freezes:preview",
    "/v1/jobs/{jobId}/pause",
    "/v1/jobs/{jobId}/resume",
    "/v1/jobs/{jobId}/revisions/{revision}:restore",
    "/v1/runs/{runId}/cancel",
    "/v1/runs/{runId}/complete",
    "/v1/runs/{runId}/fail",
    "/v1/runs/{runId}/heartbeat",
    "/v1/runs/{runId}/succeed",
    "/v1/schedules:preview",
}
"""The POST requests without an Idempotency-Key that change nothing twice, as docs/reference/api.md says."""


def test_each_post_of_the_document_has_a_key_or_a_decision() -> None:
    posts = {
        path: any(one.get("name") == "Idempotency-Key" for one in item["post"].get("parameters", ()))
        for path, item in json.loads(DOCUMENT.read_text(encoding="utf-8"))["paths"].items()
        if "post" in item
    }
    assert {path for path, has_key in posts.items() if not has_key} >= KEYLESS_AND_HARMLESS
    replays = {"/v1/dead-letters:replay"}  # it takes a key, but another effect may follow
    for path, has_key in posts.items():
        expected = (has_key and path not in replays) or path in KEYLESS_AND_HARMLESS
        assert is_repeatable("POST", path) == expected, path
