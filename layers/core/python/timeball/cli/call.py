"""`timeball api`: any request of the API, with the key of the profile."""

import json as json_module
from collections.abc import Sequence
from typing import Annotated

import typer

from timeball.cli.connection import connect
from timeball.cli.reading import json_in
from timeball.cli.status import CommandError
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands

app = Commands("Send any request to the API.")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


@app.add()
def call(
    context: typer.Context,
    method: Annotated[str, typer.Argument(metavar="METHOD", help=", ".join(_METHODS) + ".")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="Such as /v1/jobs; with its query, if it has one.")],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="The body as JSON; - is the standard input.")
    ] = None,
    *,
    query: Annotated[
        list[str] | None, typer.Option("--query", metavar="NAME=VALUE", help="A parameter; may be repeated.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME:VALUE", help="A header; may be repeated.")
    ] = None,
    pages: Annotated[bool, typer.Option("--pages", help="The items of all pages, one on each line.")] = False,
) -> None:
    """Send any request to the API, and print its answer as JSON."""
    surroundings = surroundings_of(context)
    if method.upper() not in _METHODS:
        raise CommandError(f"METHOD: Give one of {', '.join(_METHODS)}.")
    if not path.startswith("/"):
        raise CommandError("PATH: Begin the path with a slash, such as /v1/jobs.")
    parameters = _parameters(query or ())
    headers = dict(_pair(text, ":", "--header") for text in header or ())
    body = None if file is None else json_in(surroundings, file, "FILE")
    client = connect(surroundings)
    if pages:
        for item in client.pages(path, query=parameters):
            surroundings.stdout.write(json_module.dumps(item) + "\n")
        return
    answer = client.request(method, path, body, query=parameters, headers=headers)
    if answer is not None:
        text = answer if isinstance(answer, str) else json_module.dumps(answer, indent=2)
        surroundings.stdout.write(text.rstrip("\n") + "\n")


def _parameters(texts: Sequence[str]) -> dict[str, list[str]]:
    parameters: dict[str, list[str]] = {}
    for name, value in (_pair(text, "=", "--query") for text in texts):
        parameters.setdefault(name, []).append(value)
    return parameters


def _pair(text: str, sign: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise CommandError(f"{option}: Write name{sign}value, and not {text!r}.")
    return name.strip(), value.strip()
