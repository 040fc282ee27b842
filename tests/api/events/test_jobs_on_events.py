"""Jobs with a pattern: which events run them, what their calls receive, and what happens if they are not pending."""

import json
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.events.sending import ORDER, PLACED, runs_of, send
from tests.urls import url_of
from timeball.domain.model.ids import Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.engine.execution.claim import claim

MINUTE = 60 * SECOND_MS
SOON = "2026-11-21T09:31:00Z"


def test_a_job_runs_on_each_matching_event_and_receives_it_as_a_cloudevent(api: Api) -> None:
    job = api.create(event=PLACED)
    assert (job["status"], job["scheduleType"], job["nextRunAt"], job["event"]) == ("pending", "event", None, PLACED)
    told = send(api).body
    (run,) = runs_of(api, job)
    assert (run.id.origin, run.id.fire_at, run.state) == (Origin.EVENT, NOW, RunState.QUEUED)
    assert (told["eventId"], told["acceptedAt"]) == ("7", "2026-11-21T09:30:00.250Z")
    assert api.queue.sent == [run] or [one.id for one in api.queue.sent] == [run.id]
    (work,) = api.store.works.read([(run.id.job, str(run.work_digest))])
    assert work is not None
    payload = json.loads(work.payload or "")
    assert payload == {"specversion": "1.0", "time": "2026-11-21T09:30:00.250Z", **ORDER}
    assert url_of(work.target) == "https://example.com/hook"


def test_an_event_of_another_type_runs_nothing(api: Api) -> None:
    job = api.create(event=PLACED)
    send(api, type="order.lost")
    send(api, source="warehouse")
    assert runs_of(api, job) == []


def test_a_pattern_sees_the_data_as_detail_and_the_attributes_by_their_names(api: Api) -> None:
    rich = api.create(event={"detail": {"total": [{"numeric": [">", 100]}]}, "subject": [{"prefix": "eu/"}]})
    send(api, subject="eu/7")
    send(api, subject="us/8", id="8")
    send(api, subject="eu/9", id="9", data={"total": 99})
    assert len(runs_of(api, rich)) == 1


@pytest.mark.parametrize("data", [[1, 2], "text", None, 7, True])
def test_data_may_be_any_json(api: Api, data: object) -> None:
    job = api.create(event=PLACED)
    send(api, data=data)
    (run,) = runs_of(api, job)
    (work,) = api.store.works.read([(run.id.job, str(run.work_digest))])
    assert work is not None
    assert json.loads(work.payload or "")["data"] == data


def test_an_event_repeated_within_a_day_runs_a_job_once(api: Api) -> None:
    job = api.create(event=PLACED)
    first = send(api)
    api.clock.advance(DAY_MS - MINUTE)
    again = send(api)
    assert again.body["acceptedAt"] == first.body["acceptedAt"]
    assert len(runs_of(api, job)) == 1
    send(api, source="shop", id="8")
    assert len(runs_of(api, job)) == 2


def test_the_same_id_of_another_source_is_another_event(api: Api) -> None:
    job = api.create(event={"detail-type": ["order.placed"]})
    send(api, source="shop")
    send(api, source="market")
    assert len(runs_of(api, job)) == 2


def test_an_event_of_one_tenant_runs_no_job_of_another_whatever_it_says(api: Api) -> None:
    job = api.create(event=PLACED)
    send(api, tenant="globex")
    send(api, tenant="globex", tenantname="acme", account="acme", id="8")
    assert runs_of(api, job) == []
    refused = api.call("POST", "/v1/events", {**ORDER, "timeball": {"at": 1, "depth": 0}}, tenant="globex")
    assert (refused.status, refused.bad_fields()) == (400, ["timeball"])


def test_an_event_of_a_job_with_a_schedule_waits_for_the_next_fire(api: Api) -> None:
    job = api.create(event=PLACED, everySeconds=60, anchorAt=SOON, payload={"day": 1})
    assert job["nextRunAt"] == "2026-11-21T09:31:00.000Z"
    assert job["scheduleText"].endswith(", if an event came")
    send(api)
    send(api, id="8")
    assert runs_of(api, job) == []
    api.clock.advance(MINUTE)
    api.dispatch()
    api.clock.advance(2 * SECOND_MS)
    (run,) = runs_of(api, job)
    (claimed,) = claim(api.context, [run.id], "executor")
    assert (claimed.run and claimed.run.state, claimed.run and claimed.run.id.origin) == ("running", Origin.SCHEDULE)
    assert claimed.job is not None
    assert claimed.job.spec.work is not None
    assert json.loads(claimed.job.spec.work.payload or "") == {
        "day": 1,
        "event": {"specversion": "1.0", "time": "2026-11-21T09:30:00.250Z", **ORDER, "id": "8"},
    }


def test_a_fire_without_an_event_is_skipped_with_its_reason(api: Api) -> None:
    job = api.create(event=PLACED, everySeconds=60, anchorAt=SOON)
    api.clock.advance(MINUTE)
    api.dispatch()
    api.clock.advance(2 * SECOND_MS)
    claim(api.context, [runs_of(api, job)[0].id], "executor")
    (shown,) = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
    assert (shown["status"], shown["reason"], shown["origin"]) == ("skipped", "no_event", "schedule")
    assert shown["movedTo"] == "2026-11-21T09:31:02.000Z"


def test_fires_to_come_say_that_they_need_an_event(api: Api) -> None:
    api.create(event=PLACED, everySeconds=3600, anchorAt=SOON)
    api.create(everySeconds=3600, anchorAt=SOON)
    first, second = api.call("GET", "/v1/upcoming", query={"limit": "2"}).body["items"]
    assert [one["needsEvent"] for one in (first, second)] == [True, False]
    assert [one["willRun"] for one in (first, second)] == [True, True]
    assert (first["fireTime"], first["startsAt"]) == ("2026-11-21T09:31:00.000Z", "2026-11-21T09:31:02.000Z")
    assert second["fireTime"] == second["startsAt"]


@pytest.mark.parametrize("payload", [[1], "text", 7, True, {"event": {}}])
def test_the_payload_of_a_job_with_a_pattern_and_a_schedule_has_room_for_the_event(api: Api, payload: object) -> None:
    body = {"handler": "https://example.com/hook", "event": PLACED, "payload": payload}
    refused = api.call("POST", "/v1/jobs", {**body, "everySeconds": 60})
    assert (refused.status, refused.bad_fields()) == (400, ["payload"])
    alone = api.call("POST", "/v1/jobs", body)
    assert alone.status == 201
    path = f"/v1/jobs/{alone.body['jobId']}"
    assert api.call("PATCH", path, {"everySeconds": 60}).bad_fields() == ["payload"]
    assert api.call("PATCH", path, {"everySeconds": 60, "payload": None}).status == 200


def test_jobs_with_one_pattern_share_a_rule_and_each_has_a_run(api: Api) -> None:
    first, second = api.create(event=PLACED), api.create(event=dict(reversed(list(PLACED.items()))))
    assert len(api.bus.rules()) == 1
    send(api)
    assert [len(runs_of(api, job)) for job in (first, second)] == [1, 1]


def test_a_paused_job_gets_a_skipped_row_for_each_event_and_runs_on_later_ones(api: Api) -> None:
    job = api.create(event=PLACED)
    path = f"/v1/jobs/{job['jobId']}"
    api.call("POST", f"{path}/pause")
    send(api)
    (run,) = runs_of(api, job)
    assert (run.state, run.reason) == (RunState.SKIPPED, Reason.JOB_PAUSED)
    api.clock.advance(SECOND_MS)
    assert api.call("POST", f"{path}/resume").body["status"] == "pending"
    send(api)
    send(api, id="8")
    assert [run.state for run in runs_of(api, job)] == [RunState.SKIPPED, RunState.QUEUED]
    (shown, _) = api.call("GET", f"{path}/runs").body["items"]
    assert (shown["origin"], shown["backfillId"]) == ("event", None)


def test_a_cancelled_job_no_longer_runs_and_its_rule_is_removed(api: Api) -> None:
    job = api.create(event=PLACED)
    api.call("DELETE", f"/v1/jobs/{job['jobId']}")
    assert api.bus.rules() == []
    send(api)
    assert runs_of(api, job) == []


def test_a_rule_stays_while_one_job_needs_it(api: Api) -> None:
    gone, stays = api.create(event=PLACED), api.create(event=PLACED)
    api.call("DELETE", f"/v1/jobs/{gone['jobId']}")
    assert len(api.bus.rules()) == 1
    send(api)
    assert (len(runs_of(api, gone)), len(runs_of(api, stays))) == (0, 1)


def test_a_patch_changes_or_removes_a_pattern(api: Api) -> None:
    job = api.create(event=PLACED, everySeconds=60)
    path = f"/v1/jobs/{job['jobId']}"
    api.clock.advance(2 * MINUTE)
    patched = api.call("PATCH", path, {"event": {"detail-type": ["order.lost"]}})
    assert patched.body["event"] == {"source": ["shop"], "detail-type": ["order.lost"]}
    send(api)
    send(api, id="8", type="order.lost")
    assert len(api.store.waiting_events) == 1
    assert api.call("PATCH", path, {"event": None}).body["event"] is None
    api.clock.advance(2 * MINUTE)
    send(api, id="9", type="order.lost")
    assert len(api.store.waiting_events) == 1
    assert {run.id.origin for run in runs_of(api, job)} == {Origin.SCHEDULE}
    assert api.bus.rules() == []


def test_a_job_on_events_alone_keeps_its_pattern_or_gets_a_schedule(api: Api) -> None:
    job = api.create(event=PLACED)
    path = f"/v1/jobs/{job['jobId']}"
    refused = api.call("PATCH", path, {"event": None})
    assert (refused.status, refused.bad_fields()) == (400, ["event"])
    assert api.call("PATCH", path, {"everySeconds": 60, "event": None}).body["scheduleType"] == "interval"
    assert api.call("PATCH", path, {"everySeconds": None, "event": PLACED}).body["scheduleType"] == "event"


def test_a_put_creates_a_job_on_events_and_the_same_put_again_changes_nothing(api: Api) -> None:
    body = {"handler": "https://example.com/hook", "event": PLACED}
    assert api.call("PUT", "/v1/jobs/on-order", body).status == 201
    assert api.call("PUT", "/v1/jobs/on-order", body).body["version"] == 1
    api.clock.advance(2 * MINUTE)
    changed = api.call("PUT", "/v1/jobs/on-order", {**body, "event": {"source": ["market"]}})
    assert (changed.status, changed.body["version"]) == (200, 2)
    assert len(api.bus.rules()) == 1
    restored = api.call("POST", "/v1/jobs/on-order/revisions/1:restore")
    assert (restored.status, restored.body["event"]) == (200, PLACED)


BESIDE: dict[str, dict[str, Any]] = {
    "scheduleAt": {"scheduleAt": "2026-11-22T00:00:00Z"},
    "delaySeconds": {"delaySeconds": 60},
}


@pytest.mark.parametrize("field", BESIDE)
def test_a_one_off_cannot_have_a_pattern(api: Api, field: str) -> None:
    answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com", "event": PLACED, **BESIDE[field]})
    assert (answer.status, answer.bad_fields()) == (400, [field])


def test_a_job_on_events_alone_is_never_late(api: Api) -> None:
    notify = {"onLate": "https://example.com/pager", "lateAfterSeconds": 60}
    body = {"handler": "https://example.com", "event": PLACED, "notify": notify}
    refused = api.call("POST", "/v1/jobs", body)
    assert (refused.status, refused.bad_fields()) == (400, ["notify.onLate"])
    hybrid = api.call("POST", "/v1/jobs", {**body, "everySeconds": 3600})
    assert hybrid.status == 201
    assert api.call("PATCH", f"/v1/jobs/{hybrid.body['jobId']}", {"everySeconds": None}).status == 400


def test_a_job_cannot_have_parents_and_a_pattern(api: Api) -> None:
    parent = api.create(everySeconds=60)
    both = {"handler": "https://example.com", "event": PLACED, "dependsOn": [parent["jobId"]]}
    assert api.call("POST", "/v1/jobs", both).bad_fields() == ["dependsOn"]


def test_a_job_that_depends_on_a_job_on_events_runs_for_each_of_its_events(api: Api) -> None:
    parent = api.create(event=PLACED)
    child = api.create(dependsOn=[parent["jobId"]])
    assert (child["scheduleType"], child["nextRunAt"]) == ("event", None)
    assert child["scheduleText"] == "on events, after its parents"
    send(api)
    send(api, id="8")
    send(api, id="8")
    roots, rows = runs_of(api, parent), runs_of(api, child)
    assert [run.state for run in roots] == [RunState.QUEUED] * 2
    assert [run.reason for run in rows] == [Reason.WAITING_FOR_PARENTS] * 2
    shown = api.call("GET", f"/v1/runs/{roots[0].id}").body
    assert shown["cycleId"] == f"event-{NOW}-{roots[0].id.series}"
    cycle = api.call("GET", f"/v1/cycles/{child['jobId']}/{shown['cycleId']}").body
    assert [(one["jobId"], one["status"]) for one in cycle["items"]] == [
        (parent["jobId"], "queued"),
        (child["jobId"], "queued"),
    ]
    assert api.call("GET", f"/v1/jobs/{child['jobId']}/runs").body["items"][0]["origin"] == "event"


def test_a_job_with_events_of_a_parent_cannot_have_a_schedule_or_the_events_of_another(api: Api) -> None:
    parent, other = api.create(event=PLACED), api.create(event={"source": ["bank"]})
    body = {"handler": "https://example.com", "dependsOn": [parent["jobId"], other["jobId"]]}
    refused = api.call("POST", "/v1/jobs", body)
    assert (refused.status, refused.bad_fields()) == (400, ["dependsOn.1"])
    assert f'the events of "{other["jobId"]}"' in refused.body["errors"][0]["message"]
    timed = {"handler": "https://example.com", "dependsOn": [parent["jobId"]], "everySeconds": 60}
    assert api.call("POST", "/v1/jobs", timed).bad_fields() == ["dependsOn.0"]
    latest = {**timed, "dependsOn": [{"jobId": parent["jobId"], "on": "latest"}]}
    assert "none is the latest" in api.call("POST", "/v1/jobs", latest).text
    once = {"handler": "https://example.com", "dependsOn": [parent["jobId"]], "delaySeconds": 60}
    assert api.call("POST", "/v1/jobs", once).bad_fields() == ["dependsOn.0"]


def test_a_job_with_events_of_a_parent_needs_something_else_when_it_leaves_the_parent(api: Api) -> None:
    parent = api.create(event=PLACED)
    child = api.create(dependsOn=[parent["jobId"]], name="child")
    path = f"/v1/jobs/{child['jobId']}"
    assert api.call("PATCH", path, {"name": "other"}).status == 200
    assert api.call("PATCH", path, {"dependsOn": None}).bad_fields() == ["dependsOn"]
    assert api.call("PATCH", path, {"dependsOn": [], "everySeconds": 60}).body["scheduleType"] == "interval"


def test_a_child_whose_parent_on_events_is_removed_is_paused_until_it_has_something_to_run_on(api: Api) -> None:
    parent = api.create(event=PLACED)
    child = api.create(dependsOn=[parent["jobId"]])
    path = f"/v1/jobs/{child['jobId']}"
    assert api.call("DELETE", f"/v1/jobs/{parent['jobId']}").status == 409
    assert api.call("DELETE", f"/v1/jobs/{parent['jobId']}", query={"children": "detach"}).status == 200
    left = api.call("GET", path).body
    assert (left["status"], left["pausedReason"], left["dependsOn"]) == ("paused", "parent_removed", [])
    assert api.call("PATCH", path, {"name": "other"}).bad_fields() == ["dependsOn"]
    assert api.call("PATCH", path, {"event": PLACED}).status == 200
    assert api.call("POST", f"{path}/resume").status == 200
    send(api)
    assert len(runs_of(api, child)) == 1


def test_a_job_on_events_keeps_them_while_others_depend_on_it(api: Api) -> None:
    parent = api.create(event=PLACED)
    api.create(dependsOn=[parent["jobId"]])
    path = f"/v1/jobs/{parent['jobId']}"
    assert api.call("PATCH", path, {"everySeconds": 60}).bad_fields() == ["everySeconds"]
    assert api.call("PATCH", path, {"event": {"source": ["bank"]}}).status == 200


def test_a_batch_makes_a_graph_below_a_job_on_events(api: Api) -> None:
    handler = {"handler": "https://example.com/hook"}
    jobs = [
        {**handler, "ref": "report", "dependsOn": ["clean", "count"]},
        {**handler, "ref": "clean", "dependsOn": ["placed"]},
        {**handler, "ref": "count", "dependsOn": ["placed"]},
        {**handler, "ref": "placed", "event": PLACED},
    ]
    answer = api.call("POST", "/v1/jobs:batch", {"jobs": jobs})
    assert [one["status"] for one in answer.body["items"]] == [201] * 4
    send(api)
    assert [len(runs_of(api, one["job"])) for one in answer.body["items"]] == [1] * 4
