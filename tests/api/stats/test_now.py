"""The present state of a tenant in one answer: what is late, stuck or silent, what runs, and what fires next."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.api.runs.rows import dead
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import noted
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from timeball.engine.kept_digests import FRESH_MS
from timeball.engine.scheduling import upcoming
from timeball.ports.due_index import Owner


def now(api: Api, **others: Any) -> Any:
    answer = api.call("GET", "/v1/now", **others)
    assert answer.status == 200, answer.text
    return answer.body


def needs(api: Api, **others: Any) -> list[tuple[str, str]]:
    """Return the kind and the job of each finding."""
    return [(one["kind"], one["jobId"]) for one in now(api, **others)["needsAttention"]]


def run_of(job: Mapping[str, Any], fire_at: int, state: RunState, **fields: Any) -> Run:
    run = Run(RunId(JobKey("acme", job["jobId"]), fire_at, Origin.SCHEDULE), state, 1, "normal", 0, fire_at, fire_at)
    return replace(run, **fields)


def succeeded(job: Mapping[str, Any], fire_at: int, took_ms: int = 300) -> Run:
    started = {"attempt": 1, "claimed_at": fire_at, "first_started_at": fire_at}
    return run_of(job, fire_at, RunState.SUCCEEDED, finished_at=fire_at + took_ms, **started)


@pytest.fixture
def job(api: Api) -> Any:
    """An hourly job without runs."""
    made = api.create(everySeconds=3600)
    api.store.runs.clear()
    return made


def test_an_idle_tenant_needs_nothing(api: Api) -> None:
    body = now(api)
    assert body["health"] == {"lastTickAt": None, "oldestDueAt": None, "lateness": {"p50": None, "p99": None}}
    for part in ("needsAttention", "running", "next", "freezes", "deadLetterGroups"):
        assert body[part] == []
    assert (body["nextCount"], body["nextCountExact"]) == (0, True)
    assert body["asOf"] == body["digestAt"] == format_instant(NOW)


def test_health_has_the_last_tick_and_the_oldest_due_of_the_tenant(api: Api) -> None:
    api.store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "loop"), NOW - 2 * SECOND_MS)
    api.create(scheduleAt=format_instant(NOW + MINUTE_MS))
    api.call("POST", "/v1/jobs", {"handler": "https://example.com", "delaySeconds": 10}, tenant="globex")
    api.clock.advance(30 * SECOND_MS)
    assert now(api)["health"]["oldestDueAt"] is None
    api.clock.advance(40 * SECOND_MS)
    health = now(api)["health"]
    assert health["lastTickAt"] == format_instant(NOW - 2 * SECOND_MS)
    assert health["oldestDueAt"] == format_instant(NOW + MINUTE_MS)


def test_a_run_is_late_five_seconds_after_its_start(api: Api, job: Any) -> None:
    api.put(noted(run_of(job, NOW - 4 * SECOND_MS, RunState.QUEUED)))
    assert needs(api) == []
    api.clock.advance(2 * SECOND_MS)
    (late,) = now(api)["needsAttention"]
    assert late == {
        "kind": "late",
        "since": format_instant(NOW - 4 * SECOND_MS),
        "jobId": job["jobId"],
        "runId": str(run_of(job, NOW - 4 * SECOND_MS, RunState.QUEUED).id),
        "waitsFor": None,
    }


def test_a_late_run_says_what_it_waits_for(api: Api, job: Any) -> None:
    fire_at = NOW - MINUTE_MS
    line = Waiting("database", Permit.SLOT)
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"waiting": line, "reason": Reason.LIMIT_WAIT}, {"kind": "limit", "ref": "database"}),
        ({"waiting": replace(line, name=""), "reason": Reason.QUOTA_WAIT}, {"kind": "quota", "ref": None}),
        ({"waits": True, "reason": Reason.WAITING_FOR_PARENTS}, {"kind": "parent", "ref": None}),
        ({"reason": Reason.CIRCUIT_OPEN}, {"kind": "resource", "ref": None}),
    ]
    for fields, waits_for in cases:
        api.store.runs.clear()
        api.put(run_of(job, fire_at, RunState.QUEUED, **fields))
        (late,) = now(api)["needsAttention"]
        assert (late["kind"], late["since"], late["waitsFor"]) == ("late", format_instant(fire_at), waits_for)


def test_a_late_run_waits_for_the_holder_of_its_jobs_lock_or_for_a_freeze(api: Api, job: Any) -> None:
    key = JobKey("acme", job["jobId"])
    holder = RunId(key, NOW - HOUR_MS, Origin.SCHEDULE)
    api.store.jobs[key] = replace(api.store.jobs[key], holder=holder)
    api.put(noted(run_of(job, NOW - MINUTE_MS, RunState.QUEUED)))
    (late,) = now(api)["needsAttention"]
    assert late["waitsFor"] == {"kind": "overlap", "ref": str(holder)}
    freeze = api.call("POST", "/v1/freezes", {"match": {"all": True}}).body
    api.clock.advance(MINUTE_MS)
    body = now(api)
    assert body["needsAttention"][0]["waitsFor"] == {"kind": "freeze", "ref": None}
    assert body["freezes"] == [api.call("GET", f"/v1/freezes/{freeze['freezeId']}").body]


def test_running_runs_are_shown_beside_the_p95_of_their_job(api: Api, job: Any) -> None:
    for hours in range(2, 8):
        api.put(succeeded(job, NOW - hours * HOUR_MS, 10 * SECOND_MS))
    begun_at = NOW - 40 * SECOND_MS
    running = run_of(job, begun_at, RunState.RUNNING, attempt=1, claimed_at=begun_at, first_started_at=begun_at)
    api.put(noted(replace(running, lease_until=NOW + HOUR_MS)))
    body = now(api)
    assert body["needsAttention"] == []
    assert body["running"] == [
        {
            "runId": str(running.id),
            "jobId": job["jobId"],
            "status": "running",
            "attempt": 1,
            "startedAt": format_instant(begun_at),
            "claimedAt": format_instant(begun_at),
            "p95Seconds": 10.0,
        }
    ]
    api.clock.advance(11 * SECOND_MS)
    assert needs(api) == [("stuck", job["jobId"])]


def test_a_run_past_its_lease_is_stuck(api: Api, job: Any) -> None:
    begun_at = NOW - MINUTE_MS
    running = run_of(job, begun_at, RunState.RUNNING, attempt=1, claimed_at=begun_at, first_started_at=begun_at)
    api.put(noted(replace(running, lease_until=NOW - 6 * SECOND_MS)))
    (stuck,) = now(api)["needsAttention"]
    assert (stuck["kind"], stuck["since"]) == ("stuck", format_instant(NOW - SECOND_MS))


def test_a_job_is_silent_after_three_fires_without_a_success(api: Api) -> None:
    job = api.create(everySeconds=3600, anchorAt=format_instant(NOW + HOUR_MS))
    api.store.runs.clear()
    api.clock.advance(3 * HOUR_MS - SECOND_MS)
    assert needs(api) == []
    api.clock.advance(FRESH_MS)
    assert needs(api) == [("silent", job["jobId"])]
    api.put(succeeded(job, NOW + 3 * HOUR_MS))
    api.clock.advance(FRESH_MS)
    assert needs(api) == []


def test_a_paused_job_is_not_silent(api: Api) -> None:
    job = api.create(everySeconds=60)
    api.call("POST", f"/v1/jobs/{job['jobId']}/pause")
    api.store.runs.clear()
    api.clock.advance(HOUR_MS)
    assert needs(api) == []


def test_a_job_whose_newest_run_failed_is_failing_and_its_dead_letters_are_grouped(api: Api, job: Any) -> None:
    first, last = dead(api, job, -60, error="Failed after 12 s."), dead(api, job, -30, error="Failed after 15 s.")
    body = now(api)
    (failing,) = body["needsAttention"]
    assert (failing["kind"], failing["runId"]) == ("failing", str(last.id))
    assert failing["since"] == format_instant(first.finished_at or 0)
    assert body["deadLetterGroups"] == api.call("GET", "/v1/dead-letters:groups").body["items"]
    assert body["deadLetterGroups"][0]["count"] == 2
    api.put(succeeded(job, NOW - SECOND_MS))
    api.clock.advance(FRESH_MS)
    assert needs(api) == []


def test_the_next_hour_has_its_fires_and_those_that_will_not_run(api: Api) -> None:
    fires = api.create(everySeconds=1200, anchorAt=format_instant(NOW + MINUTE_MS))
    paused = api.create(everySeconds=3600, anchorAt=format_instant(NOW + 2 * MINUTE_MS))
    api.call("POST", f"/v1/jobs/{paused['jobId']}/pause")
    body = now(api)
    assert [(one["jobId"], one["willRun"], one["reason"]) for one in body["next"]] == [
        (fires["jobId"], True, None),
        (paused["jobId"], False, "job_paused"),
        (fires["jobId"], True, None),
        (fires["jobId"], True, None),
    ]
    assert (body["nextCount"], body["nextCountExact"]) == (4, True)


def test_a_digest_is_made_anew_after_thirty_seconds(api: Api) -> None:
    assert now(api)["nextCount"] == 0
    api.create(everySeconds=1800, anchorAt=format_instant(NOW + MINUTE_MS))
    api.clock.advance(FRESH_MS - 1)
    assert now(api)["nextCount"] == 0
    api.clock.advance(1)
    body = now(api)
    assert (body["nextCount"], body["digestAt"]) == (2, body["asOf"])


def test_a_failure_since_the_last_digest_is_found(api: Api, job: Any) -> None:
    other = api.create(everySeconds=3600)
    api.store.runs.clear()
    api.put(succeeded(job, NOW - HOUR_MS))
    assert needs(api) == []
    api.clock.advance(FRESH_MS)
    dead(api, job, FRESH_MS // SECOND_MS - 1)
    assert needs(api) == [("failing", job["jobId"])]
    api.clock.advance(FRESH_MS)
    for number in range(101):  # more than are read
        dead(api, other, 2 * FRESH_MS // SECOND_MS - number / 10)
    assert sorted(needs(api)) == sorted(("failing", one["jobId"]) for one in (job, other))
    api.clock.advance(FRESH_MS)
    assert sorted(needs(api)) == sorted(("failing", one["jobId"]) for one in (job, other))


def test_a_failure_that_notify_did_not_count_is_found_without_notify(api: Api) -> None:
    notify = {"onFailure": {"type": "http", "url": "https://example.com/alarm"}, "afterFailures": 3}
    job = api.create(everySeconds=3600, notify=notify)
    api.store.runs.clear()
    dead(api, job, -1)
    assert needs(api) == []
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"notify": None})
    api.clock.advance(10 * FRESH_MS)
    assert needs(api) == [("failing", job["jobId"])]


def test_a_digest_of_many_jobs_is_made_in_pages_with_each_request(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upcoming, "MOST_JOBS", 2)
    for _ in range(3):
        api.create(everySeconds=1800, anchorAt=format_instant(NOW + MINUTE_MS))
        api.clock.advance(SECOND_MS)
    first = now(api)
    assert (first["digestAt"], first["next"], first["nextCount"]) == (None, [], None)
    assert now(api)["nextCount"] == 6
    api.create(everySeconds=1800, anchorAt=format_instant(NOW + MINUTE_MS))
    api.clock.advance(FRESH_MS)
    assert [now(api)["nextCount"] for _ in range(3)] == [6, 6, 8]


def test_a_bounded_key_sees_only_its_jobs(api: Api) -> None:
    mine = api.create(everySeconds=3600, tags={"team": "blue"})
    other = api.create(everySeconds=3600)
    api.store.runs.clear()
    for one in (mine, other):
        dead(api, one, -30)
        api.put(noted(run_of(one, NOW - MINUTE_MS, RunState.QUEUED)))
    api.call("POST", "/v1/freezes", {"match": {"jobIds": [other["jobId"]]}})
    body = now(api, bounds={"team": "blue"})
    parts = ("needsAttention", "running", "next", "deadLetterGroups")
    assert {one["jobId"] for part in parts for one in body[part]} == {mine["jobId"]}
    assert (body["freezes"], body["health"]["lateness"]) == ([], None)
    assert now(api, tenant="globex")["needsAttention"] == []


def test_moments_do_not_change_the_etag(api: Api) -> None:
    job = api.create(scheduleAt=format_instant(NOW + MINUTE_MS * 50))
    api.store.runs.clear()
    first = api.call("GET", "/v1/now")
    api.store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "loop"), NOW)
    api.clock.advance(5 * SECOND_MS)
    known = {"if-none-match": first.headers["ETag"]}
    assert api.call("GET", "/v1/now", headers=known).status == 304
    api.clock.advance(FRESH_MS)
    assert api.call("GET", "/v1/now", headers=known).status == 304
    dead(api, job, -30)
    assert api.call("GET", "/v1/now", headers=known).status == 200
