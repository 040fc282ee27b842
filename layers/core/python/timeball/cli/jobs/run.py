"""`timeball run`: list, follow, retry and cancel runs."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.jobs.outcomes import RUN_COLUMNS, show_run, wait_for
from timeball.cli.output import show_list, show_row
from timeball.cli.reading import instant_of, json_of, tags_of, without_nones
from timeball.cli.status import Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, From, Json, Limit, RunIdText, Tags, To, Yes

app = Commands("List, follow, retry and cancel runs.")


@app.add("list")
def list_runs(
    context: typer.Context,
    *,
    job: Annotated[str | None, typer.Option("--job", metavar="JOB", help="Only the ledger of this job.")] = None,
    status: Annotated[str | None, typer.Option(help="Only these, such as failed,running.")] = None,
    reason: Annotated[str | None, typer.Option(help="Only runs with this reason.")] = None,
    tag: Tags = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="Only runs of this task.")] = None,
    after: From = None,
    before: To = None,
    sort: Annotated[
        str | None, typer.Option(help="finishedAt or fireTime; -finishedAt, the default: the newest first.")
    ] = None,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List runs, the newest first; without --job and --status those of the last hour."""
    surroundings = surroundings_of(context)
    tags_of(tag)
    query = {
        "jobId": job,
        "status": status,
        "reason": reason,
        "tag": tag,
        "taskId": task,
        "from": instant_of(surroundings, after),
        "to": instant_of(surroundings, before),
        "sort": sort,
        "limit": min(limit or 200, 200),
    }
    show_list(surroundings, RUN_COLUMNS, connect(surroundings).pages("/v1/runs", query=query), json, limit)


@app.add("show")
def show_one_run(context: typer.Context, run: RunIdText, *, json: Json = None) -> None:
    """Show a run with every attempt."""
    surroundings = surroundings_of(context)
    show_run(surroundings, connect(surroundings).request("GET", path_of("runs", run)), json)


@app.add("watch")
def watch_run(context: typer.Context, run: RunIdText, *, json: Json = None) -> Status:
    """Wait for the end of a run; the exit status is 1 if it did not succeed."""
    surroundings = surroundings_of(context)
    return wait_for(surroundings, connect(surroundings), run, json)


@app.add("retry")
def retry_run(
    context: typer.Context,
    run: RunIdText,
    *,
    payload: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="In place of the run's payload.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end of the run; 1 if it is bad.")] = False,
    json: Json = None,
) -> Status:
    """Try a run that has failed, or waits for its retry, again now."""
    surroundings = surroundings_of(context)
    body = {} if payload is None else {"payload": json_of(surroundings, payload, "--payload")}
    client = connect(surroundings)
    found = client.request("POST", path_of("runs", run, "retry"), body)
    if wait:
        return wait_for(surroundings, client, run, json)
    show_row(surroundings, RUN_COLUMNS, found, json)
    return Status.OK


@app.add("cancel")
def cancel_run(context: typer.Context, run: RunIdText, *, yes: Yes = False, json: Json = None) -> None:
    """Cancel a run; a run that is under way is asked to stop."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Cancel the run {run}?", yes=yes)
    show_row(surroundings, RUN_COLUMNS, client.request("POST", path_of("runs", run, "cancel")), json)


@app.add("succeed")
def succeed_run(
    context: typer.Context,
    run: RunIdText,
    *,
    reason: Annotated[str | None, typer.Option(help="Why, for the ledger.")] = None,
    json: Json = None,
) -> None:
    """Mark a run that has failed for good as succeeded, so that what it blocks goes on."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    found = client.request("POST", path_of("runs", run, "succeed"), without_nones(reason=reason))
    show_row(surroundings, RUN_COLUMNS, found, json)
