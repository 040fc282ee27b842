"""Limits that jobs name by a key: who may read and set them, their answers, and the tenant that they belong to."""

from typing import Any

import pytest

from tests.api.client import Api
from tests.contract.rows import NOW, run
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Begun, Bounds, Limiter
from timeball.domain.model.runs.run import Permit, RunState, Waiting
from timeball.domain.model.runs.transitions import claimed

KEY = "/v1/limits/warehouse:db"
NAMED = {"concurrencyLimit": {"name": "warehouse:db", "limit": 3}}


def _answer(api: Api, status: int = 200, path: str = KEY, **more: Any) -> dict[str, Any]:
    reply = api.call("GET", path, **more)
    assert reply.status == status
    body: dict[str, Any] = reply.body
    return body


def test_a_limit_can_be_read_once_a_job_names_it(api: Api) -> None:
    assert _answer(api, 404)["type"].endswith("not-found")
    job = api.create(delaySeconds=60, **NAMED, rateLimit={"name": "crm", "perSecond": 0.5, "burst": 2})
    assert job["concurrencyLimit"] == {"name": "warehouse:db", "limit": 3, "onFull": "wait"}
    assert job["rateLimit"] == {"name": "crm", "perSecond": 0.5, "burst": 2}
    assert _answer(api) == {
        "name": "warehouse:db",
        "limit": 3,
        "perSecond": None,
        "burst": None,
        "fixed": {"limit": None, "perSecond": None, "burst": None},
        "holders": [],
        "waiters": [],
        "version": 1,
    }
    crm = _answer(api, path="/v1/limits/crm")
    assert (crm["limit"], crm["perSecond"], crm["burst"]) == (None, 0.5, 2)
    assert _answer(api, path="/v1/limits/warehouse%3Adb")["limit"] == 3


def test_a_limit_that_is_set_overrides_what_jobs_say_until_it_is_removed(api: Api) -> None:
    made = api.call("PUT", KEY, {"limit": 1})
    assert (made.status, made.headers["Location"], made.headers["ETag"]) == (201, KEY.replace(":", "%3A"), '"1"')
    api.create(delaySeconds=60, **NAMED)
    assert (_answer(api)["limit"], _answer(api)["fixed"]["limit"]) == (1, 1)
    again = api.call("PUT", KEY, {"limit": 1})
    assert (again.status, again.body["version"]) == (200, 1)
    changed = api.call("PUT", KEY, {"limit": 0, "perSecond": 2.5}, headers={"If-Match": '"1"'})
    assert (changed.status, changed.body["limit"], changed.body["perSecond"], changed.body["burst"]) == (200, 0, 2.5, 1)
    assert api.call("PUT", KEY, {}, headers={"If-Match": '"1"'}).status == 412
    assert api.call("PUT", KEY, {}).body["fixed"] == {"limit": None, "perSecond": None, "burst": None}


def test_a_limit_shows_its_holders_and_its_waiting_runs_in_their_order(api: Api) -> None:
    holder = evolve(claimed(run(), "owner", NOW, 3_600_000), slots=("warehouse:db",))
    waiting = Waiting("warehouse:db", Permit.SLOT)
    waits = [
        evolve(run(NOW + n), priority=priority, waiting=waiting, reason=Reason.LIMIT_WAIT)
        for n, priority in ((1, "low"), (2, "high"), (3, "high"))
    ]
    api.store.runs.insert([holder, *waits], NOW)
    key = LimiterKey("acme", "warehouse:db")
    begun = (Begun(holder.id, 1, NOW + 9),)
    api.store.limiters.insert([Limiter(key, 0, Bounds(1), begun=begun, lines=(Permit.SLOT,))], NOW)
    told = _answer(api)
    assert [(one["runId"], one["status"], one["attempt"]) for one in told["holders"]] == [
        (str(holder.id), RunState.RUNNING, 1)
    ]
    assert [one["runId"] for one in told["waiters"]] == [str(waits[n].id) for n in (1, 2, 0)]
    assert {one["waitsFor"] for one in told["waiters"]} == {"slot"}
    read = api.call("GET", f"/v1/runs/{waits[0].id}").body
    assert (read["status"], read["reason"], read["waitingForLimit"]) == ("queued", "limit_wait", "warehouse:db")


def test_a_limit_belongs_to_its_tenant(api: Api) -> None:
    api.call("PUT", KEY, {"limit": 1})
    assert _answer(api, 404, tenant="globex")["type"].endswith("not-found")
    api.call("PUT", KEY, {"limit": 7}, tenant="globex")
    assert _answer(api)["limit"] == 1
    assert api.store.limiters.read([LimiterKey("acme", "")]) == [None]


def test_a_tenants_quotas_cannot_be_read_as_a_limit(api: Api) -> None:
    api.store.limiters.insert([Limiter(LimiterKey("acme"), 0, Bounds(1))], NOW)
    assert api.call("GET", "/v1/limits/").status == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": -1}, "limit"),
        ({"limit": 1_001}, "limit"),
        ({"perSecond": 0}, "perSecond"),
        ({"burst": 0}, "burst"),
        ({"onFull": "skip"}, "onFull"),
    ],
)
def test_an_invalid_limit_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    refused = api.call("PUT", KEY, body)
    assert (refused.status, [one["field"] for one in refused.body["errors"]]) == (400, [field])


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"concurrencyLimit": {"name": "a b", "limit": 1}}, "concurrencyLimit.name"),
        ({"concurrencyLimit": {"name": "", "limit": 1}}, "concurrencyLimit.name"),
        ({"concurrencyLimit": {"name": "a", "limit": 0}}, "concurrencyLimit.limit"),
        ({"concurrencyLimit": {"name": "a"}}, "concurrencyLimit.limit"),
        ({"concurrencyLimit": {"name": "a", "limit": 1, "onFull": "queue"}}, "concurrencyLimit.onFull"),
        ({"rateLimit": {"name": "a"}}, "rateLimit.perSecond"),
        ({"rateLimit": {"name": "a", "perSecond": 2_000}}, "rateLimit.perSecond"),
        ({"rateLimit": {"name": "a", "perSecond": 1, "burst": 1.5}}, "rateLimit.burst"),
    ],
)
def test_a_job_with_an_invalid_limit_is_refused(api: Api, said: dict[str, Any], field: str) -> None:
    refused = api.call("POST", "/v1/jobs", {"handler": "https://example.com/hook", **said})
    assert (refused.status, [one["field"] for one in refused.body["errors"]]) == (400, [field])


def test_a_patch_changes_a_part_of_a_limit_or_removes_it(api: Api) -> None:
    job = api.create(delaySeconds=60, **NAMED)
    path = f"/v1/jobs/{job['jobId']}"
    patched = api.call("PATCH", path, {"concurrencyLimit": {"limit": 5, "onFull": "skip"}})
    assert patched.body["concurrencyLimit"] == {"name": "warehouse:db", "limit": 5, "onFull": "skip"}
    assert api.call("PATCH", path, {"concurrencyLimit": None}).body["concurrencyLimit"] is None
    assert api.store.jobs.read([JobKey("acme", job["jobId"])])[0] is not None
