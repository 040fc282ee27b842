"""`timeball event`: send an event to the jobs whose patterns match it."""

from typing import Annotated

import typer

from timeball.cli.connection import connect
from timeball.cli.output import Column, show_list, show_row
from timeball.cli.reading import json_in, json_of, without_nones
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json

app = Commands("Send an event to the jobs whose patterns match it.")

_COLUMNS = (
    Column("EVENT", "eventId"),
    Column("SOURCE", "source"),
    Column("TYPE", "type"),
    Column("ACCEPTED", "acceptedAt"),
)


@app.callback()
def _group() -> None:
    """Send an event to the jobs whose patterns match it."""


@app.add("send")
def send_event(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="One event as JSON, or an array of up to 100.")
    ] = None,
    *,
    source: Annotated[str | None, typer.Option(help="Where the event comes from, such as shop.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Its type, such as order.placed.")] = None,
    data: Annotated[str | None, typer.Option(metavar="JSON|@FILE", help="What it says.")] = None,
    event_id: Annotated[
        str | None, typer.Option("--id", help="Its id: the same source and id again make no second run.")
    ] = None,
    json: Json = None,
) -> Status:
    """Send an event, from a file or from the options; 1 if one of several was refused."""
    surroundings = surroundings_of(context)
    options = without_nones(source=source, type=kind, id=event_id)
    if data is not None:
        options["data"] = json_of(surroundings, data, "--data")
    if (file is None) == (not options):
        raise CommandError("Give the event as a FILE, or by --source and --type.")
    body = options if file is None else json_in(surroundings, file, "FILE")
    answer = connect(surroundings).request("POST", "/v1/events", body)
    if "items" not in answer:
        show_row(surroundings, _COLUMNS, answer, json)
        return Status.OK
    columns = (
        Column("INDEX", "index"),
        Column("STATUS", "status"),
        Column("EVENT", "event.eventId"),
        Column("PROBLEM", "problem.detail"),
    )
    show_list(surroundings, columns, answer["items"], json)
    return Status.BAD if any(item.get("problem") for item in answer["items"]) else Status.OK
