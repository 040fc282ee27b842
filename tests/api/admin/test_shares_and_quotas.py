"""A tenant's weight and quotas: admins set them, the authorizer hands them on, the API enforces them under load."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Answer, Api, event_of
from tests.api.events.sending import PLACED
from timeball.api.app import Handler, build_api
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import Subscription
from timeball.domain.time.instants import SECOND_MS
from timeball.testing.memory_services import MemoryBus

JOB = {"handler": "https://example.com/hook", "delaySeconds": 3600}
TENANTS = "/v1/admin/tenants"
OF_ALL = {
    "leastPeriodSeconds": 1,
    "payloadBytes": 262_144,
    "runningBackfills": 10,
    "eventPatterns": 50,
    "requestsPerSecond": 25,
}
"""The rate that the settings give."""


def _event(
    quota: int | Quotas | None, path: str = "/v1/jobs", body: object = None, method: str = "POST"
) -> dict[str, Any]:
    event = event_of(method, path, "acme", {}, {}) | {"body": json.dumps(body or JOB)}
    quotas = quota if isinstance(quota, Quotas) else Quotas(submits_per_second=quota)
    told = json.dumps(asdict(quotas))
    event["requestContext"]["authorizer"]["lambda"]["quotas"] = told
    return event


def _submit(
    api: Api, quota: int | Quotas | None, path: str = "/v1/jobs", body: object = None, method: str = "POST"
) -> Answer:
    return api.answer(_event(quota, path, body, method))


def test_fifty_clients_at_once_submit_as_many_jobs_a_second_as_the_quota_says(api: Api) -> None:
    functions = [build_api(api.edge) for _ in range(50)]  # each API instance answers one request at a time

    def ask(function: Handler) -> list[int]:
        return [function(_event(100), LambdaContext())["statusCode"] for _ in range(3)]

    for _ in range(3):
        api.clock.advance(SECOND_MS)
        before = len(api.store.jobs)
        with ThreadPoolExecutor(50) as clients:
            statuses = [status for answers in clients.map(ask, functions) for status in answers]
        assert (statuses.count(201), statuses.count(429)) == (100, 50)
        assert len(api.store.jobs) - before == 100


def test_a_tenant_over_its_quota_gets_the_quotas_name_and_a_retry_time(api: Api) -> None:
    assert _submit(api, 1).status == 201
    refused = _submit(api, 1)
    assert (refused.status, refused.body["quota"], refused.headers["Retry-After"]) == (429, "submitsPerSecond", "1")
    assert refused.body["detail"] == "You may submit 1 jobs and events a second; send them again a second later."
    api.clock.advance(SECOND_MS)
    assert _submit(api, 1).status == 201


def test_each_job_of_a_batch_counts_and_either_all_are_created_or_none(api: Api) -> None:
    assert _submit(api, 5, "/v1/jobs:batch", {"jobs": [JOB] * 3}).status == 200
    assert _submit(api, 5, "/v1/jobs:batch", {"jobs": [JOB] * 3}).status == 429
    assert len(api.store.jobs) == 3
    assert "send fewer at once" in _submit(api, 5, "/v1/jobs:batch", {"jobs": [JOB] * 6}).body["detail"]


def test_a_put_counts_when_it_creates_a_job_and_not_when_it_changes_nothing(api: Api) -> None:
    assert [_submit(api, 1, "/v1/jobs/one", JOB, "PUT").status for _ in range(3)] == [201, 200, 200]
    assert _submit(api, 1, "/v1/jobs/two", JOB, "PUT").status == 429


def test_a_repeated_request_counts_for_nothing_and_is_answered_at_a_full_quota(api: Api) -> None:
    keyed = {**_event(1), "headers": {**_event(1)["headers"], "idempotency-key": "once"}}
    assert api.answer(keyed).status == 201
    assert [api.answer(keyed).status for _ in range(3)] == [201] * 3
    assert _submit(api, 1).status == 429
    api.clock.advance(SECOND_MS)
    assert [api.answer(keyed).headers["Idempotency-Replayed"] for _ in range(3)] == ["true"] * 3
    assert _submit(api, 1).status == 201


def test_a_batch_repeated_at_a_full_quota_is_answered_and_only_its_new_jobs_count(api: Api) -> None:
    def batch(*delays: int) -> int:
        event = _event(2, "/v1/jobs:batch", {"jobs": [{**JOB, "delaySeconds": delay} for delay in delays]})
        return api.answer({**event, "headers": {**event["headers"], "idempotency-key": "once"}}).status

    assert batch(1) == 200
    assert batch(1, 2) == 200
    assert len(api.store.jobs) == 2
    assert _submit(api, 2).status == 429


def test_a_tenants_open_jobs_are_bounded_and_a_job_that_ends_makes_room(api: Api) -> None:
    quotas = Quotas(active_jobs=1)
    first = _submit(api, quotas)
    refused = _submit(api, quotas)
    assert (refused.status, refused.body["quota"], refused.headers["Retry-After"]) == (429, "activeJobs", "10")
    assert refused.body["detail"].startswith("You may have 1 open jobs; ")
    assert api.call("DELETE", f"/v1/jobs/{first.body['jobId']}").status == 200
    api.clock.advance(5 * SECOND_MS)
    assert _submit(api, quotas).status == 201


def test_a_job_is_counted_in_the_second_in_which_it_is_created_even_if_its_request_took_long(api: Api) -> None:
    class SlowBus(MemoryBus):
        def ensure(self, subscription: Subscription) -> None:
            api.clock.advance(5 * SECOND_MS)
            super().ensure(subscription)

    api.bus.__class__ = SlowBus
    assert _submit(api, Quotas(active_jobs=2), body={"handler": "https://a.example", "event": PLACED}).status == 201
    now = api.clock.now()
    taken = {second: count for second, count in api.store.submit_budgets["acme"].taken.items() if count}
    assert taken == {now - now % SECOND_MS: 1}


@pytest.mark.parametrize(
    ("schedule", "field"),
    [({"everySeconds": 59}, "everySeconds"), ({"cronExpression": "0,1 9 * * *"}, "cronExpression")],
)
def test_a_job_that_would_fire_more_often_than_the_quota_allows_is_refused(
    api: Api, schedule: dict[str, object], field: str
) -> None:
    quotas = Quotas(least_period_seconds=61)
    refused = _submit(api, quotas, body={"handler": "https://example.com", **schedule})
    assert (refused.status, refused.bad_fields(), refused.body["quota"]) == (400, [field], "leastPeriodSeconds")
    assert "your quota leastPeriodSeconds requires at least 61 s" in refused.body["errors"][0]["message"]
    assert _submit(api, quotas, body={"handler": "https://example.com", "everySeconds": 61}).status == 201


def test_a_quota_applies_only_to_the_fields_that_a_patch_changes(api: Api) -> None:
    quotas, path = Quotas(least_period_seconds=61, payload_bytes=10), "/v1/jobs/often"
    job = {"handler": "https://example.com", "everySeconds": 60, "payload": "x" * 10}
    assert _submit(api, None, path, job, "PUT").status == 201
    assert _submit(api, quotas, path, {"name": "renamed"}, "PATCH").status == 200
    assert _submit(api, quotas, path, {"endAt": "2027-01-01T00:00:00Z"}, "PATCH").status == 200
    refused = _submit(api, quotas, path, {"everySeconds": 59, "payload": "y" * 10}, "PATCH")
    assert (refused.status, refused.bad_fields()) == (400, ["everySeconds", "payload"])


def test_a_payload_is_bounded_on_every_route_that_takes_one(api: Api) -> None:
    quotas = Quotas(payload_bytes=10)
    job = _submit(api, quotas, body={**JOB, "payload": "x" * 8}).body["jobId"]
    for path, body in [("/v1/jobs", JOB), (f"/v1/jobs/{job}/trigger", {})]:
        refused = _submit(api, quotas, path, {**body, "payload": "x" * 9})
        assert (refused.status, refused.bad_fields(), refused.body["quota"]) == (400, ["payload"], "payloadBytes")
        message = refused.body["errors"][0]["message"]
        assert message == "The payload has 11 bytes; your quota payloadBytes allows 10."


@pytest.mark.parametrize("quota", [None, 0])
def test_without_a_quota_nothing_is_counted(api: Api, quota: int | None) -> None:
    assert _submit(api, quota).status == 201
    assert dict(api.store.submit_budgets) == {}


def test_a_fire_is_not_counted(api: Api) -> None:
    _submit(api, 1, body={"handler": "https://example.com/hook"})
    counted = dict(api.store.submit_budgets)
    api.dispatch()
    assert api.queue.sent
    assert dict(api.store.submit_budgets) == counted


def test_a_tenants_weight_and_quotas_are_set_changed_and_taken_back(api: Api) -> None:
    made = api.call("POST", TENANTS, {"name": "heavy", "weight": 2, "quotas": {"submitsPerSecond": 9}})
    assert (made.status, made.body["weight"], _limits(made)) == (201, 2, {"submitsPerSecond": 9, **OF_ALL})
    path = f"{TENANTS}/heavy"
    changed = api.call("PATCH", path, {"weight": 5, "quotas": {"activeJobs": 7}})
    limits = {"activeJobs": 7, "submitsPerSecond": 9, **OF_ALL}
    assert (changed.body["weight"], _limits(changed), changed.body["version"]) == (5, limits, 2)
    assert api.call("PATCH", path, {"weight": 5}).body["version"] == 2
    back = api.call("PATCH", path, {"weight": None, "quotas": None})
    assert (back.body["weight"], _limits(back)) == (1, OF_ALL)


def test_a_tenants_own_answer_shows_its_use_of_each_quota(api: Api) -> None:
    _submit(api, None)
    api.call("PATCH", f"{TENANTS}/acme", {"quotas": {"activeJobs": 7}})
    assert api.call("GET", f"{TENANTS}/acme").body["quotas"]["activeJobs"] == {"limit": 7, "used": 1}


def test_plans_and_claims_read_the_quotas_from_the_tenants_row(api: Api) -> None:
    api.call("POST", TENANTS, {"name": "heavy", "quotas": {"runsAtOnce": 2}})
    assert api.store.freezes["heavy"].quotas == Quotas(runs_at_once=2)
    api.call("PATCH", f"{TENANTS}/heavy", {"quotas": None})
    assert api.store.freezes["heavy"].quotas == Quotas()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"weight": 0}, "weight"),
        ({"weight": 101}, "weight"),
        ({"weight": "2"}, "weight"),
        ({"quotas": {"submitsPerSecond": -1}}, "quotas.submitsPerSecond"),
        ({"quotas": {"runningBackfills": 0}}, "quotas.runningBackfills"),
        ({"quotas": {"jobs": 1}}, "quotas.jobs"),
    ],
)
def test_a_weight_or_quota_out_of_range_is_refused_by_its_field(api: Api, body: dict[str, object], field: str) -> None:
    assert api.call("POST", TENANTS, {"name": "heavy", **body}).bad_fields() == [field]


def _limits(answer: Answer) -> dict[str, int]:
    return {name: one["limit"] for name, one in answer.body["quotas"].items() if one["limit"] is not None}


def test_a_tenant_that_makes_too_many_requests_gets_the_documented_problem_at_no_cost(api: Api) -> None:
    event = event_of("POST", "/v1/jobs", None, {"Authorization": "Bearer tb_x"}, {}) | {"body": json.dumps(JOB)}
    event["requestContext"]["authorizer"]["lambda"] = {"throttled": "25"}
    refused = api.answer(event)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert (refused.body["type"], refused.body["quota"]) == ("urn:timeball:problem:quota-exceeded", "requestsPerSecond")
    assert "25 requests a second" in refused.body["detail"]
    assert api.store.jobs == {}
