"""Backfills: what they create, how they are listed and stopped. test_requests.py has the requests that are refused."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.backfills.calls import HOURLY, IN_RANGE, backfill, runs_of, scan
from tests.api.client import NOW, Api
from tests.api.http.requests import parameters_of
from timeball.domain.backfill import BackfillStatus
from timeball.domain.model.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.model.jobs.job import JobStatus, RuleSet
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.errors import UnavailableError


class TestCreating:
    def test_a_backfill_is_answered_with_its_range_and_starts_at_once(self, api: Api) -> None:
        job = api.create(**HOURLY)
        answer = backfill(api, job)
        backfill_id = answer.body["backfillId"]
        assert (answer.status, answer.headers["ETag"]) == (201, '"1"')
        assert answer.headers["Location"] == f"/v1/jobs/{job['jobId']}/backfills/{backfill_id}"
        assert answer.body == {
            "backfillId": backfill_id,
            "jobId": job["jobId"],
            "status": "running",
            "from": IN_RANGE[0],
            "to": IN_RANGE[2],
            "total": 3,
            "started": 1,
            "skipped": 0,
            "remaining": 2,
            "paceSeconds": 1,
            "overlapPolicy": "allow",
            "graph": False,
            "scheduleRules": {"version": RuleSet().version, "tzdata": RuleSet().tzdata},
            "createdAt": "2026-11-21T09:30:00.250Z",
            "updatedAt": "2026-11-21T09:30:00.250Z",
            "version": 1,
        }
        read = api.call("GET", answer.headers["Location"])
        assert read.headers["ETag"].startswith('"1.')
        assert read.body == answer.body

    def test_the_progress_of_a_backfill_is_no_304(self, api: Api) -> None:
        path = backfill(api, api.create(**HOURLY)).headers["Location"]
        known = {"if-none-match": api.call("GET", path).headers["ETag"]}
        assert api.call("GET", path, headers=known).status == 304
        api.clock.advance(SECOND_MS)
        scan(api)
        after = api.call("GET", path, headers=known)
        assert (after.status, after.body["started"]) == (200, 2)

    def test_a_backfill_that_waits_for_a_slot_says_so_until_it_gets_one(self, api: Api) -> None:
        job = api.create(**HOURLY)
        first, *_, last = [backfill(api, job).body for _ in range(api.context.rules.running_backfills + 1)]
        path = f"/v1/jobs/{job['jobId']}/backfills"
        assert (first["status"], last["status"], last["started"]) == ("running", "waiting", 0)
        others = api.call("POST", "/v1/jobs", {"handler": "https://example.com/", **HOURLY}, tenant="other").body
        assert backfill(api, others, tenant="other").body["status"] == "running"
        api.call("DELETE", f"{path}/{first['backfillId']}")
        scan(api)
        after = api.call("GET", f"{path}/{last['backfillId']}").body
        assert (after["status"], after["started"]) == ("running", 1)

    def test_its_runs_stand_in_the_ledger_under_its_name(self, api: Api) -> None:
        job = api.create(**HOURLY)
        made = backfill(api, job, paceSeconds=0).body
        path = f"/v1/jobs/{job['jobId']}/runs"
        pages, query = [], {"limit": "2"}
        while query:
            page = api.call("GET", path, query=query).body
            pages.append(page["items"])
            query = {"limit": "2", "cursor": page["nextCursor"]} if page["nextCursor"] else {}
        assert [[run["fireTime"] for run in page] for page in pages] == [IN_RANGE[:0:-1], IN_RANGE[:1]]
        for run in (run for page in pages for run in page):
            assert (run["origin"], run["backfillId"], run["status"]) == ("backfill", made["backfillId"], "queued")
            assert run["runId"].endswith(f".b{made['backfillId']}")
            assert api.call("GET", f"/v1/runs/{run['runId']}").body["runId"] == run["runId"]
            assert api.call("GET", f"/v1/runs/{run['runId']}", tenant="globex").status == 404
        assert api.call("GET", f"/v1/jobs/{job['jobId']}/backfills/{made['backfillId']}").body["status"] == "completed"

    def test_the_same_range_may_be_backfilled_again(self, api: Api) -> None:
        job = api.create(**HOURLY)
        first, second = backfill(api, job, paceSeconds=0).body, backfill(api, job, paceSeconds=0).body
        assert first["backfillId"] != second["backfillId"]
        assert len(runs_of(api)) == 6

    def test_it_keeps_its_pace(self, api: Api) -> None:
        job = api.create(**HOURLY)
        path = backfill(api, job, paceSeconds=60).headers["Location"]
        seen = []
        for _ in range(4):
            seen.append(api.call("GET", path).body["started"])
            api.clock.advance(30 * SECOND_MS)
            scan(api)
        assert seen == [1, 1, 2, 2]

    @pytest.mark.parametrize("status", [JobStatus.PAUSED, JobStatus.COMPLETED, JobStatus.FAILED])
    def test_it_works_on_a_paused_and_on_an_ended_job_and_never_moves_their_schedule(
        self, api: Api, status: JobStatus
    ) -> None:
        job = api.create(**HOURLY)
        key = JobKey("acme", job["jobId"])
        api.store.jobs[key] = replace(api.store.jobs[key], status=status)
        before = dict(api.store.jobs)
        assert backfill(api, job, paceSeconds=0).status == 201
        assert len(runs_of(api)) == 3
        assert api.store.jobs == before

    def test_a_cancelled_job_is_not_run_again(self, api: Api) -> None:
        job = api.create(**HOURLY)
        api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        for is_dry in (True, False):
            answer = backfill(api, job, dryRun=is_dry)
            assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")
        assert not api.store.backfills

    @pytest.mark.parametrize("is_dry", [True, False])
    def test_another_tenants_job_is_not_found(self, api: Api, *, is_dry: bool) -> None:
        job = api.create(**HOURLY)
        assert backfill(api, job, tenant="globex", dryRun=is_dry).status == 404
        assert backfill(api, {"jobId": "job_0"}, dryRun=is_dry).status == 404
        assert not api.store.backfills


class TestReadingAndCancelling:
    def test_a_cancelled_backfill_goes_no_further(self, api: Api) -> None:
        job = api.create(**HOURLY)
        path = backfill(api, job).headers["Location"]
        answer = api.call("DELETE", path)
        assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
        expected = {"status": "cancelled", "started": 1, "remaining": 2, "version": 2, "claimedRuns": []}
        assert {name: answer.body[name] for name in expected} == expected
        rows = sorted(runs_of(api), key=lambda run: run.id.fire_at)
        assert [run.state for run in rows] == [RunState.CANCELLED, RunState.SKIPPED]
        assert {run.reason for run in rows} == {"backfill_cancelled"}
        api.clock.advance(60 * SECOND_MS)
        scan(api)
        assert len(runs_of(api)) == len(rows)
        assert {**api.call("GET", path).body, "claimedRuns": []} == answer.body

    def test_a_cancel_names_the_runs_under_way_and_asks_them_to_stop(self, api: Api) -> None:
        path = backfill(api, api.create(**HOURLY)).headers["Location"]
        api.put(claimed(runs_of(api)[0], "me", NOW, 30_000))
        named = str(runs_of(api)[0].id)
        assert api.call("DELETE", path).body["claimedRuns"] == [named]
        stopped = api.call("GET", f"/v1/runs/{named}").body
        assert (stopped["cancelRequested"], stopped["reason"]) == (True, "backfill_cancelled")
        assert api.call("DELETE", path).body["claimedRuns"] == [named]

    def test_a_second_cancel_gets_the_same_answer(self, api: Api) -> None:
        path = backfill(api, api.create(**HOURLY)).headers["Location"]
        first = api.call("DELETE", path)
        api.clock.advance(1000)
        again = api.call("DELETE", path)
        assert (again.text, again.headers["ETag"]) == (first.text, first.headers["ETag"])

    def test_a_completed_backfill_cannot_be_cancelled(self, api: Api) -> None:
        path = backfill(api, api.create(**HOURLY), paceSeconds=0).headers["Location"]
        answer = api.call("DELETE", path)
        assert (answer.status, answer.body["status"], answer.body["remaining"]) == (200, "completed", 0)

    def test_cancelling_a_job_cancels_its_backfills(self, api: Api) -> None:
        job = api.create(**HOURLY)
        path = backfill(api, job).headers["Location"]
        api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        assert api.call("GET", path).body["status"] == "cancelled"

    @pytest.mark.parametrize(
        ("if_match", "status"), [('"1"', 200), ("*", 200), ('"2"', 412), ('W/"1"', 412), ("1", 400)]
    )
    def test_if_match_is_honoured(self, api: Api, if_match: str, status: int) -> None:
        path = backfill(api, api.create(**HOURLY)).headers["Location"]
        answer = api.call("DELETE", path, headers={"If-Match": if_match})
        assert answer.status == status
        assert status != 412 or answer.headers["ETag"] == '"1"'
        (stored,) = api.store.backfills.values()
        assert (stored.status is BackfillStatus.CANCELLED) == (status == 200)

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_another_tenants_backfill_is_not_found_and_not_cancelled(self, api: Api, method: str) -> None:
        job = api.create(**HOURLY)
        path = backfill(api, job).headers["Location"]
        answer = api.call(method, path, tenant="globex")
        unknown = api.call(method, f"/v1/jobs/{job['jobId']}/backfills/zzz", headers={"If-Match": '"1"'})
        assert (answer.status, unknown.status, answer.body) == (404, 404, unknown.body)
        assert api.call("GET", f"/v1/jobs/{job['jobId']}/backfills", tenant="globex").status == 404
        assert api.call("GET", path).body["status"] == "running"

    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    @pytest.mark.parametrize("name", ["ABC", "a.b", "a" * 27, "a_b"])
    def test_an_unknown_backfill_name_is_not_found(self, api: Api, method: str, name: str) -> None:
        job = api.create(**HOURLY)
        assert api.call(method, f"/v1/jobs/{job['jobId']}/backfills/{name}").status == 404

    def test_a_cancel_that_could_not_be_written_is_a_503(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        path = backfill(api, api.create(**HOURLY)).headers["Location"]

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        monkeypatch.setattr(api.store.backfills, "swap", no_answer)
        assert api.call("DELETE", path).status == 503


class TestListing:
    @pytest.fixture
    def job(self, api: Api) -> dict[str, Any]:
        """Create a job with five backfills, the last two of one millisecond."""
        job: dict[str, Any] = api.create(**HOURLY)
        for number in range(5):
            backfill(api, job, paceSeconds=number)
            api.clock.advance(1 if number < 3 else 0)
        return job

    @pytest.mark.parametrize(
        ("query", "pages"),
        [
            ({}, [[4, 3, 2, 1, 0]]),
            ({"limit": "2"}, [[4, 3], [2, 1], [0]]),
            ({"limit": "1"}, [[4], [3], [2], [1], [0]]),
            ({"limit": "5"}, [[4, 3, 2, 1, 0]]),
        ],
    )
    def test_backfills_are_listed_newest_first(
        self, api: Api, job: dict[str, Any], query: dict[str, str], pages: list[list[int]]
    ) -> None:
        seen = []
        asked: dict[str, str] | None = query
        while asked is not None:
            answer = api.call("GET", f"/v1/jobs/{job['jobId']}/backfills", query=asked)
            seen.append([item["paceSeconds"] for item in answer.body["items"]])
            cursor = answer.body["nextCursor"]
            asked = None if cursor is None else {**query, "cursor": cursor}
        assert seen == pages

    def test_a_job_without_any_has_an_empty_list(self, api: Api) -> None:
        answer = api.call("GET", f"/v1/jobs/{api.create(**HOURLY)['jobId']}/backfills")
        assert (answer.status, answer.body) == (200, {"items": [], "nextCursor": None})
        assert api.call("GET", "/v1/jobs/job_0/backfills").status == 404

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ({"limit": "0"}, ["limit"]),
            ({"limit": "201", "status": "running"}, ["status", "limit"]),
            ({"cursor": "!!!"}, ["cursor"]),
            ({"cursor": "AAAAAAAAAAAAAAAA"}, ["cursor"]),
        ],
    )
    def test_every_bad_parameter_is_named(
        self, api: Api, job: dict[str, Any], query: dict[str, str], fields: list[str]
    ) -> None:
        answer = api.call("GET", f"/v1/jobs/{job['jobId']}/backfills", query=query)
        assert (answer.status, answer.bad_fields()) == (400, fields)

    def test_a_cursor_is_valid_only_for_its_own_list(self, api: Api, job: dict[str, Any]) -> None:
        path = f"/v1/jobs/{job['jobId']}"
        cursor = api.call("GET", f"{path}/backfills", query={"limit": "1"}).body["nextCursor"]
        other = api.create(**HOURLY)

        def status(path: str, cursor: str = cursor) -> int:
            return api.call("GET", path, query={"cursor": cursor}).status

        assert status(f"{path}/backfills") == 200
        assert status(f"{path}/backfills", f"{cursor}A") == 400
        assert status(f"{path}/runs") == 400
        assert status(f"/v1/jobs/{other['jobId']}/backfills") == 400
        backfill(api, other, paceSeconds=0)
        runs = api.call("GET", f"/v1/jobs/{other['jobId']}/runs", query={"limit": "1"}).body["nextCursor"]
        assert status(f"/v1/jobs/{other['jobId']}/runs", runs) == 200
        assert status(f"/v1/jobs/{other['jobId']}/backfills", runs) == 400

    def test_the_list_takes_no_other_parameters(self) -> None:
        assert parameters_of("/v1/jobs/{jobId}/backfills") == ("limit", "cursor")


def test_a_backfill_is_named_by_its_tenant_its_job_and_its_key(api: Api) -> None:
    job = api.create(**HOURLY)
    key = BackfillKey(JobKey("acme", job["jobId"]), backfill(api, job, key="k").body["backfillId"])
    assert set(api.store.backfills) == {key}
    assert RunId.parse("acme", f"{job['jobId']}.0.b{key.name}") == RunId(key.job, 0, Origin.BACKFILL, key.name)
