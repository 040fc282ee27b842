"""Signed requests, verified by their target with the library that the authors of the standard maintain."""

import asyncio
from dataclasses import replace

import pytest

from tests.webhooks.targets import LOCAL, NOW, OK, RUN, Target, a_call, answering, listening
from tests.webhooks.verifying import is_accepted
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.values import Failed, Succeeded
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Answer
from timeball.targets.http.caller import http_caller
from timeball.targets.http.signing_keys import KeyRing
from timeball.testing.memory_services import MemorySecrets
from timeball.testing.virtual_clock import VirtualClock

NAME = "timeball/acme/orders"
NEW, OLD = "whsec_" + "MDEy" * 8, "whsec_" + "YWJj" * 8


def call_signed(secrets: MemorySecrets, target: HttpTarget, payload: str | None) -> tuple[Answer, Target]:
    """Call a target on the loopback."""
    clock = VirtualClock(NOW)

    async def main() -> tuple[Answer, Target]:
        async with (
            listening(answering(OK)) as listener,
            http_caller(clock, LOCAL, ring=KeyRing(secrets, "timeball/", clock)) as caller,
        ):
            work = Work(replace(target, url=listener.url), payload)
            return await caller.call(a_call(listener.url, work=work)), listener

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        (None, '{"n": 1, "ä": "✓"}'),
        (None, None),
        ('{"run": "{{runId}}", "n": {{payload.n}}}', '{"n": 1}'),  # the signature covers the body as it is filled in
    ],
)
def test_a_target_with_the_new_or_the_old_key_accepts_a_request(body: str | None, payload: str | None) -> None:
    secrets = MemorySecrets()
    secrets.put(NAME, OLD)
    secrets.put(NAME, NEW)
    answer, target = call_signed(secrets, HttpTarget("", body=body, secret_id=NAME), payload)
    assert answer.verdict == Succeeded()
    (request,) = target.requests
    for key in (NEW, OLD):
        assert is_accepted(key, NOW, request.body, request.headers)
    assert request.headers["webhook-id"] == str(RUN)
    assert NEW not in str(request) + str(answer)


def test_an_unreadable_secret_fails_the_call_without_blaming_the_target_and_is_retried() -> None:
    answer, target = call_signed(MemorySecrets(), HttpTarget("", secret_id=NAME), "{}")
    assert target.connections == 0
    assert (answer.verdict, answer.called_at, answer.is_down) == (Failed(may_retry=True), None, None)
    assert answer.error == f"The secret {NAME} could not be read: there is no such secret, or it has no value yet."


def test_a_prepared_call_reads_no_secret_at_its_instant() -> None:
    secrets, clock, tokens = MemorySecrets(), VirtualClock(NOW), list[int]()
    secrets.put(NAME, NEW)

    def sign(_: RunId, attempt: int) -> str:
        tokens.append(attempt)
        return "tba_x"

    async def main() -> tuple[Answer, Target]:
        ring = KeyRing(secrets, "timeball/", clock)
        async with listening(answering(OK)) as listener, http_caller(clock, LOCAL, sign=sign, ring=ring) as caller:
            work = Work(HttpTarget(listener.url, secret_id=NAME), "{}")
            call = replace(a_call(listener.url, work=work), takes_report=True)
            await caller.prepare(call)
            assert (secrets.asked, tokens, listener.connections) == (1, [1], 0)
            secrets.is_away = True
            return await caller.call(call), listener

    answer, target = asyncio.run(main())
    assert answer.verdict == Succeeded()
    (request,) = target.requests
    assert is_accepted(NEW, NOW, request.body, request.headers)
    assert secrets.asked == 1


def test_a_secret_that_could_not_be_read_ahead_fails_the_call_without_a_second_read() -> None:
    secrets, clock = MemorySecrets(), VirtualClock(NOW)

    async def main() -> Answer:
        async with http_caller(clock, LOCAL, ring=KeyRing(secrets, "timeball/", clock)) as caller:
            call = a_call("http://127.0.0.1:9/", work=Work(HttpTarget("http://127.0.0.1:9/", secret_id=NAME), "{}"))
            await caller.prepare(call)
            return await caller.call(call)

    answer = asyncio.run(main())
    assert (answer.called_at, secrets.asked) == (None, 1)
    assert answer.error == f"The secret {NAME} could not be read: there is no such secret, or it has no value yet."


def test_a_secret_of_another_tenant_signs_nothing() -> None:
    secrets = MemorySecrets()
    secrets.put("timeball/globex/orders", NEW)
    answer, target = call_signed(secrets, HttpTarget("", secret_id="timeball/globex/orders"), "{}")
    assert (target.connections, secrets.asked) == (0, 0)
    assert answer.error == "The secret timeball/globex/orders is none of this tenant's."
