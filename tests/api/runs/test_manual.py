"""Cancelling single runs, and the refusals of a cancel and of a retry."""

import pytest

from tests.api.client import Api
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import row, waiting
from tests.api.runs.states import do, failed, in_state
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.errors import UnavailableError

VERBS = ["retry", "cancel"]

every_verb = pytest.mark.parametrize("verb", VERBS)


class TestCancel:
    # The state before, the status of the answer, the state and the reason after.
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
    def test_a_waiting_run_ends_and_a_run_under_way_is_asked_to_stop(
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
    def test_the_same_request_twice_gets_the_same_answer(self, api: Api, state: RunState) -> None:
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
    def test_an_unknown_run_is_not_found(self, api: Api, verb: str, run_id: str) -> None:
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
    def test_a_failed_write_is_a_503(self, api: Api, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
        run = failed(api) if verb == "retry" else in_state(api, RunState.QUEUED)

        def no_answer(*_: object) -> list[object]:
            raise UnavailableError("throttled")

        monkeypatch.setattr(api.store.runs, "swap", no_answer)
        assert do(api, run, verb).status == 503
