"""How runs are shown, waited for, and judged."""

from collections.abc import Mapping
from typing import Any

from timeball.cli.connection import path_of
from timeball.cli.following import Gauge, follow
from timeball.cli.output import Column, show_list, show_one, title
from timeball.cli.status import Status
from timeball.cli.surroundings import Surroundings
from timeball.client import Timeball

RUN_COLUMNS = (
    Column("RUN", "runId"),
    Column("JOB", "jobId"),
    Column("STATUS", "status"),
    Column("FIRE TIME", "fireTime"),
    Column("STARTED", "startedAt"),
    Column("FINISHED", "finishedAt"),
    Column("ATTEMPT", "attempt"),
    Column("REASON", "reason"),
)
_LINES = (
    Column("run", "runId"),
    Column("job", "jobId"),
    Column("status", "status"),
    Column("reason", "reasonText"),
    Column("origin", "origin"),
    Column("fire time", "fireTime"),
    Column("started", "startedAt"),
    Column("finished", "finishedAt"),
    Column("lateness (s)", "lateness"),
    Column("next attempt", "nextAttemptAt"),
    Column("waiting for", "waitingFor"),
    Column("blocked by", "blockedBy.runId"),
    Column("cycle", "cycleId"),
    Column("result", "result.body"),
    Column("page", "consoleUrl"),
)
_ATTEMPTS = (
    Column("ATTEMPT", "number"),
    Column("OUTCOME", "outcome"),
    Column("STARTED", "startedAt"),
    Column("MS", "durationMs"),
    Column("HTTP", "httpStatus"),
    Column("ERROR", "error"),
)
OVER = frozenset({"succeeded", "failed", "skipped", "cancelled"})


def show_run(surroundings: Surroundings, run: Mapping[str, Any], fields: str | None) -> None:
    """Print a run and its attempts."""
    show_one(surroundings, _LINES, run, fields)
    if fields is None and run.get("attempts"):
        title(surroundings, "Attempts")
        show_list(surroundings, _ATTEMPTS, run["attempts"])


def status_of_run(run: Mapping[str, Any]) -> Status:
    """Return the exit status for the end of a run."""
    return Status.OK if run["status"] == "succeeded" else Status.BAD


def wait_for(surroundings: Surroundings, client: Timeball, run_id: str, fields: str | None = None) -> Status:
    """Wait for the end of a run, print it, and return the exit status that it means."""
    path = path_of("runs", run_id)
    run = follow(
        surroundings,
        lambda: client.request("GET", path),
        lambda read: read["status"] in OVER,
        lambda read: Gauge(int(read["status"] in OVER), 1),
        f"run {run_id}",
    )
    show_run(surroundings, run, fields)
    return status_of_run(run)
