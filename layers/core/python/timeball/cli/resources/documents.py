"""Commands for resources that are a JSON document under an id of the user's: list, show, set, delete."""

from collections.abc import Sequence
from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_list, show_one, show_row
from timeball.cli.reading import object_in
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, File, Json, Limit, Yes

Name = Annotated[str, typer.Argument(metavar="NAME", help="The id of one, as you gave it.")]


def declare_documents(app: Commands, noun: str, room: str, columns: Sequence[Column], lines: Sequence[Column]) -> None:
    """Declare the four commands of a resource; `room` is the first part of its path."""

    def list_all(context: typer.Context, *, limit: Limit = None, json: Json = None) -> None:
        surroundings = surroundings_of(context)
        show_list(surroundings, columns, connect(surroundings).pages(path_of(room)), json, limit)

    def show(context: typer.Context, name: Name, *, json: Json = None) -> None:
        surroundings = surroundings_of(context)
        show_one(surroundings, lines, connect(surroundings).request("GET", path_of(room, name)), json)

    def put(context: typer.Context, name: Name, file: File, *, json: Json = None) -> None:
        surroundings = surroundings_of(context)
        body = object_in(surroundings, file, "FILE")
        show_row(surroundings, columns, connect(surroundings).request("PUT", path_of(room, name), body), json)

    def delete(context: typer.Context, name: Name, *, yes: Yes = False, json: Json = None) -> None:
        surroundings = surroundings_of(context)
        client = connect(surroundings)
        surroundings.confirm(f"Delete the {noun} {name}?", yes=yes)
        show_row(surroundings, columns, client.request("DELETE", path_of(room, name)), json)

    for verb, command, about in (
        ("list", list_all, f"List the {room}."),
        ("show", show, f"Show a {noun}."),
        ("set", put, f"Create a {noun}, or replace all of it. The same again changes nothing."),
        ("delete", delete, f"Delete a {noun} that no open job names."),
    ):
        command.__doc__ = about
        app.add(verb)(command)
