"""Jobs with a run for each item: how users ask for them, and how targets name the items."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.dependencies.asking import batch, put, sentences
from tests.api.runs.rows import called, say, waiting
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


def _children(api: Api, parent: Run, amount: int) -> None:
    """Create so many jobs that have a run for each item of a parent's."""
    each: dict[str, object] = {"dependsOn": [parent.id.job.job_id], "forEach": parent.id.job.job_id}
    while amount > 0:
        assert {item["status"] for item in batch(api, *[each] * min(amount, 100))} == {201}
        amount -= 100


def _is_over_the_bound(refused: Answer) -> bool:
    """Say whether items were refused for the runs that they would make, and not so that a repeat makes sense."""
    is_named = refused.body["type"].endswith("too-many-items") and "100,000 runs" in refused.body["detail"]
    return refused.status == 409 and is_named and "Retry-After" not in refused.headers


def test_items_that_would_make_more_runs_than_an_attempt_may_are_refused_and_none_is_named(api: Api, run: Run) -> None:
    _children(api, run, 126)
    refused = name(api, run, *range(800))
    assert _is_over_the_bound(refused)
    assert "126 jobs have a run for each" in refused.body["detail"]
    assert "793 items" in refused.body["detail"]
    assert api.store.runs[run.id].named is None
    assert name(api, run, *range(793)).status == 200


def test_items_named_before_count_towards_the_runs_that_an_attempt_may_ask_for(api: Api, run: Run) -> None:
    _children(api, run, 126)
    assert name(api, run, *range(400)).status == 200
    refused = name(api, run, *range(400, 800))
    assert _is_over_the_bound(refused)
    assert "has named 400 before" in refused.body["detail"]
    assert name(api, run, *range(400, 793)).status == 200


def test_items_that_are_named_again_are_answered_as_before_when_other_jobs_have_come(api: Api, run: Run) -> None:
    _children(api, run, 125)
    assert name(api, run, *range(800)).status == 200
    _children(api, run, 1)
    assert name(api, run, *range(800)).status == 200
    assert _is_over_the_bound(name(api, run, 800))


def test_a_report_that_was_taken_is_answered_as_before_when_other_jobs_have_come(api: Api) -> None:
    run = waiting(api)
    _children(api, run, 125)
    result = {"fanOut": list(range(800))}
    assert say(api, run, "complete", result=result).status == 200
    _children(api, run, 1)
    assert say(api, run, "complete", result=result).body["status"] == "succeeded"


def test_a_report_with_too_many_items_for_their_runs_is_refused_and_one_with_fewer_is_taken(api: Api) -> None:
    run = waiting(api)
    _children(api, run, 126)
    assert name(api, run, *range(400)).status == 200
    assert _is_over_the_bound(say(api, run, "complete", result={"fanOut": list(range(394))}))
    assert api.store.runs[run.id].state is RunState.RUNNING
    assert say(api, run, "complete", result={"fanOut": list(range(393))}).status == 200


def test_a_report_without_items_is_taken_however_many_jobs_have_come(api: Api) -> None:
    run = waiting(api)
    assert name(api, run, *range(1_000)).status == 200
    _children(api, run, 101)
    assert say(api, run, "complete", result={"rows": 1}).status == 200
