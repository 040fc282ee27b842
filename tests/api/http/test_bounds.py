"""On every route, a key bounded to tags sees and creates only jobs that have all of these tags."""

import json
from typing import Any

import pytest

from tests.api.client import OPERATING, Api
from tests.api.http.test_access import NAMES, populated
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES
from timeball.domain.model.ids import JobKey
from timeball.domain.model.tenants.key import Role

BLUE, RED = {"team": "blue"}, {"team": "red"}
ROLES = [Role.OPERATOR, Role.SUBMITTER, Role.VIEWER, Role.WORKER]


def make(api: Api, **fields: object) -> str:
    return str(api.create(everySeconds=60, **fields)["jobId"])


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_jobs_outside_the_bounds_are_neither_shown_nor_changed_nor_created(route: Route, role: Role) -> None:
    world = populated()  # no job has a tag
    before, jobs = world.rows(OPERATING), set(world.api.store.jobs)
    answer = world.call(route, OPERATING, role, bounds=BLUE)
    assert world.rows(OPERATING) == before
    assert set(world.api.store.jobs) == jobs
    assert answer.status in {400, 403, 404} or route.is_public or route.keeps_bounds
    assert not any(job.job_id in answer.text for job in jobs)


def test_a_bounded_key_creates_reads_changes_and_lists_jobs_with_its_tags(api: Api) -> None:
    outside = make(api, tags=RED)
    made = api.call(
        "POST",
        "/v1/jobs",
        {"handler": "https://example.com", "everySeconds": 60, "tags": {**BLUE, "x": "1"}},
        bounds=BLUE,
    )
    assert made.status == 201
    path = f"/v1/jobs/{made.body['jobId']}"
    assert api.call("GET", path, bounds=BLUE).status == 200
    assert api.call("PATCH", path, {"tags": {"x": "2"}}, bounds=BLUE).status == 200
    assert api.call("POST", f"{path}/pause", bounds=BLUE).status == 200
    run = api.call("POST", f"{path}/trigger", bounds=BLUE).body["runId"]
    assert api.call("GET", f"/v1/runs/{run}", bounds=BLUE).status == 200
    assert api.call("GET", f"/v1/runs/{run}", bounds=RED).status == 404
    listed = api.call("GET", "/v1/jobs", bounds=BLUE).body["items"]
    assert [one["jobId"] for one in listed] == [made.body["jobId"]]
    assert len(api.call("GET", "/v1/jobs").body["items"]) == 2
    for method in ("GET", "DELETE"):
        assert (
            api.call(method, f"/v1/jobs/{outside}", bounds=BLUE).text
            == api.call(method, "/v1/jobs/no", bounds=BLUE).text
        )


OUTSIDE: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/jobs", {"handler": "https://example.com"}),
    ("POST", "/v1/jobs", {"handler": "https://example.com", "tags": RED}),
    ("PUT", "/v1/jobs/new", {"handler": "https://example.com", "tags": RED}),
    ("PUT", "/v1/jobs/{job}", {"handler": "https://example.com", "everySeconds": 60}),
    ("PATCH", "/v1/jobs/{job}", {"tags": RED}),
    ("PATCH", "/v1/jobs/{job}", {"tags": None}),
    ("POST", "/v1/jobs/{job}/revisions/1:restore", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), OUTSIDE)
def test_a_bounded_key_creates_no_job_without_its_tags_and_removes_them_from_none(
    api: Api, method: str, path: str, body: dict[str, Any]
) -> None:
    job = make(api, tags=RED)
    assert api.call("PATCH", f"/v1/jobs/{job}", {"tags": BLUE}).status == 200
    before = repr(api.store.jobs)
    answer = api.call(method, path.format(job=job), body, bounds=BLUE)
    assert (answer.status, answer.body["type"]) == (403, "urn:timeball:problem:forbidden")
    assert "team:blue" in answer.body["detail"]
    assert repr(api.store.jobs) == before


def test_a_batch_creates_only_the_jobs_within_the_bounds(api: Api) -> None:
    jobs = [{"handler": "https://example.com", "tags": tags} for tags in (BLUE, RED, {**BLUE, "x": "1"})]
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": jobs}, bounds=BLUE)
    assert [one["status"] for one in answer.body["items"]] == [201, 403, 201]
    assert len(api.store.jobs) == 2


def test_a_job_needs_every_tag_of_the_key(api: Api) -> None:
    job, both = make(api, tags=BLUE), {**BLUE, "env": "prod"}
    assert api.call("GET", f"/v1/jobs/{job}", bounds=both).status == 404
    assert api.call("GET", "/v1/jobs", bounds=both).body["items"] == []


@pytest.mark.parametrize("tags", [BLUE, RED])
def test_runs_that_outlive_their_job_are_outside_all_bounds(api: Api, tags: dict[str, str]) -> None:
    job = make(api, tags=tags)
    run = api.call("POST", f"/v1/jobs/{job}/trigger").body["runId"]
    del api.store.jobs[JobKey(OPERATING, job)]  # its time to live ended before its run's
    assert api.call("GET", f"/v1/runs/{run}").status == 200
    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry")):
        assert api.call(method, f"/v1/runs/{run}{path}", bounds=BLUE).status == 404


def test_revisions_hide_what_a_job_was_while_it_was_outside_the_bounds(api: Api) -> None:
    job = make(api, tags=RED, payload="of red alone")
    assert api.call("PATCH", f"/v1/jobs/{job}", {"tags": BLUE, "payload": "of both"}).status == 200
    path = f"/v1/jobs/{job}/revisions"
    told, all_told = api.call("GET", path, bounds=BLUE), api.call("GET", path)
    assert "of red alone" in all_told.text
    assert "of red alone" not in told.text
    assert [one["after"] and one["after"]["tags"] for one in told.body["items"]] == [BLUE, None]


PLACES = {"concurrencyLimit": {"name": "db", "limit": 900}}
TURNS = {"rateLimit": {"name": "db", "perSecond": 900, "burst": 5}}
JOB = {"handler": "https://example.com", "everySeconds": 60, "tags": BLUE}
NAMING: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/jobs", JOB),
    ("PUT", "/v1/jobs/new", JOB),
    ("PUT", "/v1/jobs/{job}", JOB),
    ("PATCH", "/v1/jobs/{job}", {}),
    ("POST", "/v1/jobs/{job}/revisions/1:restore", {}),
]


@pytest.mark.parametrize("named", [PLACES, TURNS, {**PLACES, **TURNS}])
@pytest.mark.parametrize(("method", "path", "body"), NAMING)
def test_a_bounded_key_does_not_decide_what_a_flow_key_of_its_tenant_allows(
    api: Api, method: str, path: str, body: dict[str, Any], named: dict[str, Any]
) -> None:
    job = make(api, tags=BLUE, **named)
    assert api.call("PATCH", f"/v1/jobs/{job}", {"concurrencyLimit": None, "rateLimit": None}).status == 200
    make(api, concurrencyLimit={"name": "db", "limit": 1}, rateLimit={"name": "db", "perSecond": 1})
    limits, sent = repr(api.store.limiters), {} if "restore" in path else {**body, **named}
    refused = api.call(method, path.format(job=job), sent, bounds=BLUE)
    assert (refused.status, refused.body["type"]) == (403, "urn:timeball:problem:forbidden")
    assert repr(api.store.limiters) == limits
    if sent:
        unknown = json.loads(json.dumps(sent).replace("db", "none"))
        other = api.call(method, path.format(job=job), unknown, bounds=BLUE)
        assert other.body["detail"] == refused.body["detail"], "the answer reveals which flow keys exist"
    assert api.call("PUT", "/v1/limits/db", {"limit": 1, "perSecond": 1, "burst": 1}).status == 200
    assert api.call(method, path.format(job=job), sent, bounds=BLUE).status in (200, 201)


def test_a_bounded_key_may_change_a_job_that_has_a_flow_key_but_not_the_limit(api: Api) -> None:
    job = make(api, tags=BLUE, **PLACES)
    path = f"/v1/jobs/{job}"
    assert api.call("PATCH", path, {"name": "n"}, bounds=BLUE).status == 200
    assert api.call("PATCH", path, {"concurrencyLimit": {"limit": 901}}, bounds=BLUE).status == 403
    assert api.call("PATCH", path, {"concurrencyLimit": None}, bounds=BLUE).status == 200


def test_a_bounded_key_reads_and_sets_no_flow_key_and_joins_no_unique_key_of_a_job_outside_its_bounds(
    api: Api,
) -> None:
    make(api, uniqueKey="daily", tags=RED)
    for method in ("GET", "PUT"):
        assert api.call(method, "/v1/limits/db", {"limit": 5}, bounds=BLUE).status == 403
    before = repr(api.store.jobs)
    assert api.call("POST", "/v1/jobs", {**JOB, "uniqueKey": "daily"}, bounds=BLUE).status == 403
    assert repr(api.store.jobs) == before
