"""The last run, the runs under way and the recent outcomes of a job, where it is read and in lists."""

from dataclasses import replace
from typing import Any

from tests.api.client import NOW, Api
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome
from timeball.domain.time.instants import DAY_MS, SECOND_MS

MINUTE = 60 * SECOND_MS
HOURLY = {"cronExpression": "0 * * * *"}


def _run(job: dict[str, Any], at: int, state: RunState, origin: Origin = Origin.SCHEDULE) -> Run:
    queued = Run(
        id=RunId(JobKey("acme", job["jobId"]), at, origin),
        state=RunState.QUEUED,
        decided_at_version=1,
        priority="normal",
        shard=0,
        not_before=at,
        created_at=at,
    )
    if state is RunState.QUEUED:
        return queued
    running = claimed(queued, "executor", at, 30_000)
    if state is RunState.RUNNING:
        return running
    called_at = at + 250
    attempt = Attempt(1, Outcome.FAILED, at, started_at=called_at, finished_at=called_at + SECOND_MS)
    return ended(running, state, called_at + SECOND_MS, Guarantor.MESSAGE, last=attempt)


def _shown(api: Api, job: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown of a job, which is the same in a list and where it is read."""
    read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    (listed,) = [one for one in api.call("GET", "/v1/jobs").body["items"] if one["jobId"] == job["jobId"]]
    found = {name: read[name] for name in ("lastRun", "running", "recent")}
    assert found == {name: listed[name] for name in found}
    return found


def _names(api: Api, **query: str) -> list[str]:
    answer = api.call("GET", "/v1/jobs", query=query)
    assert answer.status == 200, answer.text
    return [item["name"] for item in answer.body["items"]]


def test_a_job_that_never_ran_shows_no_run(api: Api, job: dict[str, Any]) -> None:
    assert _shown(api, job) == {"lastRun": None, "running": [], "recent": ""}


def test_a_job_shows_its_last_run_and_its_outcomes_by_fire_time(api: Api, job: dict[str, Any]) -> None:
    api.put(_run(job, NOW + 3 * MINUTE, RunState.FAILED, Origin.MANUAL))
    api.put(_run(job, NOW + 2 * MINUTE, RunState.SUCCEEDED))
    api.put(_run(job, NOW + MINUTE, RunState.CANCELLED, Origin.EVENT))
    api.clock.advance(4 * MINUTE)
    assert _shown(api, job) == {
        "lastRun": {
            "runId": f"{job['jobId']}.{NOW + 3 * MINUTE}.m",
            "status": "failed",
            "startedAt": "2026-11-21T09:33:00.500Z",
            "finishedAt": "2026-11-21T09:33:01.500Z",
            "lateness": 0.25,
        },
        "running": [],
        "recent": "csf",
    }


def test_a_run_under_way_is_the_last_one_and_has_no_outcome_yet(api: Api, job: dict[str, Any]) -> None:
    api.put(_run(job, NOW, RunState.FAILED))
    api.put(running := _run(job, NOW + MINUTE, RunState.RUNNING))
    api.put(_run(job, NOW + 2 * MINUTE, RunState.QUEUED))
    api.clock.advance(2 * MINUTE)
    found = _shown(api, job)
    assert (found["lastRun"]["runId"], found["lastRun"]["status"]) == (str(running.id), "running")
    assert (found["lastRun"]["startedAt"], found["lastRun"]["finishedAt"]) == (None, None)
    assert (found["running"], found["recent"]) == ([str(running.id)], "f")


def test_a_fire_that_is_skipped_ahead_is_no_outcome_before_its_time(api: Api, job: dict[str, Any]) -> None:
    assert api.call("POST", f"/v1/jobs/{job['jobId']}/skip-next").status == 200
    assert _shown(api, job)["recent"] == ""
    api.clock.advance(MINUTE)
    assert _shown(api, job)["recent"] == "k"


def test_a_list_by_running_has_jobs_of_every_schedule_with_a_run_under_way(api: Api) -> None:
    for name, fields in [("once", {}), ("hourly", HOURLY), ("paused", HOURLY), ("idle", HOURLY)]:
        api.clock.advance(1)
        job = api.create(name=name, **fields)
        api.put(_run(job, NOW - MINUTE, RunState.SUCCEEDED if name == "idle" else RunState.RUNNING, Origin.MANUAL))
        if name == "paused":
            api.call("POST", f"/v1/jobs/{job['jobId']}/pause")
    assert _names(api, status="running") == ["paused", "hourly", "once"]
    assert _names(api, status="running", limit="2") == ["paused", "hourly"]
    assert _names(api, status="running", tag="team:blue") == []
    assert _names(api, status="pending") == ["idle", "hourly", "once"]


def test_a_run_that_holds_the_lock_is_under_way_however_many_fires_were_skipped_since(api: Api) -> None:
    job = api.create(name="slow", everySeconds=60, overlapPolicy="skip")
    api.put(running := _run(job, NOW - DAY_MS, RunState.RUNNING))
    for minutes in range(20):
        api.put(replace(_run(job, NOW - minutes * MINUTE, RunState.QUEUED), state=RunState.SKIPPED))
    key = JobKey("acme", job["jobId"])
    assert _names(api, status="running") == []
    api.store.jobs[key] = replace(api.store.jobs[key], holder=running.id)
    assert _names(api, status="running") == ["slow"]
    assert _shown(api, job)["running"] == [str(running.id)]
    assert _shown(api, job)["recent"] == "kkkkkkkk"


def test_a_search_for_running_jobs_looks_at_two_hundred_ledgers_a_page(api: Api) -> None:
    for number in range(250):
        api.clock.advance(1)
        job = api.create(name=str(number), **HOURLY)
        if number < 3:
            api.put(_run(job, NOW, RunState.RUNNING))
    first = api.call("GET", "/v1/jobs", query={"status": "running"}).body
    assert first["items"] == []
    rest = api.call("GET", "/v1/jobs", query={"status": "running", "cursor": first["nextCursor"]}).body
    assert [item["name"] for item in rest["items"]] == ["2", "1", "0"]
    assert rest["nextCursor"] is None


def test_an_answer_about_a_job_begins_with_what_people_look_for(api: Api, job: dict[str, Any]) -> None:
    leading = ["jobId", "name", "status", "nextRunAt", "lastRun", "running", "recent"]
    assert [*api.call("GET", f"/v1/jobs/{job['jobId']}").body][: len(leading)] == leading
    assert [*api.call("GET", "/v1/jobs").body["items"][0]][: len(leading)] == leading
    assert [*job][:4] == leading[:4]
