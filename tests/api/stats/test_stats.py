"""A tenant sees the totals of its own jobs and runs, and nothing of other tenants."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api, event_of
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_instant
from timeball.domain.usage.hours import HourKey, hour_of
from timeball.domain.usage.spending import Estimate, JobCounts
from timeball.engine.tally import FLUSH_MS, Tally
from timeball.ports.due_index import Owner

STATUSES = {"pending", "paused", "skipped", "blocked", "running", "completed", "failed", "cancelled"}
NO_RUN = {"count": 0, "exact": True, "oldestAt": None, "ageSeconds": 0.0}
NONE = {"count": 0, "exact": True, "standardError": 0.0}


def stats(api: Api, tenant: str = "acme") -> Any:
    answer = api.call("GET", "/v1/stats", tenant=tenant)
    assert answer.status == 200, answer.text
    return answer.body


def counted(api: Api) -> dict[str, int]:
    """Return the statuses that some jobs have, with their exact counts."""
    jobs = stats(api)["jobs"]
    assert set(jobs) == STATUSES
    assert all(one["exact"] and one["standardError"] == 0 for one in jobs.values())
    return {status: one["count"] for status, one in jobs.items() if one["count"]}


def test_a_tenant_without_jobs_has_zero_of_everything(api: Api) -> None:
    assert stats(api) == {
        "at": format_instant(NOW),
        "lastTickAt": None,
        "oldestDueAt": None,
        "jobs": dict.fromkeys(STATUSES, NONE),
        "deadLetters": NONE,
        "running": NO_RUN,
        "waiting": NO_RUN,
        "queues": {name: {"waiting": 0, "inFlight": 0, "delayed": 0} for name in ("high", "normal", "low")},
        "failedAuthentications": {"since": "2026-11-20T09:00:00.000Z", "count": 0, "byReason": {}},
    }


def test_runs_under_way_and_runs_that_wait_are_counted_with_the_age_of_the_oldest(api: Api) -> None:
    for _ in range(3):
        api.create()
    runs = sorted(api.store.runs.values(), key=lambda run: run.id)
    api.put(replace(runs[0], state=RunState.RUNNING, attempt=1, claimed_at=NOW, noted=True))
    api.put(replace(runs[1], state=RunState.RETRYING, attempt=1, first_started_at=NOW + SECOND_MS))
    api.put(replace(runs[2], noted=True))
    api.put(replace(runs[2], id=replace(runs[2].id, fire_at=NOW + HOUR_MS), not_before=NOW + HOUR_MS, noted=True))
    api.clock.advance(10 * SECOND_MS)
    found = stats(api)
    since = {"exact": True, "oldestAt": format_instant(NOW), "ageSeconds": 10.0}
    assert (found["running"], found["waiting"]) == ({"count": 2, **since}, {"count": 1, **since})
    assert stats(api, "globex")["running"] == NO_RUN
    tag = api.call("GET", "/v1/stats").headers["ETag"]
    api.clock.advance(SECOND_MS)
    assert api.call("GET", "/v1/stats", headers={"If-None-Match": tag}).status == 304


def test_the_last_tick_and_the_oldest_due_of_the_tenant_are_those_of_the_present_state(api: Api) -> None:
    first_at = NOW + MINUTE_MS
    api.create(scheduleAt=format_instant(first_at + MINUTE_MS))
    api.create(scheduleAt=format_instant(first_at))
    api.call("POST", "/v1/jobs", {"handler": "https://example.com", "delaySeconds": 10}, tenant="globex")
    assert (stats(api)["lastTickAt"], stats(api)["oldestDueAt"]) == (None, None)
    tag = api.call("GET", "/v1/stats").headers["ETag"]
    api.store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "loop"), NOW)
    for shard in range(4):  # as the last scan left it
        api.store.due.move_oldest_day(shard, NOW - NOW % DAY_MS)
    assert api.call("GET", "/v1/stats", headers={"If-None-Match": tag}).status == 304
    for days in (0, 1, 5):  # while no scan runs
        api.clock.advance(days * DAY_MS + 2 * MINUTE_MS)
        found = stats(api)
        assert (found["lastTickAt"], found["oldestDueAt"]) == (format_instant(NOW), format_instant(first_at))
        health = api.call("GET", "/v1/now").body["health"]
        assert (health["lastTickAt"], health["oldestDueAt"]) == (found["lastTickAt"], found["oldestDueAt"])


def test_jobs_are_counted_by_the_status_that_the_api_shows(api: Api) -> None:
    for _ in range(3):
        api.create(everySeconds=60)
    paused = api.create(everySeconds=60)
    api.call("POST", f"/v1/jobs/{paused['jobId']}/pause")
    api.create(scheduleAt="2030-01-01T00:00:00Z")
    assert counted(api) == {"pending": 4, "paused": 1}
    assert stats(api, "other")["jobs"] == dict.fromkeys(STATUSES, NONE)


def test_a_one_off_whose_run_is_under_way_counts_as_running(api: Api) -> None:
    job = api.create()
    assert counted(api) == {"pending": 1}
    api.put(replace(api.only_run(), state=RunState.RUNNING, attempt=1))
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["status"] == "running"
    assert counted(api) == {"running": 1}


def test_many_jobs_are_counted_by_an_estimate_with_its_error(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    job = api.create()
    of_each = Estimate(1_000_000, 64_018.7)
    counts = JobCounts(Estimate(5_000_000, 100_000.0), dict.fromkeys(Among, of_each))
    monkeypatch.setattr(type(api.store.jobs), "count", lambda *_: counts)
    assert stats(api)["jobs"]["failed"] == {"count": 1_000_000, "exact": False, "standardError": 64018.7}
    assert stats(api)["jobs"]["pending"]["standardError"] > 64_018
    assert stats(api)["jobs"]["completed"] == {"count": 1_000_000, "exact": False, "standardError": 162461.0}
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").status == 200


def test_dead_letters_and_messages_are_counted(api: Api) -> None:
    api.create()
    run = api.only_run()
    assert stats(api)["queues"]["normal"] == {"waiting": 1, "inFlight": 0, "delayed": 0}
    api.queue.receive("normal")
    assert stats(api)["queues"]["normal"] == {"waiting": 0, "inFlight": 1, "delayed": 0}
    other = replace(run, id=RunId(JobKey("other", "job"), NOW, Origin.SCHEDULE))
    for one in (run, other):
        api.put(replace(one, state=RunState.FAILED, finished_at=NOW))
    assert stats(api)["deadLetters"] == {"count": 1, "exact": True, "standardError": 0.0}


def refused(api: Api, why: str, tenant: str | None) -> None:
    """Send a request with a refused key, with the authorizer's context for it."""
    event = event_of("GET", "/v1/jobs", None, {"Authorization": "Bearer tb_x"}, {})
    event["requestContext"]["authorizer"]["lambda"] = {"refused": why, **({"refusedOf": tenant} if tenant else {})}
    assert api.answer(event).status == 401


def test_refused_keys_are_shown_to_the_admins_of_their_tenant() -> None:
    api = Api(counts=True)
    for why, tenant in [("expired", "acme"), ("expired", "acme"), ("revoked", "acme"), ("unknown", None)]:
        refused(api, why, tenant)
    assert api.call("GET", "/v1/jobs", tenant=None).status == 401  # a request without any key is not counted
    api.flush()
    told = stats(api)["failedAuthentications"]
    assert told == {
        "since": "2026-11-20T09:00:00.000Z",
        "count": 4,
        "byReason": {"expired": 2, "revoked": 1, "unknown": 1},  # unknown keys are shown to the operating tenant
    }
    refused(api, "revoked", "globex")
    api.clock.advance(FLUSH_MS)
    api.flush()
    assert stats(api, "globex")["failedAuthentications"]["byReason"] == {"revoked": 1}


def test_refusals_are_shown_to_admins_and_queues_to_the_operating_tenant(api: Api) -> None:
    viewer = api.call("GET", "/v1/stats", role="viewer").body
    assert viewer["failedAuthentications"] is None
    assert viewer["queues"] is not None
    assert stats(api, "globex")["queues"] is None
    assert stats(api, "globex")["failedAuthentications"]["count"] == 0
    assert api.call("GET", "/v1/stats", role="worker").status == 403
    assert api.call("GET", "/v1/slo", bounds={"team": "blue"}).status == 403


def test_the_slo_shows_lateness_and_failures_by_window_and_priority(api: Api) -> None:
    counts = {"RunsStarted": 4, "RunsSucceeded": 3, "DeadLetters.host_down": 1, "Lateness.40": 3, "Lateness.8000": 1}
    hour = hour_of(NOW)
    for tenant, at in (("acme", hour), ("acme", hour - 5 * HOUR_MS), ("other", hour)):
        api.store.usage.add([(HourKey(tenant, at, "high"), counts)], NOW)
    answer = api.call("GET", "/v1/slo")
    assert answer.status == 200
    windows = answer.body["windows"]
    assert [(name, window["since"], window["total"]["started"]) for name, window in windows.items()] == [
        ("fiveMinutes", "2026-11-21T09:25:00.000Z", 0),
        ("halfHour", "2026-11-21T09:00:00.000Z", 0),
        ("hour", "2026-11-21T08:00:00.000Z", 4),
        ("sixHours", "2026-11-21T03:00:00.000Z", 8),
        ("day", "2026-11-20T09:00:00.000Z", 8),
        ("threeDays", "2026-11-18T09:00:00.000Z", 8),
        ("month", "2026-10-22T09:00:00.000Z", 8),
    ]
    assert windows["hour"]["byPriority"]["high"] == {
        "started": 4,
        "succeeded": 3,
        "retried": 0,
        "dead": 1,
        "skipped": 0,
        "missed": 0,
        "overdue": 0,
        "failureRate": 0.25,
        "onTime": {"within1Second": 0.75, "within5Seconds": 0.75, "within30Seconds": 1.0},
        "lateness": {"p50Seconds": 0.04, "p99Seconds": 8.0},
    }
    assert windows["day"]["byPriority"]["low"]["failureRate"] is None


@pytest.mark.parametrize("path", ["/v1/stats", "/v1/slo"])
def test_statistics_take_no_parameters_and_need_a_key(api: Api, path: str) -> None:
    assert api.call("GET", path, query={"window": "hour"}).bad_fields() == ["window"]
    assert api.call("GET", path, tenant=None).status == 401


def test_a_flush_adds_the_events_that_the_engine_counted(api: Api) -> None:
    api = Api(counts=True)
    job = api.create(scheduleAt="2030-01-01T00:00:00Z")
    assert isinstance(api.context.telemetry, Tally)
    assert api.call("DELETE", f"/v1/jobs/{job['jobId']}").status == 200
    api.flush()
    skipped = api.call("GET", "/v1/slo").body["windows"]["hour"]["total"]["skipped"]
    assert skipped == sum(run.state is RunState.SKIPPED for run in api.store.runs.values())
