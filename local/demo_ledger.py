"""The fire ledger from the API, compared with the receiver's records.

Different programs write the two: where they agree, neither has lost or invented a run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.demo_client import ApiClient
from local.demo_tally import Due
from local.receiver import ReceivedRequest
from timeball.domain.time.instants import SECOND_MS, parse_instant

_OVER = frozenset({"succeeded", "failed", "cancelled", "skipped"})


@dataclass(frozen=True)
class Ledger:
    """Jobs and their runs by job id, as the API answers them; retried runs with their attempts."""

    jobs: Mapping[str, Any]
    runs: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Return whether every job has runs, and all of them have ended."""
        return all(self.is_settled_for(job_id) for job_id in self.jobs)

    def is_settled_for(self, job_id: str) -> bool:
        """Return whether a job has runs, and all of them have ended."""
        runs = self.runs.get(job_id, [])
        return bool(runs) and all(run["status"] in _OVER for run in runs)


def read_ledger(client: ApiClient, jobs: Iterable[Any], known: Ledger | None = None) -> Ledger:
    """Read the runs of jobs, except for jobs that are settled in the `known` ledger."""
    by_id = {job["jobId"]: job for job in jobs}
    settled = {} if known is None else {key: runs for key, runs in known.runs.items() if known.is_settled_for(key)}
    wanted = [job_id for job_id in by_id if job_id not in settled]
    return Ledger(by_id, settled | {job_id: _runs(client, job_id) for job_id in wanted})


def _runs(client: ApiClient, job_id: str) -> list[Any]:
    items = client.get(f"/v1/jobs/{job_id}/runs", limit=200)["items"]
    return [client.get(f"/v1/runs/{run['runId']}") if run["attempt"] > 1 else run for run in items]


def disagreements(ledger: Ledger, due: Iterable[Due], arrivals: Iterable[ReceivedRequest]) -> list[str]:
    """Return a sentence for each instant at which the ledger and the receiver disagree."""
    calls = Counter((arrival.job_id, arrival.fire_at) for arrival in arrivals)
    rows = {(job_id, parse_instant(run["fireTime"])): run for job_id, runs in ledger.runs.items() for run in runs}
    said = [
        f"{instant.job_id} was due at {instant.fire_at}, but the ledger has no row of it"
        for instant in due
        if (instant.job_id, instant.fire_at) not in rows
    ]
    for (job_id, fire_at), run in rows.items():
        said += _contradictions(run, fire_at, calls[job_id, fire_at])
    return said + [
        f"a call for {job_id} at {fire_at} arrived, but the ledger has no row of it"
        for job_id, fire_at in calls
        if job_id in ledger.jobs and (job_id, fire_at) not in rows
    ]


def _contradictions(run: Mapping[str, Any], fire_at: int, seen: int) -> Iterator[str]:
    """Yield a sentence for each way in which a run's row contradicts the number of calls that arrived."""
    if run["attempt"] != seen:
        yield f"{run['runId']} has {run['attempt']} attempts, but {seen} calls arrived"
    if (run["status"] == "succeeded") != bool(seen):
        yield f"{run['runId']} is {run['status']}, but {seen} calls arrived"
    if run["startedAt"] is not None and parse_instant(run["startedAt"]) < fire_at:
        yield f"{run['runId']} started at {run['startedAt']}, before its time"


def earliest_retries(ledger: Ledger) -> dict[tuple[str, int], int]:
    """Return the earliest instant (ms) of each retry (run id, attempt) of jobs without jitter."""
    earliest = {}
    for job_id, runs in ledger.runs.items():
        job = ledger.jobs[job_id]
        for run in (run for run in runs if "attempts" in run and job["retryPolicy"]["jitter"] == "none"):
            for attempt in run["attempts"][:-1]:
                number = attempt["number"]
                wait_ms = int(job["retryTimetable"][number - 1] * SECOND_MS)
                earliest[run["runId"], number + 1] = parse_instant(attempt["finishedAt"]) + wait_ms
    return earliest
