"""`timeball cycle`: show and repeat the cycles of jobs that depend on each other."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.jobs.operations import follow_operation
from timeball.cli.jobs.outcomes import RUN_COLUMNS
from timeball.cli.output import Column, show_list, show_one, show_row
from timeball.cli.reading import json_of
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, JobId, Json
from timeball.client import Timeball

app = Commands("Show and repeat the cycles of jobs that depend on each other.")

CycleId = Annotated[
    str, typer.Argument(metavar="CYCLE", help="A fire time, or the cycleId of a run; `latest` is the newest.")
]


class RerunModeOption(StrEnum):
    """Which jobs of a cycle run again."""

    FAILED = "failed"
    FAILED_AND_DOWNSTREAM = "failedAndDownstream"
    ALL = "all"


@app.add("show")
def show_cycle(context: typer.Context, job: JobId, cycle: CycleId = "latest", *, json: Json = None) -> Status:
    """Show all runs of a cycle; the exit status is 1 if one has failed or is blocked."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    path = path_of("cycles", job, _cycle_id(client, job, cycle))
    page = client.request("GET", path)
    whole, items = page, list(page["items"])
    while page["nextCursor"]:
        page = client.request("GET", path, query={"cursor": page["nextCursor"]})
        items += page["items"]
    columns = (
        Column("JOB", "jobId"),
        Column("STATUS", "status"),
        Column("RUN", "run.runId"),
        Column("FINISHED", "run.finishedAt"),
        Column("WAITING FOR", "waitingFor"),
        Column("BLOCKED BY", "blockedBy.jobId"),
    )
    if json is not None:
        show_one(surroundings, (), {**whole, "items": items, "nextCursor": None}, json)
    else:
        show_list(surroundings, columns, items)
    return Status.BAD if any(one["status"] in {"failed", "blocked"} for one in items) else Status.OK


@app.add("rerun")
def rerun_cycle(
    context: typer.Context,
    job: JobId,
    cycle: CycleId,
    *,
    mode: Annotated[RerunModeOption, typer.Option(help="Which jobs run again.")] = RerunModeOption.FAILED,
    json: Json = None,
) -> Status:
    """Run the failed jobs of a cycle again, with those below them, or all."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    path = path_of("cycles", job, _cycle_id(client, job, cycle), verb="rerun")
    return follow_operation(surroundings, client, client.request("POST", path, {"mode": mode.value}), json)


@app.add("trigger")
def trigger_cycle(
    context: typer.Context,
    job: JobId,
    *,
    payload: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="For the run of this job alone.")] = None,
    json: Json = None,
) -> None:
    """Begin a cycle now: the job, then all jobs that depend on it."""
    surroundings = surroundings_of(context)
    body: dict[str, Any] = {"downstream": True}
    if payload is not None:
        body["payload"] = json_of(surroundings, payload, "--payload")
    run = connect(surroundings).request("POST", path_of("jobs", job, "trigger"), body)
    show_row(surroundings, (Column("CYCLE", "cycleId"), *RUN_COLUMNS), run, json)


def _cycle_id(client: Timeball, job: str, cycle: str) -> str:
    """Return the id of a cycle; for `latest` that of the newest run of the job."""
    if cycle != "latest":
        return cycle
    newest = client.pages(path_of("jobs", job, "runs"), query={"limit": 20})
    found = next((run["cycleId"] for run in next(newest.pages(), []) if run["cycleId"]), None)
    if found is None:
        raise CommandError(f"The job {job} has no cycle among its newest runs.", Status.NOT_FOUND)
    return str(found)
