"""Jobs that wait for jobs, as their users ask for them: in requests of their own, in batches, in changes."""

from typing import Any

import pytest

from functions.api.app import build_api
from functions.api.dependencies.examining import REFUSED
from tests.api.client import Answer, Api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import JobStatus
from timeball.domain.time.instants import HOUR_MS, format_instant
from timeball.engine.context import Rules

SOON = "2026-11-21T10:00:00.000Z"
HOOK = {"handler": "https://example.com/hook"}


def put(api: Api, job_id: str, *parents: object, **fields: object) -> Answer:
    when = {} if parents else {"scheduleAt": SOON}
    depends = {"dependsOn": list(parents)} if parents else {}
    return api.call("PUT", f"/v1/jobs/{job_id}", {**HOOK, **when, **depends, **fields})


def batch(api: Api, *jobs: dict[str, object]) -> list[Any]:
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": [{**HOOK, **job} for job in jobs]})
    assert answer.status == 200, answer.text
    items: list[Any] = answer.body["items"]
    return items


def sentences(answer: Answer) -> dict[str, str]:
    assert answer.status == 400, answer.text
    return {error["field"]: error["message"] for error in answer.body["errors"]}


@pytest.fixture
def diamond(api: Api) -> Api:
    for job_id, *parents in (("a",), ("b", "a"), ("c", "a"), ("d", "b", "c")):
        assert put(api, job_id, *parents).status == 201
    return api


def test_a_job_that_depends_on_others_needs_no_schedule_and_tells_what_it_waits_for(diamond: Api) -> None:
    job = diamond.call("GET", "/v1/jobs/d").body
    assert (job["status"], job["nextRunAt"], job["dependsOn"]) == ("pending", None, ["b", "c"])
    assert (job["triggerRule"], job["dependencyTimeoutSeconds"], job["blockedBy"]) == ("allSucceeded", 86_400, None)
    assert job["scheduleAt"] == SOON
    assert diamond.store.runs == {}


def test_what_is_said_of_a_parent_is_told_again_and_a_job_without_any_says_nothing_of_them(api: Api) -> None:
    put(api, "a")
    parents = [{"jobId": "a", "as": "rows", "on": "done"}]
    asked = {"triggerRule": "anySucceeded", "dependencyTimeoutSeconds": 60, "passParents": True}
    job = put(api, "b", *parents, **asked).body
    assert {"dependsOn": parents, **asked}.items() <= job.items()
    assert api.call("PATCH", "/v1/jobs/b", {"name": "other"}).body["passParents"] is True
    plain = api.call("GET", "/v1/jobs/a").body
    assert (plain["dependsOn"], [plain[name] for name in asked]) == ([], [None] * 3)


BAD: dict[str, tuple[dict[str, object], list[str]]] = {
    "a parent that is none": ({"dependsOn": ["nobody"]}, ["dependsOn.0"]),
    "an id that no job can have": ({"dependsOn": ["a", "no job"]}, ["dependsOn.1"]),
    "a job of another tenant": ({"dependsOn": ["theirs"]}, ["dependsOn.0"]),
    "itself": ({"dependsOn": ["a", "new"]}, ["dependsOn"]),
    "the same one twice": ({"dependsOn": ["a", {"jobId": "a"}]}, ["dependsOn"]),
    "one name for two": (
        {"dependsOn": [{"jobId": "a", "as": "x"}, {"jobId": "b", "as": "x"}]},
        ["dependsOn"],
    ),
    "no list": ({"dependsOn": "a"}, ["dependsOn"]),
    "no id and no object": ({"dependsOn": [5]}, ["dependsOn.0"]),
    "an object without an id": ({"dependsOn": [{"as": "x"}]}, ["dependsOn.0.jobId"]),
    "an unknown end": ({"dependsOn": [{"jobId": "a", "on": "maybe"}]}, ["dependsOn.0.on"]),
    "an unknown field": ({"dependsOn": [{"jobId": "a", "job": "b"}]}, ["dependsOn.0.job"]),
    "an unknown rule": ({"dependsOn": ["a"], "triggerRule": "most"}, ["triggerRule"]),
    "a rule about nobody": ({"triggerRule": "allDone"}, ["triggerRule"]),
    "nobody to pass on": ({"passParents": True}, ["passParents"]),
    "a name that is the id of another": ({"dependsOn": ["a", {"jobId": "b", "as": "a"}]}, ["dependsOn"]),
    "a timeout for nobody": ({"dependencyTimeoutSeconds": 5}, ["dependencyTimeoutSeconds"]),
    "no time at all": ({"dependsOn": ["a"], "dependencyTimeoutSeconds": 0}, ["dependencyTimeoutSeconds"]),
    "more parents than may": ({"dependsOn": [f"job-{number}" for number in range(101)]}, ["dependsOn"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parents_are_refused_and_nothing_is_stored(api: Api, case: str) -> None:
    fields, bad = BAD[case]
    put(api, "a")
    put(api, "b")
    api.call("PUT", "/v1/jobs/theirs", {**HOOK, "scheduleAt": SOON}, tenant="other")
    before = dict(api.store.jobs)
    answer = api.call("PUT", "/v1/jobs/new", {**HOOK, **fields})
    assert answer.status == 400
    assert answer.bad_fields() == bad
    assert dict(api.store.jobs) == before


def test_a_job_that_ended_may_be_waited_for_and_lets_its_child_run_at_once(api: Api) -> None:
    past = "2026-11-21T09:00:00.000Z"
    put(api, "a", scheduleAt=past)
    api.store.runs.clear()
    key = JobKey("acme", "a")
    api.store.jobs[key] = evolve(api.store.jobs[key], status=JobStatus.COMPLETED, next_fire_at=None, due_at=None)
    created = put(api, "b", "a").body
    assert created["status"] == "pending"
    (run,) = api.store.runs.values()
    assert format_instant(run.id.fire_at) == past
    shown = api.call("GET", f"/v1/runs/{run.id}").body
    assert (shown["origin"], shown["fireTime"]) == ("dependency", past)


class TestCycles:
    def test_a_patch_that_closes_one_is_refused_and_names_it(self, diamond: Api) -> None:
        before = diamond.store.jobs[JobKey("acme", "a")]
        answer = diamond.call("PATCH", "/v1/jobs/a", {"dependsOn": ["d"]})
        assert sentences(answer)["dependsOn"].endswith(("a → d → b → a.", "a → d → c → a."))
        after = diamond.store.jobs[JobKey("acme", "a")]
        assert (after.spec, after.version, after.proposed) == (before.spec, before.version, None)

    def test_so_is_a_put(self, diamond: Api) -> None:
        assert "a → b → a" in sentences(put(diamond, "a", "b"))["dependsOn"]

    def test_so_is_a_job_that_waits_for_itself(self, diamond: Api) -> None:
        assert "itself" in sentences(put(diamond, "a", "a"))["dependsOn.0"]
        assert "new → new" in sentences(put(diamond, "new", "new"))["dependsOn"]

    def test_within_a_batch_each_of_its_jobs_is_refused_and_no_other(self, api: Api) -> None:
        items = batch(
            api,
            {"ref": "x", "dependsOn": ["z"]},
            {"ref": "y", "dependsOn": ["x"]},
            {"ref": "z", "dependsOn": ["y"]},
            {"ref": "child", "dependsOn": ["x"]},
            {"ref": "free"},
        )
        assert [item["status"] for item in items] == [400, 400, 400, 400, 201]
        told = [item["problem"]["errors"][0] for item in items[:4]]
        assert all("x → z → y → x" in error["message"] for error in told[:3])
        assert (told[3]["field"], told[3]["message"].startswith("This item")) == ("dependsOn.0", True)

    def test_a_change_that_closes_none_is_done(self, diamond: Api) -> None:
        put(diamond, "e")
        job = diamond.call("PATCH", "/v1/jobs/d", {"dependsOn": ["b", "e"]}).body
        assert (job["dependsOn"], job["version"]) == (["b", "e"], 2)
        assert diamond.store.jobs[JobKey("acme", "d")].proposed is None
        assert diamond.store.jobs[JobKey("acme", "e")].has_children


class TestBatches:
    def test_items_name_others_by_their_refs_or_by_names_that_one_alone_has(self, api: Api) -> None:
        items = batch(
            api,
            {"ref": "last", "dependsOn": ["left", "right side"]},
            {"ref": "left", "dependsOn": ["first"]},
            {"name": "right side", "dependsOn": [{"jobId": "first", "as": "rows"}]},
            {"ref": "first", "scheduleAt": SOON},
        )
        assert [item["status"] for item in items] == [201] * 4
        last, left, right, first = (item["job"] for item in items)
        assert last["dependsOn"] == [left["jobId"], right["jobId"]]
        assert right["dependsOn"] == [{"jobId": first["jobId"], "as": "rows"}]
        assert api.store.runs == {}

    def test_a_child_of_a_refused_item_is_refused(self, api: Api) -> None:
        items = batch(api, {"ref": "a", "maxRetries": -1}, {"ref": "b", "dependsOn": ["a"]}, {"dependsOn": ["b"]})
        assert [item["status"] for item in items] == [400, 400, 400]
        assert api.store.jobs == {}

    def test_a_child_of_an_item_that_cannot_be_read_means_no_job_that_stands(self, api: Api) -> None:
        put(api, "extract")
        items = batch(api, {"ref": "extract", "scheduleAt": "soon"}, {"dependsOn": ["extract"]})
        assert [item["status"] for item in items] == [400, 400]
        assert items[1]["problem"]["errors"] == [{"field": "dependsOn.0", "message": REFUSED}]

    def test_a_ref_is_needed_once_and_only_batches_know_one(self, api: Api) -> None:
        items = batch(api, {"ref": "a"}, {"ref": "a"}, {"ref": 5})
        assert [item["status"] for item in items] == [201, 400, 400]
        assert api.call("POST", "/v1/jobs", {**HOOK, "ref": "a"}).bad_fields() == ["ref"]

    def test_a_batch_that_is_repeated_answers_as_it_did(self, api: Api) -> None:
        jobs = [{**HOOK, "ref": "a", "scheduleAt": SOON}, {**HOOK, "dependsOn": ["a"]}]
        first, again = (
            api.call("POST", "/v1/jobs:batch", {"jobs": jobs}, headers={"Idempotency-Key": "graph"}) for _ in range(2)
        )
        assert [item["status"] for item in first.body["items"]] == [201, 201]
        assert again.body == first.body
        assert len(api.store.jobs) == 2


class TestChanges:
    def test_the_same_put_again_changes_nothing_while_the_job_waits(self, diamond: Api) -> None:
        again = put(diamond, "d", "b", "c")
        assert (again.status, again.body["version"]) == (200, 1)

    def test_a_job_without_parents_any_more_runs_when_its_schedule_says(self, diamond: Api) -> None:
        job = diamond.call("PATCH", "/v1/jobs/b", {"dependsOn": None, "scheduleAt": SOON}).body
        assert (job["dependsOn"], job["nextRunAt"]) == ([], SOON)

    @pytest.mark.parametrize("none", [None, []])
    def test_one_that_had_the_time_of_its_parents_keeps_it_as_its_own(self, diamond: Api, none: object) -> None:
        job = diamond.call("PATCH", "/v1/jobs/b", {"dependsOn": none}).body
        assert (job["dependsOn"], job["scheduleAt"], job["nextRunAt"]) == ([], SOON, SOON)

    def test_a_parent_stays_a_job_that_runs_once(self, diamond: Api) -> None:
        answer = diamond.call("PATCH", "/v1/jobs/a", {"everySeconds": 60})
        assert "everySeconds" in sentences(answer)

    def test_a_waiting_job_may_be_paused_resumed_and_cancelled(self, diamond: Api) -> None:
        for verb, status in (("pause", "paused"), ("resume", "pending")):
            assert diamond.call("POST", f"/v1/jobs/d/{verb}").body["status"] == status
        assert diamond.call("DELETE", "/v1/jobs/d").body["status"] == "cancelled"
        assert diamond.store.runs == {}


def test_the_graph_around_a_job_is_told_both_ways(diamond: Api) -> None:
    graph = diamond.call("GET", "/v1/jobs/b/graph").body
    assert graph["job"]["jobId"] == "b"
    assert [node["jobId"] for node in graph["ancestors"]] == ["a"]
    assert [(node["jobId"], node["dependsOn"]) for node in graph["descendants"]] == [("d", ["b", "c"])]
    assert graph["isCut"] is False
    assert diamond.call("GET", "/v1/jobs/nobody/graph").status == 404


def test_children_beyond_the_bound_are_refused(api: Api) -> None:
    put(api, "a")
    rules = Rules(max_children=2, max_ancestors=2)
    api.handle = build_api(evolve(api.edge, context=evolve(api.context, rules=rules)))
    assert [put(api, name, "a").status for name in ("b", "c")] == [201, 201]
    assert "2 jobs" in sentences(put(api, "d", "a"))["dependsOn.0"]
    assert put(api, "b2", "b").status == 201
    assert "split" in sentences(put(api, "b3", "b2"))["dependsOn"]


def test_children_that_are_over_or_have_other_parents_make_room_after_an_hour(api: Api) -> None:
    api.handle = build_api(evolve(api.edge, context=evolve(api.context, rules=Rules(max_children=3))))
    for name, parents in {"a": [], "x": [], "b": ["a"], "c": ["a"], "d": ["a"]}.items():
        assert put(api, name, *parents).status == 201
    api.call("DELETE", "/v1/jobs/b")
    assert put(api, "c", "x").status == 200
    assert [put(api, name, "a").status for name in ("e", "f", "g")] == [201, 201, 400]
    graph = api.call("GET", "/v1/jobs/a/graph").body
    assert {one["jobId"] for one in graph["descendants"]} == {"b", "d", "e", "f"}
    api.clock.advance(2 * HOUR_MS)
    assert put(api, "g", "a").status == 400
    graph = api.call("GET", "/v1/jobs/a/graph").body
    assert {one["jobId"] for one in graph["descendants"]} == {"d", "e", "f"}


def test_a_key_that_is_bounded_to_tags_knows_of_no_other_parents(api: Api) -> None:
    blue = {"tags": {"team": "blue"}}
    put(api, "theirs")
    put(api, "ours", **blue)
    bounds = {"team": "blue"}
    body = {**HOOK, **blue, "dependsOn": ["theirs", "ours"]}
    refused = api.call("PUT", "/v1/jobs/new", body, bounds=bounds)
    assert sentences(refused) == {"dependsOn.0": "You have no job with this id; create it first."}
    assert api.call("PUT", "/v1/jobs/new", body).status == 201
    kept = api.call("PATCH", "/v1/jobs/new", {"name": "n", "dependsOn": ["theirs"]}, bounds=bounds)
    assert kept.status == 200
    graph = api.call("GET", "/v1/jobs/new/graph", bounds=bounds).body
    assert graph["ancestors"] == []


def test_a_cycle_names_no_job_that_a_bounded_key_does_not_see(api: Api) -> None:
    blue = {"tags": {"team": "blue"}}
    put(api, "top", **blue)
    put(api, "theirs", "top")
    put(api, "ours", "theirs", **blue)
    change = {"dependsOn": ["ours"]}
    refused = api.call("PATCH", "/v1/jobs/top", change, bounds={"team": "blue"})
    assert sentences(refused)["dependsOn"].endswith("top → ours → a job that you do not see → top.")
    assert sentences(api.call("PATCH", "/v1/jobs/top", change))["dependsOn"].endswith("top → ours → theirs → top.")


class TestRecurringJobs:
    def test_a_child_takes_the_recurrence_of_its_parents_and_shows_it(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "cronExpression": "0 6 * * *", "timezone": "Europe/Berlin"})
        child = put(api, "child", "often", catchUp={"policy": "skip"}).body
        assert (child["cronExpression"], child["timezone"]) == ("0 6 * * *", "Europe/Berlin")
        assert child["nextRunAt"] == "2026-11-22T05:00:00.000Z"
        assert put(api, "child", "often", catchUp={"policy": "skip"}).body["version"] == 1
        assert api.call("PATCH", "/v1/jobs/child", {"name": "n"}).body["dependsOn"] == ["often"]

    def test_parents_of_other_recurrences_are_refused_with_the_reason(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        api.call("PUT", "/v1/jobs/seldom", {**HOOK, "everySeconds": 3600, "anchorAt": SOON})
        assert "recurrence" in sentences(put(api, "child", "often", "seldom"))["dependsOn.1"]
        assert "runs once" in sentences(put(api, "child", "often", scheduleAt=SOON))["dependsOn.0"]
        own = put(api, "child", "often", everySeconds=3600, anchorAt=SOON)
        assert "another" in sentences(own)["dependsOn.0"]
        assert put(api, "child", "often", everySeconds=60, anchorAt=SOON).status == 201

    def test_what_others_depend_on_keeps_its_recurrence(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        put(api, "child", "often")
        answer = api.call("PATCH", "/v1/jobs/often", {"everySeconds": 120})
        assert "share" in sentences(answer)["everySeconds"]
        assert "runs once" in sentences(api.call("PATCH", "/v1/jobs/child", {"scheduleAt": SOON}))["dependsOn.0"]

    def test_a_job_in_the_middle_is_changed_as_any_other_but_for_its_recurrence(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        api.call("PUT", "/v1/jobs/seldom", {**HOOK, "everySeconds": 3600, "anchorAt": SOON})
        put(api, "once")
        put(api, "middle", "often")
        put(api, "last", "middle")
        changed = api.call("PATCH", "/v1/jobs/middle", {"handler": "https://example.com/mended"})
        assert (changed.status, changed.body["everySeconds"]) == (200, 60)
        assert put(api, "middle", "often", handler="https://example.com/mended", maxRetries=1).status == 200
        for other in ("once", "seldom"):
            assert (
                "Jobs depend on this one"
                in sentences(api.call("PATCH", "/v1/jobs/middle", {"dependsOn": [other]}))["dependsOn"]
            )
        assert api.call("GET", "/v1/jobs/middle").body["dependsOn"] == ["often"]

    def test_a_child_without_parents_any_more_stays_recurring_and_its_parent_is_free_again(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        put(api, "child", "often")
        freed = api.call("PATCH", "/v1/jobs/child", {"dependsOn": None}).body
        assert (freed["dependsOn"], freed["everySeconds"], freed["anchorAt"]) == ([], 60, SOON)
        assert api.call("PATCH", "/v1/jobs/often", {"everySeconds": 120}).body["everySeconds"] == 120
