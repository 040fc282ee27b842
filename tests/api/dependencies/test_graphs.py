"""Graphs of jobs over the API: they have no cycles, are bounded, and recur together."""

from tests.api.client import Api
from tests.api.dependencies.asking import HOOK, SOON, batch, put, sentences
from timeball.api.app import build_api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import HOUR_MS
from timeball.engine.context import Rules


class TestCycles:
    def test_a_patch_that_closes_a_cycle_is_refused_and_names_it(self, diamond: Api) -> None:
        before = diamond.store.jobs[JobKey("acme", "a")]
        answer = diamond.call("PATCH", "/v1/jobs/a", {"dependsOn": ["d"]})
        assert sentences(answer)["dependsOn"].endswith(("a → d → b → a.", "a → d → c → a."))
        after = diamond.store.jobs[JobKey("acme", "a")]
        assert (after.spec, after.version, after.proposed) == (before.spec, before.version, None)

    def test_a_put_that_closes_a_cycle_is_refused(self, diamond: Api) -> None:
        assert "a → b → a" in sentences(put(diamond, "a", "b"))["dependsOn"]

    def test_a_job_that_waits_for_itself_is_refused(self, diamond: Api) -> None:
        assert "itself" in sentences(put(diamond, "a", "a"))["dependsOn.0"]
        assert "new → new" in sentences(put(diamond, "new", "new"))["dependsOn"]

    def test_every_job_of_a_cycle_within_a_batch_is_refused_and_no_other(self, api: Api) -> None:
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
        assert (told[3]["field"], told[3]["message"].startswith("This names an item")) == ("dependsOn.0", True)

    def test_a_change_that_closes_no_cycle_is_accepted(self, diamond: Api) -> None:
        put(diamond, "e")
        job = diamond.call("PATCH", "/v1/jobs/d", {"dependsOn": ["b", "e"]}).body
        assert (job["dependsOn"], job["version"]) == (["b", "e"], 2)
        assert diamond.store.jobs[JobKey("acme", "d")].proposed is None
        assert diamond.store.jobs[JobKey("acme", "e")].has_children


def test_a_jobs_graph_shows_its_ancestors_and_its_descendants(diamond: Api) -> None:
    graph = diamond.call("GET", "/v1/jobs/b/graph").body
    assert graph["job"]["jobId"] == "b"
    assert [node["jobId"] for node in graph["ancestors"]] == ["a"]
    assert [(node["jobId"], node["dependsOn"]) for node in graph["descendants"]] == [("d", ["b", "c"])]
    assert graph["isCut"] is False
    assert diamond.call("GET", "/v1/jobs/nobody/graph").status == 404


def test_more_children_than_allowed_are_refused(api: Api) -> None:
    put(api, "a")
    rules = Rules(max_children=2, max_ancestors=2)
    api.handle = build_api(evolve(api.edge, context=evolve(api.context, rules=rules)))
    assert [put(api, name, "a").status for name in ("b", "c")] == [201, 201]
    assert "2 jobs" in sentences(put(api, "d", "a"))["dependsOn.0"]
    assert put(api, "b2", "b").status == 201
    assert "split" in sentences(put(api, "b3", "b2"))["dependsOn"]


def test_children_that_ended_or_have_other_parents_make_room_after_an_hour(api: Api) -> None:
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


def test_a_reported_cycle_names_no_job_that_a_bounded_key_cannot_see(api: Api) -> None:
    blue = {"tags": {"team": "blue"}}
    put(api, "top", **blue)
    put(api, "theirs", "top")
    put(api, "ours", "theirs", **blue)
    change = {"dependsOn": ["ours"]}
    refused = api.call("PATCH", "/v1/jobs/top", change, bounds={"team": "blue"})
    assert sentences(refused)["dependsOn"].endswith("top → ours → a job that you do not see → top.")
    assert sentences(api.call("PATCH", "/v1/jobs/top", change))["dependsOn"].endswith("top → ours → theirs → top.")


class TestRecurringJobs:
    def test_a_child_takes_and_shows_the_recurrence_of_its_parents(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "cronExpression": "0 6 * * *", "timezone": "Europe/Berlin"})
        child = put(api, "child", "often", catchUp={"policy": "skip"}).body
        assert (child["cronExpression"], child["timezone"]) == ("0 6 * * *", "Europe/Berlin")
        assert child["nextRunAt"] == "2026-11-22T05:00:00.000Z"
        assert put(api, "child", "often", catchUp={"policy": "skip"}).body["version"] == 1
        assert api.call("PATCH", "/v1/jobs/child", {"name": "n"}).body["dependsOn"] == ["often"]

    def test_parents_with_different_recurrences_are_refused_with_the_reason(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        api.call("PUT", "/v1/jobs/seldom", {**HOOK, "everySeconds": 3600, "anchorAt": SOON})
        by = "It recurs by everySeconds {}, and {} by everySeconds 3600; give"
        unlike = "It recurs by everySeconds 3600, and the first of these by everySeconds 60; give all the same."
        assert sentences(put(api, "child", "often", "seldom"))["dependsOn.1"] == unlike
        assert "runs once" in sentences(put(api, "child", "often", scheduleAt=SOON))["dependsOn.0"]
        own = put(api, "child", "often", everySeconds=3600, anchorAt=SOON)
        assert by.format(60, "this job") in sentences(own)["dependsOn.0"]
        daily = put(api, "child", "often", cronExpression="0 9 * * *", timezone="Europe/Berlin")
        assert 'by cronExpression "0 9 * * *" and timezone Europe/Berlin' in sentences(daily)["dependsOn.0"]
        assert put(api, "child", "often", everySeconds=60, anchorAt=SOON).status == 201

    def test_a_job_that_others_depend_on_keeps_its_recurrence(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        put(api, "child", "often")
        answer = api.call("PATCH", "/v1/jobs/often", {"everySeconds": 120})
        assert "share" in sentences(answer)["everySeconds"]
        assert "runs once" in sentences(api.call("PATCH", "/v1/jobs/child", {"scheduleAt": SOON}))["dependsOn.0"]

    def test_a_job_between_parents_and_children_can_change_everything_except_its_recurrence(self, api: Api) -> None:
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
                "Other jobs depend on this job"
                in sentences(api.call("PATCH", "/v1/jobs/middle", {"dependsOn": [other]}))["dependsOn"]
            )
        assert api.call("GET", "/v1/jobs/middle").body["dependsOn"] == ["often"]

    def test_a_child_whose_parents_are_removed_stays_recurring_and_its_parent_is_free_again(self, api: Api) -> None:
        api.call("PUT", "/v1/jobs/often", {**HOOK, "everySeconds": 60, "anchorAt": SOON})
        put(api, "child", "often")
        freed = api.call("PATCH", "/v1/jobs/child", {"dependsOn": None}).body
        assert (freed["dependsOn"], freed["everySeconds"], freed["anchorAt"]) == ([], 60, SOON)
        assert api.call("PATCH", "/v1/jobs/often", {"everySeconds": 120}).body["everySeconds"] == 120
