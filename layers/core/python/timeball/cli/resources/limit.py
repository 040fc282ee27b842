"""`timeball limit`: bounds that jobs share by a name. The API lists no limits: jobs make them by naming one."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_list, show_one, title
from timeball.cli.reading import without_nones
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json

app = Commands("Show and set the limits that jobs share by a name.")

_LINES = (
    Column("limit", "name"),
    Column("runs at once", "limit"),
    Column("calls a second", "perSecond"),
    Column("burst", "burst"),
    Column("set by hand", lambda limit: without_nones(**limit["fixed"])),
    Column("held by", lambda limit: len(limit["holders"])),
    Column("waiting", lambda limit: len(limit["waiters"])),
    Column("version", "version"),
)
_HOLDERS = (
    Column("RUN", "runId"),
    Column("JOB", "jobId"),
    Column("STATUS", lambda run: run.get("status") or "waiting"),
    Column("SINCE", "claimedAt"),
    Column("WAITS FOR", "waitsFor"),
)

Name = Annotated[str, typer.Argument(metavar="LIMIT", help="The name of a limit, as jobs name it.")]


@app.add("show")
def show_limit(context: typer.Context, name: Name, *, json: Json = None) -> None:
    """Show a limit, the runs that hold its slots, and the runs that wait."""
    surroundings = surroundings_of(context)
    limit = connect(surroundings).request("GET", path_of("limits", name))
    show_one(surroundings, _LINES, limit, json)
    if json is None and surroundings.is_terminal and (limit["holders"] or limit["waiters"]):
        title(surroundings, "Runs")
        show_list(surroundings, _HOLDERS, [*limit["holders"], *limit["waiters"]])


@app.add("set")
def set_limit(
    context: typer.Context,
    name: Name,
    *,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Runs at once; 0: none begins.")] = None,
    per_second: Annotated[float | None, typer.Option(help="Calls a second.")] = None,
    burst: Annotated[int | None, typer.Option(min=1, help="Calls at once.")] = None,
    json: Json = None,
) -> None:
    """Set the bounds of a limit over those of its jobs; what is left out follows the jobs again."""
    surroundings = surroundings_of(context)
    body = without_nones(limit=limit, perSecond=per_second, burst=burst)
    show_one(surroundings, _LINES, connect(surroundings).request("PUT", path_of("limits", name), body), json)
