from dataclasses import replace

import pytest

from tests.api.client import NOW, Api
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed, retrying
from timeball.domain.model.runs.values import Attempt, Outcome

LEASE_MS = 30_000


FAILED_ATTEMPT = Attempt(1, Outcome.FAILED, NOW + 10, NOW + 20, NOW + 80, 503, "The target answered with status 503.")


class TestReading:
    def test_a_fresh_one_off_is_pending_and_its_run_is_queued(self, api: Api) -> None:
        job = api.create()
        read = api.call("GET", f"/v1/jobs/{job['jobId']}")
        assert (read.status, read.headers["ETag"]) == (200, '"1"')
        assert read.body["status"] == "pending"
        assert read.body["latestRun"]["status"] == "queued"
        assert read.body["latestRun"]["fireTime"] == job["nextRunAt"]

    @pytest.mark.parametrize("state", [RunState.RUNNING, RunState.RETRYING, RunState.QUEUED])
    def test_a_one_off_whose_run_has_begun_is_running(self, api: Api, state: RunState) -> None:
        job = api.create()
        run = claimed(api.only_run(), "me", NOW, LEASE_MS)
        if state is not RunState.RUNNING:
            run = retrying(run, NOW + 5000, FAILED_ATTEMPT)
        api.put(replace(run, state=state))
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["status"] == "running"

    def test_a_recurring_job_stays_pending_while_it_runs(self, api: Api) -> None:
        job = api.create(everySeconds=3600)
        api.put(claimed(api.only_run(), "me", NOW, LEASE_MS))
        read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
        assert (read["status"], read["latestRun"]["status"]) == ("pending", "running")

    def test_a_fire_that_waits_in_the_queue_is_still_a_next_run(self, api: Api) -> None:
        job = api.create(everySeconds=2, maxRuns=4)
        read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
        assert len(api.store.runs) == 1
        assert read["nextRuns"] == job["nextRuns"] == [f"2026-11-21T09:30:0{second}.000Z" for second in (1, 3, 5, 7)]
        api.clock.advance(2_000)
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["nextRuns"] == job["nextRuns"][1:]

    def test_a_one_off_that_was_dispatched_is_still_a_next_run(self, api: Api) -> None:
        job = api.create(delaySeconds=3)
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["nextRunAt"] == job["nextRunAt"]
        api.clock.advance(3_001)
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["nextRunAt"] is None

    def test_a_job_that_has_ended_has_no_next_run(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        key = JobKey("acme", job["jobId"])
        api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.COMPLETED)
        read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
        assert (read["status"], read["nextRunAt"], read["nextRuns"]) == ("completed", None, [])

    @pytest.mark.parametrize("path", ["", "/runs", "/executions"])
    @pytest.mark.parametrize("method", ["GET", "DELETE"])
    def test_another_tenants_job_is_not_found(self, api: Api, method: str, path: str) -> None:
        if method == "DELETE" and path:
            return
        job = api.create()
        before = dict(api.store.jobs)
        answer = api.call(method, f"/v1/jobs/{job['jobId']}{path}", tenant="globex")
        unknown = api.call(method, f"/v1/jobs/job_0{path}")
        assert (answer.status, answer.body) == (404, unknown.body)
        assert api.store.jobs == before

    @pytest.mark.parametrize("job_id", ["nope", "a b", "x" * 65, "job_1%2F..", "ä", "a.b"])
    def test_an_unknown_id_is_not_found(self, api: Api, job_id: str) -> None:
        assert api.call("GET", f"/v1/jobs/{job_id}").body["type"] == "urn:timeball:problem:not-found"


class TestCancelling:
    def test_a_cancelled_job_runs_no_more(self, api: Api) -> None:
        job = api.create(everySeconds=60, payload={"a": 1})
        answer = api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
        assert answer.body["status"] == "cancelled"
        assert (answer.body["nextRunAt"], answer.body["nextRuns"]) == (None, [])
        assert (answer.body["claimedRuns"], answer.body["payload"]) == ([], {"a": 1})
        assert api.only_run().state is RunState.CANCELLED
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["status"] == "cancelled"

    def test_a_cancel_names_the_claimed_runs_and_asks_them_to_stop(self, api: Api) -> None:
        job = api.create()
        api.put(claimed(api.only_run(), "me", NOW, LEASE_MS))
        answer = api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        assert answer.body["claimedRuns"] == [str(api.only_run().id)]
        assert api.call("GET", f"/v1/runs/{answer.body['claimedRuns'][0]}").body["cancelRequested"] is True

    def test_a_second_cancel_gets_the_same_answer(self, api: Api) -> None:
        job = api.create()
        first = api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        assert api.call("DELETE", f"/v1/jobs/{job['jobId']}").body == first.body

    def test_a_job_that_ended_by_itself_cannot_be_cancelled(self, api: Api) -> None:
        job = api.create(delaySeconds=60)
        key = JobKey("acme", job["jobId"])
        api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.FAILED)
        answer = api.call("DELETE", f"/v1/jobs/{job['jobId']}")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")
        assert "failed" in answer.body["detail"]

    @pytest.mark.parametrize(
        ("if_match", "status"),
        [
            ('"1"', 200),
            (' "1" ', 200),
            ("*", 200),
            (None, 200),
            ('"2"', 412),
            ('"01"', 412),
            ('W/"1"', 412),
            ('"abc"', 412),
            ('""', 412),
            ('"99999999999999999999999"', 412),
            ("1", 400),
            ("", 400),
            ('"1', 400),
            ('"1", "2"', 400),
            ("'1'", 400),
        ],
    )
    def test_if_match_is_honoured(self, api: Api, if_match: str | None, status: int) -> None:
        job = api.create(delaySeconds=60)
        headers = {} if if_match is None else {"If-Match": if_match}
        answer = api.call("DELETE", f"/v1/jobs/{job['jobId']}", headers=headers)
        assert answer.status == status
        slug = {412: "stale-version", 400: "invalid-request"}.get(status)
        assert slug is None or answer.body["type"] == f"urn:timeball:problem:{slug}"
        assert status != 412 or answer.headers["ETag"] == '"1"'
        stored = api.store.jobs[JobKey("acme", job["jobId"])]
        assert (stored.status is JobStatus.CANCELLED) == (status == 200)

    def test_a_condition_on_an_unknown_job_is_a_404(self, api: Api) -> None:
        for if_match in ('"1"', '"abc"', "*"):
            assert api.call("DELETE", "/v1/jobs/job_0", headers={"If-Match": if_match}).status == 404
