"""Retry and cancel of a single run, and what a one-off shows whose own run was tried again."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import called, dead, row, waiting
from timeball.domain.model.attempt import Attempt, Outcome
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import claimed, ended, retrying, withdrawn
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.ports.errors import UnavailableError

VERBS = ["retry", "cancel"]
every_verb = pytest.mark.parametrize("verb", VERBS)
FAILED_ATTEMPT = Attempt(1, Outcome.FAILED, NOW, NOW, NOW + 5, 503, "The target answered with status 503.")


def do(api: Api, run: Run, verb: str, tenant: str = "acme") -> Answer:
    return api.call("POST", f"/v1/runs/{run.id}/{verb}", tenant=tenant)


def failed(api: Api, **fields: Any) -> Run:
    """Return the run of a new one-off that has failed for good, and its job with it."""
    run = called(api, **fields)
    put_status(api, {"jobId": run.id.job.job_id}, JobStatus.FAILED)
    api.put(ended(run, RunState.FAILED, NOW + 5, Guarantor.MESSAGE, Reason.RETRIES_EXHAUSTED, FAILED_ATTEMPT))
    return api.store.runs[run.id]


def in_state(api: Api, state: RunState) -> Run:
    """Return the run of a new one-off in a state."""
    match state:
        case RunState.QUEUED:
            api.create()
            return api.only_run()
        case RunState.RUNNING:
            return called(api)
        case RunState.RETRYING:
            api.put(retrying(called(api), NOW + 60_000, FAILED_ATTEMPT))
        case RunState.WITHDRAWN:
            api.create()
            api.put(withdrawn(api.only_run()))
        case RunState.FAILED:
            failed(api)
        case _:
            api.create()
            api.put(replace(api.only_run(), state=state, finished_at=NOW))
    return api.only_run()


class TestRetry:
    def test_a_run_that_failed_is_tried_again_now_with_a_fresh_budget_and_its_history(self, api: Api) -> None:
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

    def test_a_run_that_waits_for_its_retry_waits_no_longer(self, api: Api) -> None:
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
                "The job is paused, and took this run back; resume the job instead.",
            ),
        ],
    )
    def test_what_has_not_failed_is_left_as_it_is(
        self, api: Api, state: RunState, status: int, slug: str | None, words: str | None
    ) -> None:
        run = in_state(api, state)
        answer = do(api, run, "retry")
        assert answer.status == status
        if slug is not None:
            assert (answer.body["type"], answer.body["detail"]) == (f"urn:timeball:problem:{slug}", words)
        if state not in (RunState.FAILED, RunState.RETRYING, RunState.QUEUED):
            assert row(api, str(run.id)) == run

    def test_a_run_that_is_being_cancelled_is_as_good_as_over(self, api: Api) -> None:
        run = in_state(api, RunState.RUNNING)
        do(api, run, "cancel")
        answer = do(api, run, "retry")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-over")
        assert answer.body["detail"] == "The run is being cancelled; trigger the job instead."

    def test_the_same_request_twice_is_answered_alike_and_its_message_sent_again(self, api: Api) -> None:
        run = failed(api)
        api.queue.sent.clear()
        first, again = do(api, run, "retry"), do(api, run, "retry")
        assert (first.status, again.body) == (200, first.body)
        assert [one.id for one in api.queue.sent] == [run.id, run.id]  # of which one will be claimed

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.RETRYING])
    def test_a_run_of_a_cancelled_job_is_not_tried_again(self, api: Api, state: RunState) -> None:
        run = in_state(api, state)
        put_status(api, {"jobId": run.id.job.job_id}, JobStatus.CANCELLED)
        answer = do(api, run, "retry")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")
        assert row(api, str(run.id)) == run

    @pytest.mark.parametrize("status", [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED])
    def test_a_run_of_any_other_job_is(self, api: Api, status: JobStatus) -> None:
        job = api.create(everySeconds=60)
        run = dead(api, job)
        put_status(api, job, status)
        assert do(api, run, "retry").body["status"] == "queued"

    def test_it_is_no_dead_letter_any_more(self, api: Api) -> None:
        run = dead(api, api.create(everySeconds=60))
        assert [item["runId"] for item in api.call("GET", "/v1/dead-letters").body["items"]] == [str(run.id)]
        do(api, run, "retry")
        assert api.call("GET", "/v1/dead-letters").body["items"] == []

    def test_it_is_done_though_it_could_not_be_sent(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        run = failed(api)

        def no_queue(*_: object) -> list[bool]:
            raise UnavailableError("no answer")

        monkeypatch.setattr(api.queue, "send", no_queue)
        assert do(api, run, "retry").status == 200
        assert row(api, str(run.id)).due_at == NOW, "it stands in the due index for the scan"


class TestCancel:
    # The state of before, the status of the answer, the state and the reason of after.
    @pytest.mark.parametrize(
        ("state", "status", "after", "reason"),
        [
            (RunState.QUEUED, 200, "cancelled", "run_cancelled"),
            (RunState.RETRYING, 200, "cancelled", "run_cancelled"),
            (RunState.WITHDRAWN, 200, "cancelled", "run_cancelled"),
            (RunState.RUNNING, 200, "running", "run_cancelled"),
            (RunState.CANCELLED, 200, "cancelled", None),
            (RunState.SUCCEEDED, 409, "succeeded", None),
            (RunState.SKIPPED, 409, "skipped", None),
            (RunState.FAILED, 409, "failed", "retries_exhausted"),
        ],
    )
    def test_what_waits_ends_and_what_is_under_way_is_asked_to_stop(
        self, api: Api, state: RunState, status: int, after: str, reason: str | None
    ) -> None:
        run = in_state(api, state)
        answer = do(api, run, "cancel")
        assert answer.status == status
        read = api.call("GET", f"/v1/runs/{run.id}").body
        assert (read["status"], read["reason"]) == (after, reason)
        assert read["cancelRequested"] == (state is RunState.RUNNING)
        if status == 200:
            assert {name: read[name] for name in answer.body} == answer.body
        else:
            assert answer.body["type"] == "urn:timeball:problem:run-over"
            assert answer.body["detail"].endswith("already; there is nothing to cancel.")
            assert row(api, str(run.id)) == run

    @pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.RETRYING])
    def test_the_same_request_twice_is_answered_alike(self, api: Api, state: RunState) -> None:
        run = in_state(api, state)
        first = do(api, run, "cancel")
        api.clock.advance(SECOND_MS)
        assert (first.status, do(api, run, "cancel").body) == (200, first.body)

    def test_a_one_off_ends_with_its_run(self, api: Api) -> None:
        run = in_state(api, RunState.QUEUED)
        do(api, run, "cancel")
        assert api.call("GET", f"/v1/jobs/{run.id.job.job_id}").body["status"] == "cancelled"

    def test_a_recurring_job_goes_on(self, api: Api) -> None:
        job = api.create(everySeconds=1)
        api.dispatch()
        first = min(api.store.runs.values(), key=lambda run: run.id.fire_at)
        assert do(api, first, "cancel").body["status"] == "cancelled"
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["status"] == "pending"

    def test_a_run_of_a_cancelled_job_may_be_cancelled_too(self, api: Api) -> None:
        run = waiting(api)
        put_status(api, {"jobId": run.id.job.job_id}, JobStatus.CANCELLED)
        assert do(api, run, "cancel").body["cancelRequested"] is True


class TestBoth:
    @every_verb
    def test_another_tenants_run_is_not_found_and_not_changed(self, api: Api, verb: str) -> None:
        run = failed(api) if verb == "retry" else in_state(api, RunState.QUEUED)
        before = dict(api.store.jobs)
        answer = do(api, run, verb, tenant="globex")
        unknown = api.call("POST", f"/v1/runs/job_0.5.s/{verb}")
        assert (answer.status, answer.body) == (404, unknown.body)
        assert (row(api, str(run.id)), api.store.jobs) == (run, before)

    @every_verb
    @pytest.mark.parametrize("run_id", ["nope", "job_1.5.x", "job_1.-1.s", "a.b.c.d"])
    def test_an_id_that_no_run_has_is_not_found(self, api: Api, verb: str, run_id: str) -> None:
        assert api.call("POST", f"/v1/runs/{run_id}/{verb}").status == 404

    @every_verb
    @pytest.mark.parametrize(
        ("raw", "status"), [(b"", 200), (b" ", 200), (b"{}", 200), (b'{"attempt": 1}', 400), (b"[]", 400), (b"x", 400)]
    )
    def test_it_takes_no_fields(self, api: Api, verb: str, raw: bytes, status: int) -> None:
        run = failed(api) if verb == "retry" else in_state(api, RunState.QUEUED)
        answer = api.call("POST", f"/v1/runs/{run.id}/{verb}", raw=raw)
        assert answer.status == status
        assert (row(api, str(run.id)) == run) == (status == 400)

    @every_verb
    def test_what_could_not_be_written_is_a_503(self, api: Api, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
        run = failed(api) if verb == "retry" else in_state(api, RunState.QUEUED)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        monkeypatch.setattr(api.store.runs, "swap", no_answer)
        assert do(api, run, verb).status == 503


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

    def test_a_newer_run_by_hand_does_not_hide_its_own(self, api: Api) -> None:
        run = failed(api)
        do(api, run, "retry")
        api.clock.advance(SECOND_MS)
        api.call("POST", f"/v1/jobs/{run.id.job.job_id}/trigger")
        read = api.call("GET", f"/v1/jobs/{run.id.job.job_id}").body
        assert (read["status"], read["latestRun"]["origin"]) == ("pending", "manual")

    def test_a_run_by_hand_that_lives_does_not_make_it_running(self, api: Api) -> None:
        run = failed(api)
        api.clock.advance(SECOND_MS)
        api.call("POST", f"/v1/jobs/{run.id.job.job_id}/trigger")
        assert self.status(api, run) == "failed"


class TestRetryWithAnotherPayload:
    def retry(self, api: Api, run: Run, **body: object) -> Answer:
        return api.call("POST", f"/v1/runs/{run.id}/retry", body)

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.RETRYING])
    @pytest.mark.parametrize("payload", [{"rows": 2}, None])
    def test_its_calls_bring_that_from_now_on_and_it_says_so(self, api: Api, state: RunState, payload: object) -> None:
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

    def test_without_one_it_keeps_what_it_had(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        assert self.retry(api, run).body["payloadEditedAt"] is None
        assert row(api, str(run.id)).work_digest is None

    def test_the_same_request_again_is_the_same_and_another_payload_comes_too_late(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        first = self.retry(api, run, payload=1)
        assert self.retry(api, run, payload=1).body == first.body
        answer = self.retry(api, run, payload=2)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-under-way")

    @pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED])
    def test_a_run_that_is_over_in_another_way_is_refused_as_without_one(self, api: Api, state: RunState) -> None:
        answer = self.retry(api, in_state(api, state), payload=1)
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-over")

    def test_what_is_no_payload_is_named_and_changes_nothing(self, api: Api) -> None:
        run = in_state(api, RunState.FAILED)
        answer = self.retry(api, run, payload="x" * 300_000, priority="high")
        assert (answer.status, sorted(answer.bad_fields())) == (400, ["payload", "priority"])
        assert row(api, str(run.id)) == run
