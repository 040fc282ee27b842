"""`timeball open`: the console, or the page of a job or a run, in a browser."""

import webbrowser
from typing import Annotated, Any

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.status import CommandError, Status
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands
from timeball.client import Timeball

app = Commands("Open the console, or the page of a job or a run.")

_KINDS = {"job": "jobs", "run": "runs"}


@app.add()
def open_page(
    context: typer.Context,
    kind: Annotated[
        str | None, typer.Argument(metavar="[job|run]", help="What to open; by default the console.")
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="The id of the job or the run.")] = None,
    *,
    only_print: Annotated[bool, typer.Option("--print", help="Print the address; open nothing.")] = False,
) -> None:
    """Open the console, logged in, or the page of a job or a run.

    Without arguments the address has a one-time code, which opens the console once and within ten minutes.
    """
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    address = _console(client) if kind is None else _page(client, kind, name)
    if only_print or not (surroundings.launch or webbrowser.open)(address):
        surroundings.stdout.write(f"{address}\n")


def _console(client: Timeball) -> str:
    made: dict[str, Any] = client.request("POST", "/v1/sessions/codes")
    return f"{client.url}/console#s={made['code']}"


def _page(client: Timeball, kind: str, name: str | None) -> str:
    if kind not in _KINDS or not name:
        raise CommandError("Say what to open: `timeball open job ID`, `timeball open run ID`, or `timeball open`.")
    address = client.request("GET", path_of(_KINDS[kind], name))["consoleUrl"]
    if address is None:
        raise CommandError("This deployment has no console.", Status.NOT_FOUND)
    return str(address)
