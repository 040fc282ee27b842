"""Attacks on lists with large items: a page ends before Lambda refuses its answer, and a listing misses nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.api.backfills.calls import backfill
from tests.api.client import Answer, Api
from tests.api.dead_letters.calls import died
from tests.api.freezes.test_freezes import freeze
from tests.api.operations.test_operations import ask
from timeball.api.app import build_api
from timeball.api.routes import ROUTES
from timeball.domain.time.instants import SECOND_MS

URL = "https://example.com/hook"
LAMBDA_BYTES = 6_291_556
"""The largest answer that Lambda returns for a function, as AWS documents it."""

LARGE_TARGET = {"type": "http", "url": URL, "body": json.dumps("\u00e4\U0001f600" * 2_500, ensure_ascii=False)}
LARGE_TAGS = {f"k{number:02}" + "\u00e9" * 40: "\u00e9\\" * 100 for number in range(50)}


def tasks(api: Api) -> str:
    for number in range(200):
        made = api.call("PUT", f"/v1/tasks/t{number}", {"target": LARGE_TARGET, "tags": LARGE_TAGS})
        assert made.status == 201, made.text
    return "/v1/tasks"


def changes(api: Api) -> str:
    job = api.create(everySeconds=60, tags=LARGE_TAGS)
    for number in range(200):
        api.clock.advance(SECOND_MS)
        body = {"name": str(number)}
        assert api.call("PATCH", f"/v1/jobs/{job['jobId']}", body).status == 200
    return "/v1/changes"


def revisions(api: Api) -> str:
    changes(api)
    (job,) = api.store.jobs
    return f"/v1/jobs/{job.job_id}/revisions"


def jobs(api: Api) -> str:
    for _ in range(200):
        api.create(everySeconds=60, tags=LARGE_TAGS)
    return "/v1/jobs"


def walked(api: Api, path: str, check: Callable[[Answer], None]) -> list[Any]:
    """Return the items of all pages of a list."""
    items: list[Any] = []
    query = {"limit": "200"}
    for _ in range(1_000):
        answer = api.call("GET", path, query=query)
        assert answer.status == 200, answer.text
        check(answer)
        items += answer.body["items"]
        if answer.body["nextCursor"] is None:
            return items
        query = {"limit": "200", "cursor": answer.body["nextCursor"]}
    raise AssertionError("the list has no end")


@pytest.mark.parametrize("large", [tasks, changes, revisions, jobs])
def test_a_page_of_large_items_is_no_larger_than_lambda_allows(large: Callable[[Api], str], api: Api) -> None:
    path, sizes = large(api), []

    def measure(answer: Answer) -> None:
        sizes.append(len(json.dumps({"statusCode": 200, "headers": dict(answer.headers), "body": answer.text})))

    items = walked(api, path, measure)
    texts = [json.dumps(item, sort_keys=True) for item in items]
    assert len(texts) >= 200
    assert len(set(texts)) == len(texts)
    assert max(sizes) < LAMBDA_BYTES


def filled(api: Api) -> dict[str, str]:
    """Create several of every listed resource; return the parameters of the lists' paths."""
    for number in range(3):
        api.call("PUT", f"/v1/tasks/t{number}", {"handler": URL})
        api.call("PUT", f"/v1/calendars/c{number}", {"timezone": "UTC", "dates": ["2026-12-25"]})
        api.call("PUT", "/v1/calendars/c0", {"timezone": "UTC", "dates": [f"2026-12-{number + 1:02d}"]})
        api.call("POST", "/v1/admin/tenants", {"name": f"tenant{number}"})
        api.call("POST", "/v1/admin/tenants/acme/keys", {"role": "viewer"})
        freeze(api, **{"from": "2027-01-01T00:00:00Z"})
        ask(api)
    jobs = [api.create(everySeconds=3_600, startAt="2027-01-01T00:00:00Z") for _ in range(3)]
    for job in jobs:
        died(api, job, 3)
    for number in range(3):
        api.clock.advance(SECOND_MS)
        assert api.call("PATCH", f"/v1/jobs/{jobs[0]['jobId']}", {"name": str(number)}).status == 200
        assert backfill(api, api.create(cronExpression="0 * * * *")).status == 201
    backfilled = api.create(cronExpression="0 * * * *")
    for number in range(3):
        assert backfill(api, backfilled, key=str(number)).status == 201
    return {"jobId": jobs[0]["jobId"], "tenant": "acme", "backfilled": backfilled["jobId"]}


LISTS = {
    "/v1/jobs": "/v1/jobs",
    "/v1/jobs/{jobId}/runs": "/v1/jobs/{jobId}/runs",
    "/v1/jobs/{jobId}/executions": "/v1/jobs/{jobId}/executions",
    "/v1/jobs/{jobId}/revisions": "/v1/jobs/{jobId}/revisions",
    "/v1/jobs/{jobId}/backfills": "/v1/jobs/{backfilled}/backfills",
    "/v1/changes": "/v1/changes",
    "/v1/tasks": "/v1/tasks",
    "/v1/calendars": "/v1/calendars",
    "/v1/calendars/{name}/revisions": "/v1/calendars/c0/revisions",
    "/v1/upcoming": "/v1/upcoming",
    "/v1/freezes": "/v1/freezes",
    "/v1/operations": "/v1/operations",
    "/v1/runs": "/v1/runs",
    "/v1/dead-letters": "/v1/dead-letters",
    "/v1/admin/keys": "/v1/admin/keys",
    "/v1/admin/tenants": "/v1/admin/tenants",
    "/v1/admin/health": "/v1/admin/health",
    "/v1/admin/tenants/{tenant}/keys": "/v1/admin/tenants/{tenant}/keys",
}
"""The path of each list that has items after `filled`."""


COUNTED = {"/v1/dead-letters:groups"}
"""The lists whose pages end by the rows that are read: a group may appear on several pages."""
GRAPHS = {"/v1/jobs/{jobId}/graph", "/v1/cycles/{jobId}/{cycleId}"}
"""The graphs: their pages have more than a list of items."""


def test_every_list_is_attacked_here() -> None:
    assert {*LISTS, *COUNTED, *GRAPHS} == {route.path for route in ROUTES if "cursor" in route.query}


@pytest.mark.parametrize("path", LISTS.values())
def test_pages_that_end_by_their_bytes_miss_nothing_and_repeat_nothing(path: str, api: Api) -> None:
    path = path.format(**filled(api))
    whole = walked(api, path, lambda _: None)
    assert len(whole) >= 3
    lengths: list[int] = []
    for most_bytes in (1, 1_200):
        api.handle = build_api(replace(api.edge, page_bytes=most_bytes))
        assert walked(api, path, lambda answer: lengths.append(len(answer.body["items"]))) == whole
    assert set(lengths[: len(whole)]) == {1}
    assert len(lengths) > len(whole)


def test_a_graph_and_a_cycle_that_are_too_large_are_cut_and_say_so(api: Api) -> None:
    top = api.create(everySeconds=60, anchorAt="2026-11-21T09:31:00Z")["jobId"]
    for _ in range(3):
        api.create(dependsOn=[top])
    api.dispatch()
    cycle = f"/v1/cycles/{top}/2026-11-21T09:31:00Z"
    whole = [api.call("GET", f"/v1/jobs/{top}/graph").body, api.call("GET", cycle).body]
    api.handle = build_api(replace(api.edge, page_bytes=450))
    cut = [api.call("GET", f"/v1/jobs/{top}/graph").body, api.call("GET", cycle).body]
    for name, before, after in zip(("descendants", "items"), whole, cut, strict=True):
        assert (before["isCut"], after["isCut"]) == (False, True)
        assert (before["nextCursor"], after["nextCursor"] is None) == (None, False)
        assert after[name] == before[name][: len(after[name])]
        assert 1 <= len(after[name]) < len(before[name])


@pytest.mark.parametrize("name", ["descendants", "items"])
def test_pages_of_a_graph_that_end_by_their_bytes_miss_nothing_and_repeat_nothing(api: Api, name: str) -> None:
    top = api.create(everySeconds=60, anchorAt="2026-11-21T09:31:00Z")["jobId"]
    made = [api.create(dependsOn=[top])["jobId"] for _ in range(5)]
    api.handle = build_api(replace(api.edge, page_bytes=1))
    path = f"/v1/jobs/{top}/graph" if name == "descendants" else f"/v1/cycles/{top}/2026-11-21T09:31:00Z"
    found, query = list[str](), dict[str, str]()
    while "cursor" not in query or query["cursor"]:
        page = api.call("GET", path, query=query).body
        assert len(page[name]) == 1
        found += [one["jobId"] for one in page[name]]
        query = {"cursor": page["nextCursor"] or ""}
    assert found == ([] if name == "descendants" else [top]) + sorted(made)


def test_a_batch_of_unique_keys_of_large_jobs_gets_an_answer_that_lambda_allows(api: Api) -> None:
    keyed: list[dict[str, Any]] = [
        {"handler": URL, "uniqueKey": f"invoice {number}", "delaySeconds": 600} for number in range(100)
    ]
    for one in keyed[:99]:
        assert api.call("POST", "/v1/jobs", {**one, "payload": "x" * 200_000}).status == 201
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": keyed})
    assert len(json.dumps(answer.text)) < LAMBDA_BYTES
    statuses = [item["status"] for item in answer.body["items"]]
    assert statuses[-1] == 201
    assert set(statuses[:-1]) == {200, 503}
    left_out = answer.body["items"][statuses.index(503)]
    assert "on its own" in left_out["problem"]["detail"]
    assert api.call("POST", "/v1/jobs", keyed[left_out["index"]]).status == 200
