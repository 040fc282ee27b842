"""Jobs that wait for other jobs, as requests create and change them: one by one, in batches, by patches."""

import pytest

from tests.api.client import Api
from tests.api.dependencies.asking import HOOK, SOON, batch, put, sentences
from timeball.api.dependencies.examining import REFUSED
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import format_instant


def test_a_job_that_depends_on_others_needs_no_schedule_and_shows_its_parents(diamond: Api) -> None:
    job = diamond.call("GET", "/v1/jobs/d").body
    assert (job["status"], job["nextRunAt"], job["dependsOn"]) == ("pending", None, ["b", "c"])
    assert (job["triggerRule"], job["dependencyTimeoutSeconds"], job["blockedBy"]) == ("allSucceeded", 86_400, None)
    assert job["scheduleAt"] == SOON
    assert diamond.store.runs == {}


def test_options_of_a_parent_are_shown_again_and_a_job_without_parents_shows_none(api: Api) -> None:
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
    "more parents than may": ({"dependsOn": [f"job-{number}" for number in range(2_001)]}, ["dependsOn"]),
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


def test_a_job_that_ended_may_be_a_parent_and_lets_its_child_run_at_once(api: Api) -> None:
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


class TestBatches:
    def test_items_name_other_items_by_ref_or_by_a_name_that_only_one_has(self, api: Api) -> None:
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

    def test_a_child_of_an_unreadable_item_does_not_fall_back_to_an_existing_job(self, api: Api) -> None:
        put(api, "extract")
        items = batch(api, {"ref": "extract", "scheduleAt": "soon"}, {"dependsOn": ["extract"]})
        assert [item["status"] for item in items] == [400, 400]
        assert items[1]["problem"]["errors"] == [{"field": "dependsOn.0", "message": REFUSED}]

    def test_a_ref_is_unique_and_only_batches_accept_one(self, api: Api) -> None:
        items = batch(api, {"ref": "a"}, {"ref": "a"}, {"ref": 5})
        assert [item["status"] for item in items] == [201, 400, 400]
        assert api.call("POST", "/v1/jobs", {**HOOK, "ref": "a"}).bad_fields() == ["ref"]

    def test_a_repeated_batch_gets_the_first_answers(self, api: Api) -> None:
        jobs = [{**HOOK, "ref": "a", "scheduleAt": SOON}, {**HOOK, "dependsOn": ["a"]}]
        first, again = (
            api.call("POST", "/v1/jobs:batch", {"jobs": jobs}, headers={"Idempotency-Key": "graph"}) for _ in range(2)
        )
        assert [item["status"] for item in first.body["items"]] == [201, 201]
        assert again.body == first.body
        assert len(api.store.jobs) == 2

    def test_a_repeated_batch_shows_a_parent_that_holds_a_unique_key(self, api: Api) -> None:
        jobs = [{**HOOK, "ref": "rows", "uniqueKey": "day", "scheduleAt": SOON}, {**HOOK, "dependsOn": ["rows"]}]
        first, again = (
            api.call("POST", "/v1/jobs:batch", {"jobs": jobs}, headers={"Idempotency-Key": "graph"}) for _ in range(2)
        )
        parent, child = (item["job"] for item in again.body["items"])
        assert child["dependsOn"] == [parent["jobId"]]
        assert again.body == first.body


class TestChanges:
    def test_the_same_put_again_changes_nothing_while_the_job_waits(self, diamond: Api) -> None:
        again = put(diamond, "d", "b", "c")
        assert (again.status, again.body["version"]) == (200, 1)

    def test_a_job_whose_parents_are_removed_runs_by_its_schedule(self, diamond: Api) -> None:
        job = diamond.call("PATCH", "/v1/jobs/b", {"dependsOn": None, "scheduleAt": SOON}).body
        assert (job["dependsOn"], job["nextRunAt"]) == ([], SOON)

    @pytest.mark.parametrize("none", [None, []])
    def test_a_job_whose_parents_are_removed_keeps_the_time_that_it_had_from_them(
        self, diamond: Api, none: object
    ) -> None:
        job = diamond.call("PATCH", "/v1/jobs/b", {"dependsOn": none}).body
        assert (job["dependsOn"], job["scheduleAt"], job["nextRunAt"]) == ([], SOON, SOON)

    def test_a_one_off_parent_cannot_become_recurring(self, diamond: Api) -> None:
        answer = diamond.call("PATCH", "/v1/jobs/a", {"everySeconds": 60})
        assert "everySeconds" in sentences(answer)

    def test_a_waiting_job_may_be_paused_resumed_and_cancelled(self, diamond: Api) -> None:
        for verb, status in (("pause", "paused"), ("resume", "pending")):
            assert diamond.call("POST", f"/v1/jobs/d/{verb}").body["status"] == status
        assert diamond.call("DELETE", "/v1/jobs/d").body["status"] == "cancelled"
        assert diamond.store.runs == {}


def test_a_key_bounded_to_tags_cannot_name_parents_outside_its_bounds(api: Api) -> None:
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


class TestBatchesTogether:
    def test_a_cycle_among_items_is_reported_by_the_requests_own_names(self, api: Api) -> None:
        items = batch(
            api,
            {"name": "extract", "dependsOn": ["report"]},
            {"name": "clean", "ref": "tidy", "dependsOn": ["extract"]},
            {"name": "report", "dependsOn": ["tidy"]},
        )
        messages = {error["message"] for item in items for error in item["problem"]["errors"]}
        assert messages == {
            "This closes a cycle, in which each job waits for the next: extract → report → tidy → extract."
        }

    def test_an_item_may_name_another_whose_unique_key_stands_for_an_earlier_item(self, api: Api) -> None:
        soon = {"scheduleAt": SOON}
        items = batch(
            api,
            {"ref": "first", "uniqueKey": "day", **soon},
            {"ref": "second", "uniqueKey": "day", **soon},
            {"dependsOn": ["second"]},
        )
        assert [item["status"] for item in items] == [201, 200, 201]
        assert items[2]["job"]["dependsOn"] == [items[0]["job"]["jobId"]]

    def test_a_child_of_such_an_item_waits_too_even_if_it_names_both(self, api: Api) -> None:
        soon = {"scheduleAt": SOON}
        items = batch(
            api,
            {"ref": "last", "dependsOn": ["middle", "first"]},
            {"ref": "middle", "dependsOn": [{"jobId": "second", "as": "rows"}]},
            {"ref": "first", "uniqueKey": "day", **soon},
            {"ref": "second", "uniqueKey": "day", **soon},
        )
        assert [item["status"] for item in items] == [201, 201, 201, 200]
        first, middle = (items[at]["job"]["jobId"] for at in (2, 1))
        assert items[1]["job"]["dependsOn"] == [{"jobId": first, "as": "rows"}]
        assert items[0]["job"]["dependsOn"] == [middle, first]
