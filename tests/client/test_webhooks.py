"""Calls as the executor sends them: verified, refused, and reported on by the attempt's token."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import standardwebhooks

from tests.client.in_memory import URL, AsyncWorldClock, Transport, WorldClock
from tests.console.world import World
from timeball.client import AsyncWebhookCall, Conflict, NotVerified, Timeball, WebhookCall, async_verify, verify
from timeball.client.values.encoding import UNSET, Unset
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.target import Call
from timeball.targets.http.request import parse_key, request_of

NEW, OLD, OTHER = "whsec_" + "MDEy" * 8, "whsec_" + "YWJj" * 10, "whsec_" + "eHl6" * 8
CALLBACK = {
    "handler": "https://example.com/accept",
    "completion": "callback",
    "timeoutSeconds": 600,
    "heartbeatSeconds": 60,
    "payload": {"rows": "ä"},
}


def called(world: World) -> Call:
    """Return the call of a job that answers 202 and reports later."""
    world.send("PUT", "/v1/jobs/report", CALLBACK)
    world.advance(5)
    return world.target.calls[-1]


def sent(world: World, call: Call, *secrets: str) -> tuple[Mapping[str, str], bytes]:
    """Return the headers and the body of a call, signed with the keys of secrets."""
    keys = [key for secret in secrets if (key := parse_key(secret)) is not None]
    token = token_of(call.run, call.attempt, world.store.signing.secrets("s" * 64).newest)
    request = request_of(call, world.clock.now(), token, keys)
    return request.headers, request.body or b""


def now(world: World) -> float:
    return world.clock.now() / SECOND_MS


def received(world: World, **changes: Any) -> WebhookCall:
    headers, body = sent(world, called(world), NEW)
    asked: dict[str, Any] = {"headers": headers, "body": body, "secret": NEW, "now": now(world)}
    return verify(**asked, url=URL, transport=Transport(world), clock=WorldClock(world), **changes)


def test_a_signed_call_is_verified_and_read(world: World) -> None:
    call = received(world)
    assert call.verified
    assert (call.job_id, call.attempt, call.payload) == ("report", 1, {"rows": "ä"})
    assert call.fire_time == datetime(2026, 11, 23, 9, 30, tzinfo=UTC)
    assert (call.delivery.tenant, call.delivery.scheduled_by, call.delivery.depth) == ("acme", "schedule", 0)
    assert call.run_id == call.idempotency_key == world.send("GET", "/v1/jobs/report/runs")["items"][0]["runId"]


@pytest.mark.parametrize("secret", [OLD, NEW, [OTHER, NEW], [OLD, OTHER]])
def test_a_rotation_breaks_no_call_whichever_secret_the_endpoint_has(world: World, secret: Any) -> None:
    headers, body = sent(world, called(world), NEW, OLD)
    assert verify(headers=headers, body=body, secret=secret, now=now(world)).verified


def test_another_library_signs_in_the_same_way(world: World) -> None:
    headers, body = sent(world, called(world))
    run, at = headers["webhook-id"], datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signature = standardwebhooks.Webhook(NEW).sign(run, at, body.decode())
    signed = {**headers, "Webhook-Signature": f"v2,other {signature}"}
    assert verify(headers=signed, body=body, secret=NEW, now=now(world)).verified


def test_a_call_without_a_secret_is_read_and_says_that_it_was_not_verified(world: World) -> None:
    headers, body = sent(world, called(world))
    call = verify(headers=[(name.encode(), value.encode()) for name, value in headers.items()], body=body)
    assert not call.verified
    assert call.payload == {"rows": "ä"}


@pytest.mark.parametrize(
    ("change", "secret", "seconds", "sentence"),
    [
        ({}, OTHER, 0, "No signature of the call is of this secret"),
        ({}, NEW, 301, "older or younger than 300 s"),
        ({}, NEW, -301, "older or younger than 300 s"),
        ({"webhook-signature": ""}, NEW, 0, "not signed"),
        ({"webhook-signature": "v1,AAAA v1a,xyz ☃"}, NEW, 0, "No signature"),
        ({"webhook-timestamp": "soon"}, NEW, 0, "older or younger"),
        ({"webhook-timestamp": "٣"}, NEW, 0, "older or younger"),
        ({"webhook-timestamp": "1" * 5000}, NEW, 0, "older or younger"),
        ({"webhook-id": "another"}, NEW, 0, "No signature"),
        ({"Timeball-Run-Id": "another"}, NEW, 0, "not the one that the call names"),
        ({"Timeball-Attempt": "first"}, NEW, 0, "cannot be read"),
        ({"Timeball-Fire-Time": "yesterday"}, UNSET, 0, "cannot be read"),
        ({"Timeball-Job-Id": None}, UNSET, 0, "it has no header 'timeball-job-id'"),
    ],
)
def test_a_call_that_is_not_timeballs_is_refused(
    world: World, change: Mapping[str, str | None], secret: str | Unset, seconds: int, sentence: str
) -> None:
    headers, body = sent(world, called(world), NEW)
    changed = {name: value for name, value in {**headers, **change}.items() if value is not None}
    with pytest.raises(NotVerified) as refused:
        verify(headers=changed, body=body, secret=secret, now=now(world) + seconds)
    assert sentence in str(refused.value)


def test_a_body_that_was_changed_is_refused(world: World) -> None:
    headers, body = sent(world, called(world), NEW)
    with pytest.raises(NotVerified):
        verify(headers=headers, body=body + b" ", secret=NEW, now=now(world))


@pytest.mark.parametrize("secret", ["MDEy", "whsec_", "whsec_s3cret!", ["whsec_s3cret!"]])
def test_a_secret_that_is_none_is_refused_without_a_word_of_it(world: World, secret: Any) -> None:
    headers, body = sent(world, called(world), NEW)
    with pytest.raises(ValueError, match="A secret is whsec_ and base64") as refused:
        verify(headers=headers, body=body, secret=secret, now=now(world))
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("secret", [None, "", [], (), [None], [NEW, ""]])
def test_a_secret_that_is_given_but_empty_lets_no_call_pass(world: World, secret: Any) -> None:
    headers, body = sent(world, called(world), NEW)
    with pytest.raises(ValueError, match="The secret is empty"):
        verify(headers=headers, body=body, secret=secret, now=now(world))


def test_a_call_reports_its_end_by_its_token(world: World) -> None:
    with received(world) as call:
        assert call.heartbeat().cancel_requested is False
        assert call.complete({"rows": 17}).status == "succeeded"
    assert world.send("GET", f"/v1/runs/{call.run_id}")["status"] == "succeeded"


def test_a_call_reports_its_failure(world: World) -> None:
    with received(world) as call:
        assert call.fail("The disk is full.", retriable=False).status == "failed"
        with pytest.raises(Conflict):
            call.heartbeat()


def test_a_call_reports_with_an_event_loop(world: World) -> None:
    headers, body = sent(world, called(world), NEW)

    async def work() -> None:
        asked: dict[str, Any] = {"headers": headers, "body": body, "secret": NEW, "now": now(world)}
        call = async_verify(**asked, url=URL, transport=Transport(world), clock=AsyncWorldClock(world))
        assert isinstance(call, AsyncWebhookCall)
        async with call:
            assert (await call.heartbeat()).cancel_requested is False
            assert (await call.complete()).status == "succeeded"

    asyncio.run(work())


def test_a_call_without_a_token_says_how_a_job_gets_one(world: World) -> None:
    call = called(world)
    headers, body = sent(world, call, NEW)
    bare = {name: value for name, value in headers.items() if name.lower() != "timeball-callback-token"}
    with pytest.raises(ValueError, match="completion='callback'"):
        verify(headers=bare, body=body, url=URL).complete()


def test_a_report_needs_the_address_of_the_api(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    headers, body = sent(world, called(world), NEW)
    monkeypatch.delenv("TIMEBALL_URL", raising=False)
    with pytest.raises(ValueError, match="Set TIMEBALL_URL"):
        verify(headers=headers, body=body).heartbeat()


def test_no_text_of_a_call_has_its_token_or_its_body(world: World) -> None:
    call = received(world)
    token = call.delivery.token
    assert token is not None
    assert not [text for text in (repr(call), repr(vars(call)), repr(call.delivery)) if token in text or "rows" in text]


def test_a_waiting_program_gets_the_result_or_the_failure(world: World, timeball: Timeball) -> None:
    handle = timeball.jobs.trigger(_accepting(timeball))
    states = handle.follow(timeout=60)
    assert next(states).status in ("queued", "running")
    run = world.target
    world.advance(5)
    headers, body = sent(world, run.calls[-1], NEW)
    with verify(headers=headers, body=body, url=URL, transport=Transport(world), clock=WorldClock(world)) as call:
        call.complete({"rows": 17})
    assert [state.status for state in states][-1] == "succeeded"
    assert handle.wait(timeout=1).attempts[0].number == 1


def _accepting(timeball: Timeball) -> str:
    return timeball.jobs.put("report", {**CALLBACK, "everySeconds": 86400}).id
