"""Runs in each of their states."""

from dataclasses import replace
from typing import Any

from tests.api.client import NOW, Answer, Api
from tests.api.jobs.changes import put_status
from tests.api.runs.rows import called
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, retrying, withdrawn
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome

FAILED_ATTEMPT = Attempt(1, Outcome.FAILED, NOW, NOW, NOW + 5, 503, "The target answered with status 503.")


def do(api: Api, run: Run, verb: str, tenant: str = "acme") -> Answer:
    return api.call("POST", f"/v1/runs/{run.id}/{verb}", tenant=tenant)


def failed(api: Api, **fields: Any) -> Run:
    """Return the run of a new one-off that has failed for good, as its job has."""
    run = called(api, **fields)
    put_status(api, {"jobId": run.id.job.job_id}, JobStatus.FAILED)
    api.put(ended(run, RunState.FAILED, NOW + 5, Guarantor.MESSAGE, Reason.RETRIES_EXHAUSTED, FAILED_ATTEMPT))
    return api.store.runs[run.id]


def in_state(api: Api, state: RunState) -> Run:
    """Return the run of a new one-off in this state."""
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
