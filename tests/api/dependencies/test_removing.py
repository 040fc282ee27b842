"""Cancelling a job on which others depend: refused, or with its children detached or cancelled."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.dependencies.asking import HOOK, put
from tests.api.operations.test_operations import ask, read, scan


def delete(api: Api, job_id: str, children: str | None = None, **also: Any) -> Answer:
    query = {} if children is None else {"children": children}
    return api.call("DELETE", f"/v1/jobs/{job_id}", **{"query": query, **also})


def statuses(api: Api, names: str) -> list[str]:
    return [api.call("GET", f"/v1/jobs/{name}").body["status"] for name in names]


def test_a_job_with_open_children_is_refused_by_default_and_the_answer_names_them(diamond: Api) -> None:
    answer = delete(diamond, "a")
    assert answer.status == 409
    assert answer.body["type"] == "urn:timeball:problem:has-children"
    assert answer.body["children"] == ["b", "c"]
    assert "Open jobs depend on this one (b, c)" in answer.body["detail"]
    assert statuses(diamond, "abcd") == ["pending"] * 4


def test_detaching_leaves_the_children_without_that_parent(diamond: Api) -> None:
    answer = delete(diamond, "b", "detach")
    assert (answer.status, answer.body["status"]) == (200, "cancelled")
    left = diamond.call("GET", "/v1/jobs/d").body
    assert (left["dependsOn"], left["status"], left["pausedReason"], left["version"]) == (["c"], "pending", None, 2)


def test_a_child_left_without_parents_and_schedule_is_paused_with_the_reason(diamond: Api) -> None:
    assert delete(diamond, "a", "detach").status == 200
    left = diamond.call("GET", "/v1/jobs/b").body
    assert (left["dependsOn"], left["status"], left["pausedReason"]) == ([], "paused", "parent_removed")
    revision = diamond.call("GET", "/v1/jobs/b/revisions").body["items"][0]
    assert (revision["action"], revision["revision"]) == ("detach", 2)
    again = diamond.call("POST", "/v1/jobs/b/resume").body
    assert (again["status"], again["pausedReason"]) == ("pending", None)


def test_a_recurring_child_keeps_the_fire_times_that_it_has_inherited_and_starts_none(api: Api) -> None:
    api.call("PUT", "/v1/jobs/a", {**HOOK, "everySeconds": 60})
    put(api, "b", "a")
    assert delete(api, "a", "detach").status == 200
    left = api.call("GET", "/v1/jobs/b").body
    assert (left["status"], left["everySeconds"], left["nextRuns"]) == ("paused", 60, [])
    document = {**HOOK, **{name: left[name] for name in ("everySeconds", "anchorAt")}}
    assert api.call("PUT", "/v1/jobs/b", document).body["version"] == left["version"]


def test_a_detached_child_may_be_given_another_parent(diamond: Api) -> None:
    put(diamond, "x")
    delete(diamond, "a", "detach")
    assert diamond.call("PATCH", "/v1/jobs/b", {"dependsOn": ["x"]}).status == 200
    assert diamond.call("POST", "/v1/jobs/b/resume").body["status"] == "pending"


def test_cancelling_takes_all_descendants_that_no_remaining_parent_can_let_run(diamond: Api) -> None:
    put(diamond, "x")
    put(diamond, "e", "d", "x", triggerRule="anySucceeded")
    put(diamond, "f", "d", "x")
    answer = delete(diamond, "a", "cancel")
    assert answer.status == 200
    assert statuses(diamond, "abcdf") == ["cancelled"] * 5
    assert statuses(diamond, "ex") == ["pending"] * 2


def test_a_child_that_waits_for_any_end_is_lost_without_a_parent(api: Api) -> None:
    put(api, "a")
    put(api, "b", "a", triggerRule="allDone")
    assert delete(api, "a", "cancel").status == 200
    assert statuses(api, "ab") == ["cancelled"] * 2


def test_a_job_whose_children_have_ended_is_cancelled_like_any_other(diamond: Api) -> None:
    assert delete(diamond, "d").status == 200
    assert delete(diamond, "b").status == 200


def test_a_repeated_delete_of_a_cancelled_job_changes_nothing_unless_it_names_the_children(api: Api) -> None:
    put(api, "a")
    put(api, "x")
    put(api, "b", "a", "x", triggerRule="allDone")
    assert delete(api, "a", "detach").status == 200
    assert delete(api, "a").status == 200
    assert delete(api, "a", "cancel").status == 200
    assert statuses(api, "axb") == ["cancelled", "pending", "pending"]


def test_a_stale_version_leaves_the_children_as_they_are(diamond: Api) -> None:
    answer = delete(diamond, "a", "cancel", headers={"If-Match": '"7"'})
    assert answer.status == 412
    assert statuses(diamond, "abcd") == ["pending"] * 4


def test_a_bad_query_is_refused_and_nothing_is_cancelled(diamond: Api) -> None:
    answer = delete(diamond, "a", query={"children": "keep", "childs": "detach"})
    assert (answer.status, sorted(bad["field"] for bad in answer.body["errors"])) == (400, ["children", "childs"])
    assert statuses(diamond, "abcd") == ["pending"] * 4


def test_a_bulk_cancel_refuses_by_default_and_says_so_for_each_job(diamond: Api) -> None:
    diamond.call("PATCH", "/v1/jobs/a", {"tags": {"team": "blue"}})
    answer = ask(diamond, "cancel", match={"tags": {"team": "blue"}})
    scan(diamond)
    failures = read(diamond, answer).body["failures"]
    assert [(one["jobId"], one["problem"]["type"]) for one in failures] == [("a", "urn:timeball:problem:has-children")]
    assert statuses(diamond, "abcd") == ["pending"] * 4


@pytest.mark.parametrize(
    ("children", "after"),
    [("detach", ["cancelled", "paused", "paused", "pending"]), ("cancel", ["cancelled"] * 4)],
)
def test_a_bulk_cancel_takes_the_children_as_it_is_told(diamond: Api, children: str, after: list[str]) -> None:
    diamond.call("PATCH", "/v1/jobs/a", {"tags": {"team": "blue"}})
    answer = ask(diamond, "cancel", match={"tags": {"team": "blue"}}, children=children)
    assert answer.body["children"] == children
    scan(diamond)
    assert read(diamond, answer).body["progress"] == {"matched": 1, "done": 1, "failed": 0}
    assert statuses(diamond, "abcd") == after


def test_only_a_bulk_cancel_takes_children(api: Api) -> None:
    answer = ask(api, "pause", children="detach")
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, "children")


def test_a_bounded_key_is_not_told_of_children_that_it_may_not_see_and_changes_none(api: Api) -> None:
    put(api, "a", tags={"team": "blue"})
    put(api, "b", "a", tags={"team": "blue"})
    put(api, "c", "a")
    for children in (None, "detach", "cancel"):
        answer = delete(api, "a", children, bounds={"team": "blue"})
        assert (answer.status, answer.body["children"]) == (409, ["b"])
        assert "may not see" in answer.body["detail"]
    assert statuses(api, "abc") == ["pending"] * 3
