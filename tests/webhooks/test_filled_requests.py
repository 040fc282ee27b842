"""Templates on the wire: the request that the target receives, and that no request is sent if a value is missing."""

import asyncio
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from tests.webhooks.targets import LOCAL, NOW, OK, RUN, Target, a_call, answering, listening
from timeball.domain.model.runs.values import Failed
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.target import Answer
from timeball.targets.http.caller import http_caller
from timeball.testing.virtual_clock import VirtualClock


def call_filled(target: HttpTarget, payload: Any = None, *, has_parents: bool = False) -> tuple[Answer, Target]:
    """Call a target; its `url` is the part after the host."""

    async def main() -> tuple[Answer, Target]:
        async with listening(answering(OK)) as listener, http_caller(VirtualClock(NOW), LOCAL) as caller:
            url = listener.url.removesuffix("/hook") + target.url
            work = Work(replace(target, url=url), None if payload is None else json.dumps(payload))
            return await caller.call(replace(a_call(url, work=work, attempt=2), has_parents=has_parents)), listener

    return asyncio.run(main())


def test_url_headers_and_body_are_filled_in() -> None:
    target = HttpTarget(
        "/orders/{{payload.order.id}}?try={{attempt}}&at={{fireTime}}",
        headers={"Authorization": "Bearer {{payload.token}}", "X-Run": "{{runId}}"},
        body='{"text": "{{jobId}} asks for {{payload.order.id}}", "lines": {{payload.order.lines}}}',
    )
    payload = {"order": {"id": "a/b c", "lines": [1, "zwei"]}, "token": "t0ken"}
    answer, listener = call_filled(target, payload)
    (request,) = listener.requests
    assert answer.status == 200
    assert request.line == "POST /orders/a%2Fb%20c?try=2&at=2026-11-21T09%3A30%3A00.023Z HTTP/1.1"
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.headers["x-run"] == str(RUN)
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {"text": "nightly asks for a/b c", "lines": [1, "zwei"]}


@pytest.mark.parametrize("value", ["..;", "a;b=c", "a,b", "a&b=c", "a+b", "(a)", "@a:b", "!$'*", "a%2Fb", "~-._"])
@pytest.mark.parametrize("before", ["/orders/", "/orders?id="])
def test_a_value_in_a_url_is_sent_percent_encoded(before: str, value: str) -> None:
    # Some servers end a segment at a semicolon, and treat `/..;/` as a way up.
    _, listener = call_filled(HttpTarget(before + "{{payload.x}}"), {"x": value})
    assert listener.requests[0].line == f"POST {before}{quote(value, safe='')} HTTP/1.1"


def test_the_literal_part_of_a_url_is_sent_unchanged() -> None:
    literal = "/a%7Eb/%2e%2e;x/%41?q=%3B&r=a+b%20c&s=%zz"
    _, listener = call_filled(HttpTarget(literal + "|&id={{jobId}}"))
    assert listener.requests[0].line == f"POST {literal}%7C&id=nightly HTTP/1.1"


def test_a_body_of_its_own_needs_no_payload_and_is_escaped_as_its_content_type_requires() -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    _, listener = call_filled(HttpTarget("/", headers=form, body="run={{runId}}&at={{fireTime}}"))
    (request,) = listener.requests
    assert request.body == f"run={RUN}&at=2026-11-21T09%3A30%3A00.023Z".encode()
    assert request.headers["content-type"] == form["content-type"]


def test_beside_results_of_parents_only_the_payload_is_filled_in() -> None:
    handed = {"payload": {"x": 1}, "parents": {"a": {"status": "succeeded", "result": {"x": "theirs"}}}}
    _, listener = call_filled(HttpTarget("/{{payload.x}}"), handed, has_parents=True)
    assert listener.requests[0].line == "POST /1 HTTP/1.1"
    assert json.loads(listener.requests[0].body) == handed
    answer, _ = call_filled(HttpTarget("/{{payload.parents.a.result.x}}"), handed, has_parents=True)
    assert answer.error is not None


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (HttpTarget("/{{payload.y}}"), "asks for {{payload.y}}, which the payload of this call lacks."),
        (HttpTarget("/", headers={"X-A": "{{payload.y}}"}), "asks for {{payload.y}}"),
        (HttpTarget("/", body="[{{payload.y}}]"), "asks for {{payload.y}}"),
        (HttpTarget("/", headers={"X-A": "{{payload.x}}"}), "the header X-A holds a line break"),
        (HttpTarget("/{{payload.up}}/x"), "becomes empty, . or .."),
    ],
)
def test_a_value_that_cannot_be_filled_in_ends_the_attempt_without_a_retry_or_a_request(
    target: HttpTarget, part: str
) -> None:
    answer, listener = call_filled(target, {"x": "s3cret\r\nX-B: 2", "up": ".."})
    assert listener.connections == 0
    assert (answer.verdict, answer.called_at, answer.is_down) == (Failed(may_retry=False), None, None)
    assert answer.error is not None
    assert part in answer.error
    assert "s3cret" not in answer.error
