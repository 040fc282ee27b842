"""Journeys of an operator, over HTTP on the real template.

They lead through runs and the present, finding, fires to come, pipelines, generations, sessions.
"""

import gzip
import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import are_completed, ask, calls_of, clock, ledger, soon, until
from timeball.dev.stage import Stage
from timeball.domain.time.instants import HOUR_MS, format_instant

pytestmark = [pytest.mark.xdist_group("end_to_end"), pytest.mark.more]

YEARLY = {"cronExpression": "0 0 1 1 *"}


@pytest.fixture
def mark() -> dict[str, str]:
    """Tags that no other test has given its jobs."""
    return {"journey": str(clock())}


def tag_of(mark: dict[str, str]) -> str:
    return quote(f"journey:{mark['journey']}")


def refused(client: ApiClient, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = client.send(method, path, None if body is None else json.dumps(body).encode())
    return answer.status, answer.body["type"].removeprefix("urn:timeball:problem:")


def runs(client: ApiClient, query: str) -> list[dict[str, Any]]:
    """Return all pages of a list of runs."""
    found, cursor = list[dict[str, Any]](), ""
    while True:
        page = client.get(f"/v1/runs?{query}&cursor={quote(cursor)}")
        found += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return found


def pipeline(client: ApiClient, receiver: Receiver, mark: dict[str, str]) -> list[str]:
    """Create three yearly jobs in a row, and return their ids."""
    hook = {"handler": f"{receiver.url}/ok", "tags": mark}
    jobs = [
        {**hook, **YEARLY, "ref": "extract"},
        {**hook, "ref": "load", "dependsOn": ["extract"]},
        {**hook, "ref": "report", "dependsOn": ["load"]},
    ]
    return [item["job"]["jobId"] for item in ask(client, "POST", "/v1/jobs:batch", {"jobs": jobs})["items"]]


def is_over(client: ApiClient, job_id: str, cycle_id: str) -> bool:
    """Whether a cycle has begun, and all its runs have succeeded."""
    answer = client.send("GET", f"/v1/cycles/{job_id}/{quote(cycle_id)}")
    return answer.status == 200 and all(item["status"] == "succeeded" for item in answer.body["items"])


def test_lists_of_runs_show_what_runs_failed_and_succeeded(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    made = {
        name: client.create({"handler": f"{receiver.url}/{path}", "maxRetries": 0, "tags": mark})["jobId"]
        for name, path in (("good", "ok"), ("bad", "status/400"), ("slow", "slow/60"))
    }
    tag = tag_of(mark)

    def listed(status: str) -> list[str]:
        return [run["jobId"] for run in runs(client, f"tag={tag}&status={status}")]

    until(lambda: listed("failed") == [made["bad"]], otherwise="the failure is not listed")
    until(lambda: listed("running") == [made["slow"]], otherwise="the running one is not listed")
    until(lambda: listed("succeeded") == [made["good"]], otherwise="the success is not listed")
    assert sorted(run["jobId"] for run in runs(client, f"tag={tag}")) == sorted(made.values())
    two_hours = f"from={format_instant(clock() - 2 * HOUR_MS)}&to={format_instant(clock())}"
    assert refused(client, "GET", f"/v1/runs?{two_hours}")[0] == 400
    listing = {job["jobId"]: job for job in client.get(f"/v1/jobs?tag={tag}")["items"]}
    assert [listing[made[name]]["recent"] for name in made] == ["s", "f", ""]
    assert len(listing[made["slow"]]["running"]) == 1
    assert listing[made["bad"]]["lastRun"]["status"] == "failed"
    now = client.get("/v1/now")
    assert made["slow"] in {one["jobId"] for one in now["running"]}
    assert now["health"]["lastTickAt"] is not None
    (group,) = [one for one in client.get("/v1/dead-letters:groups")["items"] if one["jobId"] == made["bad"]]
    assert group["count"] == 1
    ask(client, "POST", "/v1/dead-letters:discard", {"fingerprint": group["fingerprint"]})
    assert refused(client, "POST", "/v1/dead-letters:discard", {"fingerprint": group["fingerprint"]})[0] == 404
    ask(client, "DELETE", f"/v1/jobs/{made['slow']}")


def test_jobs_are_found_by_name_owner_kind_and_order_and_answers_are_not_sent_twice(
    stage: Stage, client: ApiClient, mark: dict[str, str]
) -> None:
    hook = {"handler": "https://example.com/hook", "tags": mark}
    for number, name in enumerate(("Beta", "alpha", "Gamma")):
        client.create({**hook, "name": f"{name} {mark['journey']}", "scheduleAt": soon(3600 + number), "owner": name})
    tag = tag_of(mark)

    def named(query: str) -> list[str]:
        return [job["name"].split()[0] for job in client.get(f"/v1/jobs?tag={tag}&{query}")["items"]]

    until(lambda: sorted(named("")) == ["Beta", "Gamma", "alpha"])
    assert named("sort=name") == ["alpha", "Beta", "Gamma"]
    assert named("sort=-nextRunAt") == ["Gamma", "alpha", "Beta"]
    assert named("q=GAM") == ["Gamma"]
    assert named("owner=alpha") == ["alpha"]
    assert named("kind=cron") == []
    assert named(f"nextRunBefore={quote(format_instant(clock() + HOUR_MS // 2))}") == []
    summary = client.get(f"/v1/jobs?tag={tag}&fields=summary&limit=1")["items"][0]
    assert "retryPolicy" not in summary
    path = f"/v1/jobs?tag={tag}"
    first = client.send("GET", path)
    assert client.send("GET", path, if_none_match=first.headers["etag"]).status == 304
    url = urlsplit(stage.deployment.api_url)
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    connection.request(
        "GET", f"{url.path}{path}", headers={"Authorization": f"Bearer {client.key}", "Accept-Encoding": "gzip"}
    )
    answer = connection.getresponse()
    raw = answer.read()
    connection.close()
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(raw))["items"]) == 3


def test_fires_to_come_are_listed_and_a_freeze_tells_beforehand_what_it_holds(
    client: ApiClient, mark: dict[str, str]
) -> None:
    job = client.create({"handler": "https://example.com/hook", "everySeconds": 600, "tags": mark})
    tag = tag_of(mark)
    until(lambda: len(client.get(f"/v1/upcoming?tag={tag}")["items"]) == 144)
    window = {"from": soon(0), "to": soon(3600)}
    held = ask(client, "POST", "/v1/freezes:preview", {"match": {"tags": mark}, **window})
    assert (held["count"], held["isExact"]) == (6, True)
    ask(client, "POST", f"/v1/jobs/{job['jobId']}/pause")
    until(lambda: client.get(f"/v1/upcoming?tag={tag}")["items"][0]["reason"] == "job_paused")
    assert job["scheduleText"].startswith("every 10 minutes, counted from ")


def test_a_pipeline_is_triggered_and_backfilled_as_a_whole(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    extract, load, report = pipeline(client, receiver, mark)
    cycle_id = ask(client, "POST", f"/v1/jobs/{extract}/trigger", {"downstream": True, "payload": 1})["cycleId"]
    assert cycle_id.startswith("manual-")
    until(lambda: is_over(client, extract, cycle_id), otherwise="the triggered cycle does not end")
    past = {"from": "2024-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "graph": True, "paceSeconds": 0}
    backfill = ask(client, "POST", f"/v1/jobs/{extract}/backfills", past)
    assert backfill["total"] == 2
    of_years = [f"{backfill['backfillId']}-{year}-01-01T00:00:00Z" for year in (2024, 2025)]
    until(lambda: all(is_over(client, report, one) for one in of_years), otherwise="the backfilled cycles do not end")
    assert [len(calls_of(receiver, {"jobId": job_id})) for job_id in (extract, load, report)] == [3, 3, 3]
    rerun = ask(client, "POST", f"/v1/cycles/{extract}/{quote(cycle_id)}:rerun", {"mode": "all"})
    until(lambda: client.get(f"/v1/operations/{rerun['operationId']}")["status"] == "succeeded")
    until(lambda: is_over(client, extract, cycle_id), otherwise="the cycle does not run again")
    assert refused(client, "GET", f"/v1/cycles/{extract}/2024-06-01T00:00:00Z")[0] == 404
    once = client.create({"handler": f"{receiver.url}/ok", "scheduleAt": soon(3600)})
    assert refused(client, "POST", f"/v1/jobs/{once['jobId']}/trigger", {"downstream": True}) == (409, "no-cycles")


def test_a_job_with_another_recurrence_is_judged_by_the_latest_cycle_of_its_parent(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    hook = {"handler": f"{receiver.url}/ok", "maxRetries": 0, "tags": mark}
    feed = client.create({**hook, "everySeconds": 4})
    latest = {"jobId": feed["jobId"], "on": "latest", "as": "rows"}
    assert refused(client, "POST", "/v1/jobs", {**hook, "dependsOn": [latest]})[0] == 400
    report = client.create({**hook, "everySeconds": 5, "dependsOn": [latest], "passParents": True})
    ends = {"succeeded", "failed"}

    def states() -> list[str]:
        return [run["status"] for run in ledger(client, report) if run["status"] in ends or run["reason"] == "blocked"]

    until(lambda: states()[:2] == ["succeeded"] * 2, otherwise="the report does not run by itself")
    rows = json.loads(calls_of(receiver, report)[0].body)["parents"]["rows"]
    assert (rows["status"], rows["runId"].split(".")[0]) == ("succeeded", feed["jobId"])
    ask(client, "PATCH", f"/v1/jobs/{feed['jobId']}", {"handler": f"{receiver.url}/status/400"})
    until(lambda: states()[:1] == ["queued"], otherwise="a failed cycle does not block the report")
    blocked = next(run for run in ledger(client, report) if run["reason"] == "blocked")
    assert blocked["blockedBy"]["jobId"] == feed["jobId"]
    ask(client, "PATCH", f"/v1/jobs/{feed['jobId']}", {"handler": f"{receiver.url}/ok"})
    over = f"/v1/runs/{blocked['runId']}"
    until(lambda: client.get(over)["status"] == "succeeded", otherwise="a cycle that succeeds does not free the report")
    ask(client, "DELETE", f"/v1/jobs/{feed['jobId']}?children=cancel")


def test_an_event_lets_the_next_fire_of_its_job_run_and_begins_a_cycle_of_the_jobs_behind_another(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    hook = {"handler": f"{receiver.url}/ok", "tags": mark}
    event = {"event": {"source": [mark["journey"]], "detail-type": ["order.placed"]}}
    timed = client.create({**hook, **event, "everySeconds": 10})
    first = client.create({**hook, **event})
    last = client.create({**hook, "dependsOn": [first["jobId"]]})
    until(lambda: "no_event" in {run["reason"] for run in ledger(client, timed)}, otherwise="no fire is skipped")
    order = {"specversion": "1.0", "id": "1", "source": mark["journey"], "type": "order.placed", "data": {"total": 9}}
    assert client.send("POST", "/v1/events", json.dumps(order).encode()).status == 202
    until(lambda: len(calls_of(receiver, last)) == 1, otherwise="the child of the job on events is not called")
    (run,) = ledger(client, first)
    assert run["cycleId"].startswith("event-")
    until(lambda: is_over(client, last["jobId"], run["cycleId"]), otherwise="the event's cycle does not end")
    until(lambda: len(calls_of(receiver, timed)) == 1, otherwise="the fire after the event is not called")
    assert json.loads(calls_of(receiver, timed)[0].body)["event"]["data"] == {"total": 9}
    seen = len(ledger(client, timed))
    until(lambda: len(ledger(client, timed)) > seen and ledger(client, timed)[0]["reason"] == "no_event")
    assert len(calls_of(receiver, timed)) == 1
    for job in (last, first, timed):
        ask(client, "DELETE", f"/v1/jobs/{job['jobId']}")


def test_a_join_of_more_than_a_thousand_parents_is_created_and_read_in_pages(
    client: ApiClient, mark: dict[str, str]
) -> None:
    waiting = {"handler": "https://example.com/hook", "tags": mark, "scheduleAt": soon(7200)}
    parents = list[str]()
    for _ in range(11):
        items = ask(client, "POST", "/v1/jobs:batch", {"jobs": [waiting] * 100})["items"]
        parents += [item["job"]["jobId"] for item in items]
    join = client.create({"handler": "https://example.com/hook", "tags": mark, "dependsOn": parents})
    seen, path = list[str](), f"/v1/jobs/{join['jobId']}/graph?limit=500"
    page = client.get(path)
    while page["nextCursor"] is not None:
        seen += [node["jobId"] for node in page["ancestors"]]
        page = client.get(f"{path}&cursor={quote(page['nextCursor'])}")
    seen += [node["jobId"] for node in page["ancestors"]]
    assert sorted(seen) == sorted(parents)
    ask(client, "DELETE", f"/v1/jobs/{join['jobId']}")


def test_a_job_whose_parent_keeps_failing_says_that_it_is_blocked(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    parent = client.create({"handler": f"{receiver.url}/status/400", "maxRetries": 0, "tags": mark, **YEARLY})
    notify = {"onBlocked": f"{receiver.url}/ok", "afterBlocked": 1}
    hook = {"handler": f"{receiver.url}/ok", "tags": mark}
    child = client.create({**hook, "dependsOn": [parent["jobId"]], "notify": notify})
    ask(client, "POST", f"/v1/jobs/{parent['jobId']}/trigger", {"downstream": True})

    def notices() -> list[Any]:
        told = [json.loads(one.body) for one in receiver.arrivals() if one.path == "/ok" and one.body]
        return [one for one in told if one["jobId"] == child["jobId"]]

    until(lambda: [one["type"] for one in notices()] == ["blocked"], otherwise="no notice of the block")
    ask(client, "DELETE", f"/v1/jobs/{parent['jobId']}?children=cancel")


def test_a_parent_is_deleted_only_with_a_word_about_its_children(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    extract, load, report = pipeline(client, receiver, mark)
    assert refused(client, "DELETE", f"/v1/jobs/{extract}") == (409, "has-children")
    ask(client, "DELETE", f"/v1/jobs/{extract}?children=detach")
    until(lambda: client.get(f"/v1/jobs/{load}")["status"] == "paused", otherwise="the detached child is not paused")
    ask(client, "DELETE", f"/v1/jobs/{load}?children=cancel")
    until(
        lambda: client.get(f"/v1/jobs/{report}")["status"] == "cancelled", otherwise="the descendant is not cancelled"
    )
    yearly = {"handler": f"{receiver.url}/ok", "tags": mark, **YEARLY}
    assert ask(client, "PUT", f"/v1/jobs/{extract}", yearly)["generation"] == 2


def test_a_cancelled_job_comes_back_as_its_next_generation(
    client: ApiClient, receiver: Receiver, mark: dict[str, str]
) -> None:
    job_id, hook = f"back-{mark['journey']}", {"handler": f"{receiver.url}/ok", "tags": mark}
    path = f"/v1/jobs/{job_id}"
    ask(client, "PUT", path, {**hook, "scheduleAt": soon(3600)})
    ask(client, "DELETE", path)
    assert ask(client, "PUT", path, hook)["generation"] == 2
    until(lambda: are_completed(client, {"jobId": job_id}))
    (run,) = ledger(client, {"jobId": job_id})
    assert run["runId"].endswith(".2")
    repeated = client.send("PUT", path, json.dumps(hook).encode())
    assert (repeated.status, repeated.body["generation"]) == (200, 2)


def test_a_batch_puts_items_with_ids_and_says_which_item_is_wrong(client: ApiClient, mark: dict[str, str]) -> None:
    load, check = f"load-{mark['journey']}", f"check-{mark['journey']}"
    hook = {"handler": "https://example.com/hook", "tags": mark}
    jobs = [
        {**hook, **YEARLY, "jobId": load},
        {**hook, "jobId": check, "dependsOn": [load]},
        {**hook, "schedule": "daily"},
    ]
    for statuses in ([201, 201, 400], [200, 200, 400]):
        items = ask(client, "POST", "/v1/jobs:batch", {"jobs": jobs})["items"]
        assert [item["status"] for item in items] == statuses
        assert "cronExpression" in json.dumps(items[2]["problem"])


def test_a_tenants_defaults_fill_its_jobs_and_bound_their_priority(
    client: ApiClient, admin: ApiClient, mark: dict[str, str]
) -> None:
    tenant = client.get("/v1/me")["tenant"]
    path, hook = f"/v1/admin/tenants/{tenant}", {"handler": "https://example.com/hook", "tags": mark}
    ask(admin, "PATCH", path, {"defaults": {"timezone": "Europe/Berlin", "priorityCeiling": "normal"}})
    try:
        until(lambda: client.create({**hook, **YEARLY})["timezone"] == "Europe/Berlin", otherwise="no default holds")
        until(lambda: refused_priority(client, {**hook, **YEARLY}), otherwise="no ceiling holds")
    finally:
        ask(admin, "PATCH", path, {"defaults": None})


def refused_priority(client: ApiClient, job: dict[str, Any]) -> bool:
    answer = client.send("POST", "/v1/jobs", json.dumps({**job, "priority": "high"}).encode())
    return answer.status == 400 and [one["field"] for one in answer.body["errors"]] == ["priority"]


def test_a_session_reads_changes_for_a_while_and_ends(stage: Stage, client: ApiClient, mark: dict[str, str]) -> None:
    url = stage.deployment.api_url
    code = ask(client, "POST", "/v1/sessions/codes")["code"]
    session = ApiClient(url, ask(ApiClient(url, None), "POST", "/v1/sessions", {"code": code})["key"])
    assert refused(ApiClient(url, None), "POST", "/v1/sessions", {"code": code})[0] in {400, 401, 404}
    assert session.get("/v1/me")["role"] == "viewer"
    job = {"handler": "https://example.com/hook", "tags": mark, "scheduleAt": soon(3600)}
    assert refused(session, "POST", "/v1/jobs", job)[0] == 403
    writer = ApiClient(url, ask(session, "POST", "/v1/sessions", {"allowChangesForSeconds": 600})["key"])
    writer.create(job)
    ask(writer, "DELETE", "/v1/sessions/current")
    until(lambda: writer.send("GET", "/v1/me").status == 401, otherwise="the ended session still reads")
    assert refused(client, "DELETE", "/v1/sessions/current")[0] == 409


def test_wrong_names_name_the_right_field_and_the_root_leads_on(stage: Stage, client: ApiClient) -> None:
    hook = {"handler": "https://example.com/hook"}
    for wrong, right in (("tz", "timezone"), ("cron", "cronExpression"), ("retries", "maxRetries"), ("url", "handler")):
        answer = client.send("POST", "/v1/jobs", json.dumps({**hook, wrong: "x"}).encode())
        assert (answer.status, right in answer.text) == (400, True)
    bare = ApiClient(stage.deployment.api_url, None).send("GET", "/v1/jobs", authorization=str(client.key))
    assert (bare.status, "Bearer" in bare.text) == (401, True)
    links = ApiClient(stage.deployment.api_url, None).get("/")
    assert set(links) == {"docs", "openapi", "health"}
