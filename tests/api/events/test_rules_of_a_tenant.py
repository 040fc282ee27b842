"""All tenants share the rules of the bus: each tenant has a bounded number, and a refused request leaves none."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest

from tests.api.client import Answer, Api, event_of
from tests.api.events.sending import PLACED, runs_of, send
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.event import Subscription
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.testing.memory_services import MAX_RULES, MemoryBus

HOOK = "https://example.com/hook"
MOST = 50
"""The bound that the settings give."""


def _on(name: str, **more: object) -> dict[str, Any]:
    return {"handler": HOOK, "event": {"source": [name]}, **more}


def _with(api: Api, quotas: Quotas, method: str, path: str, body: object) -> Answer:
    event = event_of(method, path, "acme", {}, {}) | {"body": json.dumps(body)}
    event["requestContext"]["authorizer"]["lambda"]["quotas"] = json.dumps(asdict(quotas))
    return api.answer(event)


def _batch(api: Api, names: Sequence[str], tenant: str = "acme") -> list[int]:
    body = {"jobs": [_on(name) for name in names]}
    return [one["status"] for one in api.call("POST", "/v1/jobs:batch", body, tenant=tenant).body["items"]]


def _bounded(api: Api, most: int) -> None:
    """Give the tenant a bound of its own."""
    api.store.freezes.insert([Freezes("acme", quotas=Quotas(event_patterns=most))], api.clock.now())


def test_batches_over_a_quota_of_jobs_leave_no_rule(api: Api) -> None:
    for number in range(3):
        body = {"jobs": [_on(f"{number}-{index}") for index in range(100)]}
        assert _with(api, Quotas(active_jobs=1), "POST", "/v1/jobs:batch", body).status == 429
    assert api.bus.rules() == []


@pytest.mark.parametrize("quotas", [Quotas(active_jobs=1), Quotas(submits_per_second=1)])
def test_a_job_over_a_quota_leaves_no_rule_however_it_is_created(api: Api, quotas: Quotas) -> None:
    assert _with(api, quotas, "POST", "/v1/jobs", _on("first")).status == 201
    assert _with(api, quotas, "POST", "/v1/jobs", _on("second")).status == 429
    assert _with(api, quotas, "PUT", "/v1/jobs/third", _on("third")).status == 429
    assert len(api.bus.rules()) == 1


def test_no_tenant_fills_the_bus_and_another_tenant_has_room(api: Api) -> None:
    statuses = [status for batch in range(4) for status in _batch(api, [f"{batch}-{one}" for one in range(100)])]
    assert (statuses.count(201), statuses.count(429)) == (MOST, 400 - MOST)
    assert len(api.bus.rules()) == MOST < MAX_RULES
    assert _batch(api, ["other"], tenant="globex") == [201]


def test_the_refusal_names_the_quota_and_when_to_retry(api: Api) -> None:
    _bounded(api, 1)
    api.create(event=PLACED)
    refused = api.call("POST", "/v1/jobs", _on("another"))
    assert (refused.status, refused.body["quota"], refused.headers["Retry-After"]) == (429, "eventPatterns", "60")
    assert api.call("PUT", "/v1/jobs/another", _on("another")).status == 429
    api.create(event=PLACED)  # the same pattern again


def test_patches_leave_no_more_rules_than_the_quota_allows(api: Api) -> None:
    _bounded(api, 3)
    job = api.create(event=PLACED)
    path = f"/v1/jobs/{job['jobId']}"
    statuses = [api.call("PATCH", path, {"event": {"source": [f"{number}"]}}).status for number in range(10)]
    assert statuses == [200] * 2 + [429] * 8
    assert len(api.bus.rules()) <= 3
    api.clock.advance(2 * MINUTE_MS)
    assert api.call("PATCH", path, {"event": {"source": ["later"]}}).status == 200
    send(api, source="later")
    assert len(runs_of(api, job)) == 1


def test_a_refused_patch_leaves_no_rule(api: Api) -> None:
    job = api.create(event=PLACED)
    path = f"/v1/jobs/{job['jobId']}"

    class Meanwhile(MemoryBus):
        def ensure(self, subscription: Subscription) -> None:
            super().ensure(subscription)
            api.call("PATCH", path, {"name": "changed meanwhile"})

    api.bus.__class__ = Meanwhile
    refused = api.call("PATCH", path, {"event": {"source": ["new"]}}, headers={"If-Match": '"1"'})
    assert refused.status == 412
    assert len(api.bus.rules()) == 1
    send(api)
    assert len(runs_of(api, job)) == 1


def test_a_job_that_ends_makes_room_for_another_pattern(api: Api) -> None:
    _bounded(api, 1)
    job = api.create(event=PLACED)
    api.clock.advance(2 * MINUTE_MS)
    api.call("DELETE", f"/v1/jobs/{job['jobId']}")
    api.create(event={"source": ["another"]})
    assert len(api.bus.rules()) == 1


def test_jobs_that_ended_without_a_request_make_room_too(api: Api) -> None:
    _bounded(api, 1)
    api.create(event=PLACED)
    api.clock.advance(2 * MINUTE_MS)
    api.call("POST", "/v1/operations", {"action": "cancel", "match": {"status": "pending"}})
    assert len(api.bus.rules()) == 1
    api.create(event={"source": ["another"]})
    assert len(api.bus.rules()) == 1


def test_a_tenant_that_asks_repeatedly_has_its_jobs_read_once_a_minute(api: Api) -> None:
    _bounded(api, 1)
    api.create(event=PLACED)
    api.clock.advance(2 * MINUTE_MS)
    read: list[int] = []
    read_jobs = api.store.jobs.read

    def counting(keys: Any, **how: Any) -> Any:
        read.append(len(keys))
        return read_jobs(keys, **how)

    api.store.jobs.read = counting  # type: ignore[method-assign]
    for _ in range(5):
        assert api.call("POST", "/v1/jobs", _on("another")).status == 429
    assert sum(read) <= 1


def test_a_pattern_that_the_bus_refuses_counts_for_no_longer_than_a_minute(api: Api) -> None:
    _bounded(api, 1)
    api.bus.max_rules = 0
    assert api.call("POST", "/v1/jobs", _on("first")).status == 400
    api.bus.max_rules = MAX_RULES
    api.clock.advance(MINUTE_MS + SECOND_MS)
    api.create(event=PLACED)


def test_a_batch_whose_rules_take_long_is_counted_when_its_jobs_are_created(api: Api) -> None:
    class SlowBus(MemoryBus):
        def ensure(self, subscription: Subscription) -> None:
            api.clock.advance(SECOND_MS)
            super().ensure(subscription)

    api.bus.__class__ = SlowBus
    body = {"jobs": [_on(f"{index}") for index in range(5)]}
    assert _with(api, Quotas(active_jobs=9), "POST", "/v1/jobs:batch", body).status == 200
    now = api.clock.now()
    taken = {second: count for second, count in api.store.submit_budgets["acme"].taken.items() if count}
    assert taken == {now - now % SECOND_MS: 5}


def test_a_tenants_answer_shows_how_many_patterns_it_has(api: Api) -> None:
    api.create(event=PLACED)
    told = api.call("GET", "/v1/admin/tenants/acme").body["quotas"]["eventPatterns"]
    assert told == {"limit": MOST, "used": 1}
