"""Runs in the states that tests need: under way, waiting for their target's report, dead."""

from dataclasses import replace
from typing import Any

from tests.api.client import NOW, Answer, Api
from timeball.domain.attempts.callback import handed_over
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import SECOND_MS

LEASE_MS = 30_000
MARGIN_MS = 5_000

CALLBACK = {"completion": "callback", "timeoutSeconds": 86_400, "heartbeatSeconds": 60}
"""Fields of a job whose target answers 202 and works for up to a day."""


def row(api: Api, run_id: str, tenant: str = "acme") -> Run:
    """Return a run as it is stored."""
    parsed = RunId.parse(tenant, run_id)
    assert parsed is not None
    return api.store.runs[parsed]


def called(api: Api, **fields: Any) -> Run:
    """Return the run of a new one-off, claimed by the executor that calls its target."""
    job = api.create(**fields)
    (run,) = [run for run in api.store.runs.values() if run.id.job.job_id == job["jobId"]]
    api.put(claimed(run, "executor", api.clock.now(), LEASE_MS))
    return api.store.runs[run.id]


def waiting(api: Api, **fields: Any) -> Run:
    """Return the run of a new one-off whose target has just answered 202."""
    run = called(api, **{**CALLBACK, **fields})
    now = api.clock.now()
    api.put(handed_over(run, api.store.jobs[run.id.job], now, now, MARGIN_MS))
    return api.store.runs[run.id]


def dead(
    api: Api,
    job: dict[str, Any],
    seconds: float = 0,
    *,
    reason: Reason = Reason.RETRIES_EXHAUSTED,
    error: str | None = "The target answered with status 503.",
    status: int | None = 503,
    tenant: str = "acme",
) -> Run:
    """Store and return a run that failed for good this many seconds after NOW, one second after it was due."""
    died_at = NOW + int(seconds * SECOND_MS)
    fire_at = died_at - SECOND_MS
    last = Attempt(4, Outcome.FAILED, fire_at, fire_at, died_at, status, error)
    key = JobKey(tenant, job["jobId"])
    run = Run(RunId(key, fire_at, Origin.SCHEDULE), RunState.FAILED, 1, "normal", 0, fire_at, fire_at)
    api.put(replace(run, attempt=4, finished_at=died_at, reason=reason, last=last, first_started_at=fire_at))
    return api.store.runs[run.id]


def say(api: Api, run: Run, verb: str, attempt: object = 1, tenant: str = "acme", **fields: object) -> Answer:
    """Send a report about an attempt, as its target does."""
    return api.call("POST", f"/v1/runs/{run.id}/{verb}", {"attempt": attempt, **fields}, tenant=tenant)
