"""`timeball freeze`: times in which matching jobs do not start."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_list, show_one, show_row
from timeball.cli.reading import tags_of, without_nones
from timeball.cli.status import CommandError
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json, Limit, Yes

app = Commands("List, begin and lift freezes: times in which matching jobs do not start.")

_COLUMNS = (
    Column("FREEZE", "freezeId"),
    Column("STATUS", "status"),
    Column("FROM", "from"),
    Column("TO", "to"),
    Column("MATCH", lambda freeze: {name: one for name, one in freeze["match"].items() if one}),
    Column("REASON", "reason"),
)

FreezeId = Annotated[str, typer.Argument(metavar="FREEZE", help="The id of a freeze.")]


@app.add("list")
def list_freezes(
    context: typer.Context,
    *,
    over: Annotated[bool, typer.Option("--over", help="Those that are over, in place of those that are not.")] = False,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List the freezes, the newest first."""
    surroundings = surroundings_of(context)
    query = {"over": True} if over else {}
    show_list(surroundings, _COLUMNS, connect(surroundings).pages("/v1/freezes", query=query), json, limit)


@app.add("show")
def show_freeze(context: typer.Context, freeze: FreezeId, *, json: Json = None) -> None:
    """Show a freeze that is not over."""
    surroundings = surroundings_of(context)
    show_row(surroundings, _COLUMNS, connect(surroundings).request("GET", path_of("freezes", freeze)), json)


@app.add("set")
def begin_freeze(
    context: typer.Context,
    *,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="KEY:VALUE", help="Jobs with this tag; repeat it.")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="Jobs that name this task.")] = None,
    job: Annotated[list[str] | None, typer.Option("--job", metavar="JOB", help="This job; may be repeated.")] = None,
    all_jobs: Annotated[bool, typer.Option("--all", help="All jobs.")] = False,
    after: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Its beginning; by default now.")] = None,
    before: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Its end; by default until it is lifted.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, for all that see it.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only list the fires that it would hold.")] = False,
    json: Json = None,
) -> None:
    """Begin a freeze: no fire of these jobs starts until it ends or is lifted."""
    surroundings = surroundings_of(context)
    match = without_nones(tags=tags_of(tag) or None, taskId=task, jobIds=job or None, all=True if all_jobs else None)
    if not match:
        raise CommandError("Say which jobs: --tag key:value, --task, --job, or --all.")
    body = {"match": match, **without_nones(**{"from": after, "to": before, "reason": reason})}
    client = connect(surroundings)
    if not preview:
        show_row(surroundings, _COLUMNS, client.request("POST", "/v1/freezes", body), json)
        return
    held = client.request("POST", "/v1/freezes:preview", body)
    if json is not None:
        show_one(surroundings, (), held, json)
        return
    show_list(surroundings, (Column("JOB", "jobId"), Column("FIRE TIME", "fireTime")), held["items"])
    surroundings.say(f"It would hold {'' if held['isExact'] else 'at least '}{held['count']} fires.")


@app.add("delete")
def lift_freeze(context: typer.Context, freeze: FreezeId, *, yes: Yes = False, json: Json = None) -> None:
    """Lift a freeze: within 15 seconds its jobs continue."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Lift the freeze {freeze}?", yes=yes)
    show_row(surroundings, _COLUMNS, client.request("DELETE", path_of("freezes", freeze)), json)
