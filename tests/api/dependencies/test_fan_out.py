"""Jobs with a run for each item: how users ask for them, and how targets name the items."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.dependencies.asking import batch, put, sentences
from tests.api.runs.rows import called
from timeball.domain.model.evolve import evolve
from timeball.domain.model.runs.run import Run, RunState


def name(api: Api, run: Run, *items: object, attempt: int = 1, key: str | None = None, **fields: object) -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"attempt": attempt, "items": list(items), **fields}
    return api.call("POST", f"/v1/runs/{run.id}/fan-out", body, headers=headers)


@pytest.fixture
def run(api: Api) -> Run:
    return called(api)


def test_for_each_is_shown_by_the_name_that_the_job_gives_its_parent(api: Api) -> None:
    put(api, "a")
    job = put(api, "b", {"jobId": "a", "as": "rows"}, forEach="rows").body
    assert job["forEach"] == "rows"
    assert api.call("PATCH", "/v1/jobs/b", {"name": "other"}).body["forEach"] == "rows"
    assert put(api, "c", "a", forEach="a").body["forEach"] == "a"
    assert api.call("PATCH", "/v1/jobs/c", {"forEach": None}).body["forEach"] is None


def test_for_each_may_name_an_item_of_the_same_batch_by_its_ref(api: Api) -> None:
    first, second = (
        item["job"]
        for item in batch(
            api,
            {"ref": "list", "scheduleAt": "2026-11-22T06:00:00Z"},
            {"ref": "load", "dependsOn": ["list"], "forEach": "list"},
        )
    )
    assert second["forEach"] == first["jobId"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nobody": ({"forEach": "a"}, "forEach"),
    "none of those that it waits for": ({"dependsOn": ["a"], "forEach": "b"}, "forEach"),
    "no id": ({"dependsOn": ["a"], "forEach": 5}, "forEach"),
    "another overlap": ({"dependsOn": ["a"], "forEach": "a", "overlapPolicy": "skip"}, "overlapPolicy"),
    "one that has a run for each item itself": ({"dependsOn": ["each"], "forEach": "each"}, "dependsOn.0"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_for_each_is_refused_by_its_field(api: Api, case: str) -> None:
    put(api, "a")
    put(api, "each", "a", forEach="a")
    fields, field = BAD[case]
    answer = api.call("PUT", "/v1/jobs/new", {"handler": "https://example.com/hook", **fields})
    assert list(sentences(answer)) == [field]


def test_only_the_attempt_under_way_names_items_and_repeats_count_once(api: Api, run: Run) -> None:
    assert name(api, run, {"file": 1}).status == 200
    first = api.store.runs[run.id].named
    assert name(api, run, {"file": 1}).status == 200
    assert api.store.runs[run.id].named == first
    assert name(api, run, 2, key="part-2").status == 200
    assert name(api, run, 2, key="part-2").status == 200
    assert name(api, run, 3, key="part-2").body["type"].endswith("idempotency-conflict")
    assert name(api, run, 4, attempt=2).body["type"].endswith("stale-attempt")


def test_too_many_items_are_refused_and_none_of_them_counts(api: Api, run: Run) -> None:
    assert name(api, run, *range(999)).status == 200
    assert name(api, run, "x", "y").body["type"].endswith("too-many-items")
    assert name(api, run, "x").status == 200
    assert list(sentences(name(api, run, *range(1_001)))) == ["items"]


def test_items_that_are_too_large_are_refused(api: Api, run: Run) -> None:
    assert name(api, run, "x" * 200_000).status == 200
    assert name(api, run, "y" * 200_000).body["type"].endswith("too-many-items")
    assert "256 KB" in sentences(name(api, run, "x" * 270_000))["items"]


@pytest.mark.parametrize("body", [{"attempt": 1}, {"attempt": 1, "items": "a"}, {"attempt": 1, "items": None}])
def test_items_must_be_a_list(api: Api, run: Run, body: dict[str, Any]) -> None:
    assert list(sentences(api.call("POST", f"/v1/runs/{run.id}/fan-out", body))) == ["items"]


def test_a_run_that_is_over_accepts_no_items(api: Api, run: Run) -> None:
    api.put(evolve(run, state=RunState.SUCCEEDED, owner=None))
    assert name(api, run, 1).body["type"].endswith("stale-attempt")


def test_items_that_would_make_more_runs_than_one_request_may_are_all_refused(api: Api, run: Run) -> None:
    parent = run.id.job.job_id
    each: dict[str, object] = {"dependsOn": [parent], "forEach": parent}
    children = [item["status"] for size in (100, 26) for item in batch(api, *[each] * size)]
    assert children == [201] * 126
    refused = name(api, run, *range(800))
    assert (refused.status, refused.body["quota"]) == (429, "runsPerRequest")
    assert "800 items times 126 jobs" in refused.body["detail"]
    assert api.store.runs[run.id].named is None
    assert name(api, run, *range(793)).status == 200
