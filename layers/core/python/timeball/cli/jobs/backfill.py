"""`timeball backfill`: the fires of a past range, run again."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.following import Gauge, follow
from timeball.cli.output import Column, Item, show_list, show_one
from timeball.cli.reading import instant_of, without_nones
from timeball.cli.status import Status
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, JobId, Json, Limit, Yes
from timeball.client import Timeball

app = Commands("Run the fires of a past range again.")

_LINES = (
    Column("backfill", "backfillId"),
    Column("job", "jobId"),
    Column("status", "status"),
    Column("from", "from"),
    Column("to", "to"),
    Column("total", "total"),
    Column("started", "started"),
    Column("skipped", "skipped"),
    Column("remaining", "remaining"),
)
_COLUMNS = tuple(Column(line.title.upper(), line.value) for line in _LINES)

BackfillId = Annotated[str, typer.Argument(metavar="BACKFILL", help="The id of a backfill.")]


@app.add("create")
def create_backfill(
    context: typer.Context,
    job: JobId,
    *,
    after: Annotated[str, typer.Option("--from", metavar="TIME", help="The beginning, which is part of the range.")],
    before: Annotated[str, typer.Option("--to", metavar="TIME", help="The end, which is not; 6h is 6 hours ago.")],
    graph: Annotated[bool, typer.Option("--graph", help="Run all jobs that depend on it, too.")] = False,
    pace: Annotated[
        int | None, typer.Option(min=0, metavar="SECONDS", help="Between two starts; by default 1.")
    ] = None,
    overlap: Annotated[str | None, typer.Option(metavar="POLICY", help="allow, skip, queueOne or cancelOther.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the fire times.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it until all runs have started.")] = False,
    json: Json = None,
) -> Status:
    """Run the fires that a job's schedule has in a range, beside those that ran then."""
    surroundings = surroundings_of(context)
    body = {
        "from": instant_of(surroundings, after),
        "to": instant_of(surroundings, before),
        **without_nones(graph=graph or None, dryRun=dry_run or None, paceSeconds=pace, overlapPolicy=overlap),
    }
    client = connect(surroundings)
    made = client.request("POST", path_of("jobs", job, "backfills"), body)
    if dry_run:
        _show_instants(surroundings, made, json)
    elif wait:
        return _follow(surroundings, client, made, json)
    else:
        show_one(surroundings, _LINES, made, json)
    return Status.OK


def _show_instants(surroundings: Surroundings, planned: Item, fields: str | None) -> None:
    if fields is not None:
        show_one(surroundings, (), planned, fields)
        return
    show_list(surroundings, (Column("FIRE TIME", "at"),), [{"at": at} for at in planned["instants"]])
    if planned["total"] > len(planned["instants"]):
        surroundings.say(f"These are the first {len(planned['instants'])} of {planned['total']} fire times.")


def _follow(surroundings: Surroundings, client: Timeball, begun: Item, fields: str | None) -> Status:
    path = path_of("jobs", begun["jobId"], "backfills", begun["backfillId"])
    ended = follow(
        surroundings,
        lambda: client.request("GET", path),
        lambda read: read["status"] in {"completed", "cancelled"},
        lambda read: Gauge(read["total"] - read["remaining"], read["total"]),
        f"backfill {begun['backfillId']}",
    )
    show_one(surroundings, _LINES, ended, fields)
    return Status.OK if ended["status"] == "completed" else Status.BAD


@app.add("list")
def list_backfills(context: typer.Context, job: JobId, *, limit: Limit = None, json: Json = None) -> None:
    """List the backfills of a job, the newest first."""
    surroundings = surroundings_of(context)
    show_list(surroundings, _COLUMNS, connect(surroundings).pages(path_of("jobs", job, "backfills")), json, limit)


@app.add("show")
def show_backfill(
    context: typer.Context,
    job: JobId,
    backfill: BackfillId,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it until all runs have started.")] = False,
    json: Json = None,
) -> Status:
    """Show how far a backfill is."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    found = client.request("GET", path_of("jobs", job, "backfills", backfill))
    if wait:
        return _follow(surroundings, client, found, json)
    show_one(surroundings, _LINES, found, json)
    return Status.OK


@app.add("cancel")
def cancel_backfill(
    context: typer.Context, job: JobId, backfill: BackfillId, *, yes: Yes = False, json: Json = None
) -> None:
    """Cancel a backfill: what waits is cancelled, what is under way is asked to stop."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Cancel the backfill {backfill}?", yes=yes)
    show_one(surroundings, _LINES, client.request("DELETE", path_of("jobs", job, "backfills", backfill)), json)
