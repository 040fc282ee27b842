"""`timeball whoami`: the key, its role, its tenant and its limits."""

from collections.abc import Mapping
from typing import Any

import typer

from timeball.cli.connection import connect
from timeball.cli.output import Column, show_one
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json

app = Commands("Show the key, its role, its tenant and its limits.")

_LINES = (
    Column("key", "keyId"),
    Column("name", "name"),
    Column("role", "role"),
    Column("tenant", "tenant"),
    Column("tags", "tags"),
    Column("expires", "expiresAt"),
    Column("limits", lambda me: [f"{name} {value}" for name, value in me["limits"].items() if value is not None]),
)


@app.add()
def whoami(context: typer.Context, *, json: Json = None) -> None:
    """Show the key, its role, its tenant and its limits."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    show_caller(surroundings, client.request("GET", "/v1/me"), json, client.url)


def show_caller(surroundings: Surroundings, me: Mapping[str, Any], fields: str | None, url: str | None = None) -> None:
    """Print what the API knows of the caller."""
    show_one(surroundings, (*(() if url is None else (Column("url", lambda _: url),)), *_LINES), me, fields)
