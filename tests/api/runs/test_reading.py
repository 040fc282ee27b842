from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended, retrying
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome

LEASE_MS = 30_000


FAILED_ATTEMPT = Attempt(
    1, Outcome.FAILED, NOW + 10, NOW + 20, NOW + 80, 503, "The target answered with status 503.", "busy", "me"
)


class TestRuns:
    def test_a_run_shows_every_attempt_with_its_timestamps(self, api: Api) -> None:
        job = api.create(maxRetries=2)
        run = claimed(api.only_run(), "me", NOW + 10, LEASE_MS)
        first = FAILED_ATTEMPT
        run = claimed(retrying(run, NOW + 5000, first), "me", NOW + 5000, LEASE_MS)
        api.store.attempts.insert([(run.id, first)], NOW)
        api.put(run)
        body = api.call("GET", f"/v1/runs/{run.id}").body
        fire = job["nextRunAt"]
        assert {name: body[name] for name in ("runId", "jobId", "fireTime", "origin", "status", "attempt")} == {
            "runId": str(run.id),
            "jobId": job["jobId"],
            "fireTime": fire,
            "origin": "schedule",
            "status": "running",
            "attempt": 2,
        }
        assert (body["startedAt"], body["lateness"]) == ("2026-11-21T09:30:00.270Z", 0.02)
        assert body["attempts"] == [
            {
                "number": 1,
                "workerId": "me",
                "outcome": "failed",
                "durationMs": 60,
                "claimedAt": "2026-11-21T09:30:00.260Z",
                "startedAt": "2026-11-21T09:30:00.270Z",
                "finishedAt": "2026-11-21T09:30:00.330Z",
                "httpStatus": 503,
                "error": "The target answered with status 503.",
                "body": "busy",
            },
            {
                "number": 2,
                "workerId": "me",
                "outcome": None,
                "durationMs": None,
                "claimedAt": "2026-11-21T09:30:05.250Z",
                "startedAt": None,
                "finishedAt": None,
                "httpStatus": None,
                "error": None,
                "body": None,
            },
        ]
        assert body["result"] is None

    def test_a_run_that_waits_for_its_retry_shows_when_it_starts(self, api: Api) -> None:
        api.create()
        run = claimed(api.only_run(), "me", NOW + 10, LEASE_MS)
        api.put(retrying(run, NOW + 5000, FAILED_ATTEMPT))
        body = api.call("GET", f"/v1/runs/{run.id}").body
        assert (body["status"], body["nextAttemptAt"]) == ("retrying", "2026-11-21T09:30:05.250Z")
        assert [attempt["number"] for attempt in body["attempts"]] == [1]

    def test_the_result_is_everything_that_was_stored_of_the_answer(self, api: Api) -> None:
        api.create()
        run = claimed(api.only_run(), "me", NOW, LEASE_MS)
        whole = Attempt(1, Outcome.SUCCEEDED, NOW, NOW + 1, NOW + 2, 200, body="x" * 16_384)
        api.store.attempts.insert([(run.id, whole)], NOW)
        api.put(ended(run, RunState.SUCCEEDED, NOW + 2, Guarantor.MESSAGE, last=replace(whole, body="x" * 200)))
        body = api.call("GET", f"/v1/runs/{run.id}").body
        assert body["result"] == {"httpStatus": 200, "body": "x" * 16_384}
        assert (body["status"], body["finishedAt"]) == ("succeeded", "2026-11-21T09:30:00.252Z")

    @pytest.mark.parametrize("reason", Reason)
    def test_a_reason_comes_with_its_sentence(self, api: Api, reason: Reason) -> None:
        api.create()
        api.put(replace(api.only_run(), state=RunState.SKIPPED, reason=reason))
        body = api.call("GET", f"/v1/runs/{api.only_run().id}").body
        assert body["reason"] == reason.value
        assert body["reasonText"].endswith(".")

    @pytest.mark.parametrize("run_id", ["nope", "job_1.5.x", "job_1.05.s", "job_1.1.s", "..", "a.b.c.d", "job_1.-1.s"])
    def test_an_unknown_run_is_not_found(self, api: Api, run_id: str) -> None:
        assert api.call("GET", f"/v1/runs/{run_id}").status == 404

    def test_another_tenants_run_is_not_found(self, api: Api) -> None:
        api.create()
        mine = api.call("GET", f"/v1/runs/{api.only_run().id}")
        yours = api.call("GET", f"/v1/runs/{api.only_run().id}", tenant="globex")
        assert (mine.status, yours.status) == (200, 404)


class TestLedger:
    @pytest.fixture
    def path(self, api: Api) -> str:
        """Create a job with seven runs, a second apart; the even ones have succeeded."""
        job = api.create(delaySeconds=3600)
        key = JobKey("acme", job["jobId"])
        for number in range(7):
            fire_at = NOW + 1000 * number
            state = RunState.FAILED if number % 2 else RunState.SUCCEEDED
            api.put(Run(RunId(key, fire_at, Origin.SCHEDULE), state, 1, "normal", 0, fire_at, fire_at))
        return f"/v1/jobs/{job['jobId']}/runs"

    def pages(self, api: Api, path: str, query: dict[str, str]) -> list[list[str]]:
        pages: list[list[str]] = []
        asked: dict[str, str] | None = query
        while asked is not None:
            answer = api.call("GET", path, query=asked)
            assert answer.status == 200, answer.text
            pages.append([item["fireTime"][17:19] for item in answer.body["items"]])
            cursor = answer.body["nextCursor"]
            asked = None if cursor is None else {**query, "cursor": cursor}
        return pages

    @pytest.mark.parametrize(
        ("query", "pages"),
        [
            ({}, [["06", "05", "04", "03", "02", "01", "00"]]),
            ({"limit": "3"}, [["06", "05", "04"], ["03", "02", "01"], ["00"]]),
            ({"limit": "7"}, [["06", "05", "04", "03", "02", "01", "00"]]),
            ({"status": "failed", "limit": "2"}, [["05", "03"], ["01"]]),
            ({"status": "failed,succeeded", "limit": "6"}, [["06", "05", "04", "03", "02", "01"], ["00"]]),
            ({"status": "running"}, [[]]),
            ({"from": "2026-11-21T09:30:02.250Z", "to": "2026-11-21T09:30:04.250Z"}, [["04", "03", "02"]]),
            ({"from": "2026-11-21T10:30:05.250 01:00"}, [["06", "05"]]),
            ({"to": "2026-11-21T09:30:01.249Z"}, [["00"]]),
        ],
    )
    def test_the_ledger_is_paged_newest_first_and_filtered(
        self, api: Api, path: str, query: dict[str, str], pages: list[list[str]]
    ) -> None:
        assert self.pages(api, path, query) == pages

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ({"limit": "0"}, ["limit"]),
            ({"limit": "201"}, ["limit"]),
            ({"limit": "1.5"}, ["limit"]),
            ({"limit": "-1"}, ["limit"]),
            ({"limit": "٣"}, ["limit"]),
            ({"limit": "9" * 5000}, ["limit"]),
            ({"limit": ""}, ["limit"]),
            ({"status": "done"}, ["status"]),
            ({"status": "failed,"}, ["status"]),
            ({"status": ""}, ["status"]),
            ({"from": "yesterday"}, ["from"]),
            ({"from": "2026-11-22T00:00:00Z", "to": "2026-11-21T00:00:00Z"}, ["to"]),
            ({"state": "failed", "Limit": "5"}, ["state", "Limit"]),
            (
                {"limit": "x", "status": "x", "from": "x", "to": "x", "x": "x"},
                ["x", "limit", "from", "to", "status"],
            ),
            ({"cursor": "!!!"}, ["cursor"]),
            ({"cursor": "ä"}, ["cursor"]),
            ({"cursor": "AAAAAAAAAAAAAAAA"}, ["cursor"]),
            ({"cursor": "A"}, ["cursor"]),
        ],
    )
    def test_every_bad_parameter_is_named(self, api: Api, path: str, query: dict[str, str], fields: list[str]) -> None:
        answer = api.call("GET", path, query=query)
        assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:invalid-request")
        assert answer.bad_fields() == fields

    def test_a_cursor_is_valid_only_for_its_own_query(self, api: Api, path: str) -> None:
        query = {"limit": "2", "status": "failed"}
        cursor = api.call("GET", path, query=query).body["nextCursor"]

        def status(path: str, tenant: str = "acme", **changed: Any) -> int:
            return api.call("GET", path, query={**query, "cursor": cursor, **changed}, tenant=tenant).status

        assert status(path) == 200
        assert status(path.replace("/runs", "/executions")) == 400
        assert status(path, limit="5") == 200
        assert status(path, status="succeeded") == 400
        assert status(path, to="2027-01-01T00:00:00Z") == 400
        assert status(path, cursor=cursor + "A") == 400
        assert status(path, cursor=cursor[:-2] + "AA") == 400
        assert status(path, cursor=cursor + "!") == 400
        other = api.create(name="other")["jobId"]
        assert status(f"/v1/jobs/{other}/runs") == 400
        for key in list(api.store.jobs):
            api.store.jobs[replace(key, tenant="globex")] = api.store.jobs[key]
        assert status(path, tenant="globex") == 400


def test_a_run_shows_the_retry_policy_that_its_job_had_at_its_newest_attempt(api: Api) -> None:
    job = api.create(everySeconds=60, maxRetries=1, retryPolicy={"baseSeconds": 7})
    path = f"/v1/jobs/{job['jobId']}"
    run = api.only_run()

    def shown() -> tuple[int, int]:
        answer = api.call("GET", f"/v1/runs/{run.id}").body
        return answer["maxRetries"], answer["retryPolicy"]["baseSeconds"]

    assert shown() == (1, 7)
    now = api.clock.now()
    last = Attempt(1, Outcome.SUCCEEDED, now, now, now, 200)
    api.put(replace(run, state=RunState.SUCCEEDED, attempt=1, last=last, finished_at=now))
    for retries in (2, 3):
        api.clock.advance(1_000)
        assert api.call("PATCH", path, {"maxRetries": retries, "retryPolicy": {"baseSeconds": 9}}).status == 200
    assert shown() == (1, 7)
    api.store.changes.revisions.clear()
    assert api.call("GET", f"/v1/runs/{run.id}").body["retryPolicy"] is None
    api.put(run)
    assert shown() == (3, 9)
