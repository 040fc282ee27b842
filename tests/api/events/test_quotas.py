"""Events count towards their tenant's quotas: with jobs in the rate of submits, and by size as payloads do."""

import json
from dataclasses import asdict
from typing import Any

from tests.api.client import Answer, Api, event_of
from tests.api.events.sending import ORDER
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import NotedPattern, Patterns, Subscriber, Subscription, subscription_key
from timeball.domain.time.instants import SECOND_MS


def _ask(api: Api, quotas: Quotas, body: object, path: str = "/v1/events") -> Answer:
    event: dict[str, Any] = event_of("POST", path, "acme", {}, {}) | {"body": json.dumps(body)}
    event["requestContext"]["authorizer"]["lambda"]["quotas"] = json.dumps(asdict(quotas))
    return api.answer(event)


def test_events_and_jobs_of_a_second_are_counted_together_and_either_all_are_taken_or_none(api: Api) -> None:
    quotas, job = Quotas(submits_per_second=3), {"handler": "https://example.com/hook", "delaySeconds": 60}
    assert _ask(api, quotas, [ORDER, {**ORDER, "id": "8"}]).status == 200
    refused = _ask(api, quotas, [ORDER, {**ORDER, "id": "9"}])
    assert (refused.status, refused.body["quota"], refused.headers["Retry-After"]) == (429, "submitsPerSecond", "1")
    assert _ask(api, quotas, job, "/v1/jobs").status == 201
    assert _ask(api, quotas, ORDER).status == 429
    api.clock.advance(SECOND_MS)
    assert _ask(api, quotas, ORDER).status == 202


def test_a_refused_event_does_not_count(api: Api) -> None:
    quotas = Quotas(submits_per_second=1)
    assert [one["status"] for one in _ask(api, quotas, [7, {}, ORDER]).body["items"]] == [400, 400, 202]


def test_events_use_up_no_quota_of_jobs(api: Api) -> None:
    quotas, job = Quotas(active_jobs=1), {"handler": "https://example.com/hook", "delaySeconds": 60}
    assert _ask(api, quotas, [{**ORDER, "id": str(number)} for number in range(5)]).status == 200
    assert _ask(api, quotas, job, "/v1/jobs").status == 201
    assert _ask(api, quotas, ORDER).status == 202


def test_an_event_over_the_payload_quota_is_refused_and_events_beside_it_are_not(api: Api) -> None:
    quotas = Quotas(payload_bytes=300)
    large = {**ORDER, "id": "8", "data": "x" * 300}
    one, other = _ask(api, quotas, [large, ORDER]).body["items"]
    assert (one["status"], other["status"]) == (400, 202)
    (error,) = one["problem"]["errors"]
    assert error["field"] == "data"
    assert "payloadBytes allows 300" in error["message"]


def test_an_array_that_may_make_more_runs_than_one_request_may_is_refused_as_a_whole(api: Api) -> None:
    keys = [subscription_key("acme", f"{number}") for number in range(11)]
    jobs = tuple(Subscriber(f"job_{number}", api.clock.now()) for number in range(100))
    api.store.patterns.insert([Patterns("acme", tuple(NotedPattern(key.digest, 0) for key in keys))], 0)
    api.store.subscriptions.insert([Subscription(key, "{}", 0, jobs) for key in keys], 0)
    many = [{**ORDER, "id": str(number)} for number in range(100)]
    refused = _ask(api, Quotas(submits_per_second=100), many)
    assert (refused.status, refused.body["quota"]) == (429, "runsPerRequest")
    assert "100 events times 1100 jobs" in refused.body["detail"]
    assert "send at most 90 events at once" in refused.body["detail"]
    assert (api.bus.queue, api.store.submit_budgets) == ([], {})
    assert _ask(api, Quotas(submits_per_second=100), many[:90]).status == 200


def test_a_few_events_are_accepted_without_reading_how_many_jobs_listen(api: Api) -> None:
    few = [{**ORDER, "id": str(number)} for number in range(20)]
    api.store.patterns.read = None  # type: ignore[method-assign,assignment]
    assert api.call("POST", "/v1/events", few).status == 200
