"""Manual retries of runs, also with another payload, and the status of a one-off whose own run is retried."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import dead, row
from tests.api.runs.states import FAILED_ATTEMPT, do, failed, in_state
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended, retrying
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.ports.errors import UnavailableError


class TestRetry:
    def test_a_failed_run_is_retried_now_with_a_fresh_budget_and_its_history(self, api: Api) -> None:
        run = failed(api, maxRetries=0)
        api.store.attempts.insert([(run.id, FAILED_ATTEMPT)], NOW)
        api.queue.sent.clear()
        api.clock.advance(60 * SECOND_MS)
        answer = do(api, run, "retry")
        assert answer.status == 200
        expected = {
            "runId": str(run.id),
            "status": "queued",
            "reason": None,
            "attempt": 1,
            "nextAttemptAt": format_instant(NOW + 60 * SECOND_MS),
            "finishedAt": None,
        }
        assert {name: answer.body[name] for name in expected} == expected
        assert [str(sent.id) for sent in api.queue.sent] == [str(run.id)]
        read = api.call("GET", f"/v1/runs/{run.id}").body
        assert [attempt["number"] for attempt in read["attempts"]] == [1]
        assert row(api, str(run.id)).attempts_spent == 0

    def test_a_run_that_waits_for_its_retry_starts_now(self, api: Api) -> None:
        run = in_state(api, RunState.RETRYING)
        answer = do(api, run, "retry")
        assert (answer.status, answer.body["nextAttemptAt"]) == (200, format_instant(NOW))

    # The state, the status of the answer, the slug of the problem, words of its detail.
    @pytest.mark.parametrize(
        ("state", "status", "slug", "words"),
        [
            (RunState.QUEUED, 200, None, None),
            (RunState.RUNNING, 200, None, None),
            (RunState.RETRYING, 200, None, None),
            (RunState.FAILED, 200, None, None),
            (RunState.SUCCEEDED, 409, "run-over", "The run has succeeded already; trigger the job instead."),
            (RunState.SKIPPED, 409, "run-over", "The run was skipped already; trigger the job instead."),
            (RunState.CANCELLED, 409, "run-over", "The run was cancelled already; trigger the job instead."),
            (
                RunState.WITHDRAWN,
                409,
                "job-paused",
                "The job is paused, which withdrew this run; resume the job instead.",
            ),
        ],
    )
    def test_a_run_that_has_not_failed_is_left_unchanged(
        self, api: Api, state: RunState, status: int, slug: str | None, words: str | None
    ) -> None:
        run = in_state(api, state)
        answer = do(api, run, "retry")
        assert answer.status == status
        if slug is not None:
            assert (answer.body["type"], answer.body["detail"]) == (f"urn:timeball:problem:{slug}", words)
        if state not in (RunState.FAILED, RunState.RETRYING, RunState.QUEUED):
            assert row(api, str(run.id)) == run

    def test_a_run_that_is_being_cancelled_is_refused_like_one_that_is_over(self, api: Api) -> None:
        run = in_state(api, RunState.RUNNING)
        do(api, run, "cancel")
        answer = do(api, run, "retry")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-over")
        assert answer.body["detail"] == "The run is being cancelled; trigger the job instead."

    def test_the_same_request_twice_gets_the_same_answer_and_sends_the_message_again(self, api: Api) -> None:
        run = failed(api)
        api.queue.sent.clear()
        first, again = do(api, run, "retry"), do(api, run, "retry")
        assert (first.status, again.body) == (200, first.body)
        assert [one.id for one in api.queue.sent] == [run.id, run.id]  # one of the two will be claimed

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.RETRYING])
    def test_a_run_of_a_cancelled_job_is_not_retried(self, api: Api, state: RunState) -> None:
        run = in_state(api, state)
        put_status(api, {"jobId": run.id.job.job_id}, JobStatus.CANCELLED)
        answer = do(api, run, "retry")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")
        assert row(api, str(run.id)) == run

    @pytest.mark.parametrize("status", [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED])
    def test_a_run_of_any_other_job_is_retried(self, api: Api, status: JobStatus) -> None:
        job = api.create(everySeconds=60)
        run = dead(api, job)
        put_status(api, job, status)
        assert do(api, run, "retry").body["status"] == "queued"

    def test_a_retried_run_is_no_dead_letter_any_more(self, api: Api) -> None:
        run = dead(api, api.create(everySeconds=60))
        assert [item["runId"] for item in api.call("GET", "/v1/dead-letters").body["items"]] == [str(run.id)]
        do(api, run, "retry")
        assert api.call("GET", "/v1/dead-letters").body["items"] == []

    def test_a_retry_is_accepted_though_it_could_not_be_sent(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        run = failed(api)

        def no_queue(*_: object) -> list[bool]:
            raise UnavailableError("no answer")

        monkeypatch.setattr(api.queue, "send", no_queue)
        assert do(api, run, "retry").status == 200
        assert row(api, str(run.id)).due_at == NOW, "it stands in the due index for the scan"


class TestAOneOffThatFailed:
    def status(self, api: Api, run: Run) -> Any:
        return api.call("GET", f"/v1/jobs/{run.id.job.job_id}").body["status"]

    def test_it_is_pending_until_its_run_begins_again_and_then_running(self, api: Api) -> None:
        run = failed(api)
        assert self.status(api, run) == "failed"
        do(api, run, "retry")
        assert self.status(api, run) == "pending"
        api.put(claimed(row(api, str(run.id)), "executor", NOW, 30_000))
        assert self.status(api, run) == "running"
        again = replace(FAILED_ATTEMPT, number=2)
        api.put(retrying(row(api, str(run.id)), NOW + 60_000, again))
        assert self.status(api, run) == "running"

    def test_it_has_failed_again_if_its_run_does(self, api: Api) -> None:
        run = failed(api)
        do(api, run, "retry")
        live = claimed(row(api, str(run.id)), "executor", NOW, 30_000)
        api.put(
            ended(
                live, RunState.FAILED, NOW, Guarantor.MESSAGE, Reason.NOT_RETRIABLE, replace(FAILED_ATTEMPT, number=2)
            )
        )
        assert self.status(api, run) == "failed"

    def test_a_newer_manual_run_does_not_hide_its_own(self, api: Api) -> None:
        run = failed(api)
        do(api, run, "retry")
        api.clock.advance(SECOND_MS)
        api.call("POST", f"/v1/jobs/{run.id.job.job_id}/trigger")
        read = api.call("GET", f"/v1/jobs/{run.id.job.job_id}").body
        assert (read["status"], read["latestRun"]["origin"]) == ("pending", "manual")

    def test_a_live_manual_run_does_not_make_it_running(self, api: Api) -> None:
        run = failed(api)
        api.clock.advance(SECOND_MS)
        api.call("POST", f"/v1/jobs/{run.id.job.job_id}/trigger")
        assert self.status(api, run) == "failed"


class TestRetryWithAnotherPayload:
    def retry(self, api: Api, run: Run, **body: object) -> Answer:
        return api.call("POST", f"/v1/runs/{run.id}/retry", body)

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.RETRYING])
    @pytest.mark.parametrize("payload", [{"rows": 2}, None])
    def test_its_later_calls_carry_that_payload_and_it_shows_the_edit(
        self, api: Api, state: RunState, payload: object
    ) -> None:
        run = in_state(api, state)
        answer = self.retry(api, run, payload=payload)
        now = format_instant(NOW)
        assert (answer.status, answer.body["payloadEditedAt"], answer.body["retriedAt"]) == (200, now, now)
        digest = row(api, str(run.id)).work_digest
        assert digest is not None
        (work,) = api.store.works.read([(run.id.job, digest)])
        assert work is not None
        assert (work.payload, work.target) == (
            json.dumps(payload, separators=(",", ":")),
            api.work_of(run.id.job.job_id).target,
        )

    def test_without_a_payload_it_keeps_the_one_it_had(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        assert self.retry(api, run).body["payloadEditedAt"] is None
        assert row(api, str(run.id)).work_digest is None

    def test_the_same_payload_again_gets_the_same_answer_and_another_one_is_refused(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        first = self.retry(api, run, payload=1)
        assert self.retry(api, run, payload=1).body == first.body
        answer = self.retry(api, run, payload=2)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-under-way")

    @pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED])
    def test_a_run_that_is_over_in_another_way_is_refused_as_without_a_payload(self, api: Api, state: RunState) -> None:
        answer = self.retry(api, in_state(api, state), payload=1)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-over")

    def test_an_invalid_payload_is_refused_by_its_field_and_changes_nothing(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        answer = self.retry(api, run, payload="x" * 300_000, priority="high")
        assert (answer.status, sorted(answer.bad_fields())) == (400, ["payload", "priority"])
        assert row(api, str(run.id)) == run
