"""`timeball tenant`: the tenants of a Timeball, for admins of the operating tenant."""

from typing import Annotated

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_list, show_one, show_row
from timeball.cli.reading import object_in, without_nones
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands, Json, Limit, Yes
from timeball.client.errors import NotFound

app = Commands("List, set and delete tenants; only for admins of the operating tenant.")

_COLUMNS = (
    Column("TENANT", "name"),
    Column("WEIGHT", "weight"),
    Column("DISABLED", "disabled"),
    Column("CREATED", "createdAt"),
)
_LINES = (
    Column("tenant", "name"),
    Column("weight", "weight"),
    Column("share", "share"),
    Column("disabled", "disabledAt"),
    Column("time zone", "defaults.timezone"),
    Column("priority ceiling", "defaults.priorityCeiling"),
    Column(
        "quotas",
        lambda tenant: [
            f"{name} {quota['used'] if quota['used'] is not None else '-'} of {quota['limit']}"
            for name, quota in tenant["quotas"].items()
            if quota["limit"] is not None
        ],
    ),
    Column("$ a month", "cost.month.usd"),
    Column("version", "version"),
)

Name = Annotated[str, typer.Argument(metavar="TENANT", help="The name of a tenant.")]


@app.add("list")
def list_tenants(
    context: typer.Context,
    *,
    health: Annotated[bool, typer.Option("--health", help="What is late, held, throttled and dead.")] = False,
    limit: Limit = None,
    json: Json = None,
) -> None:
    """List the tenants, by name."""
    surroundings = surroundings_of(context)
    counts = (Column("TENANT", "tenant"), *(Column(one.upper(), one) for one in ("late", "held", "throttled", "dead")))
    columns, path = (counts, "/v1/admin/health") if health else (_COLUMNS, "/v1/admin/tenants")
    show_list(surroundings, columns, connect(surroundings).pages(path), json, limit)


@app.add("show")
def show_tenant(context: typer.Context, name: Name, *, json: Json = None) -> None:
    """Show a tenant: its quotas and their use, its defaults, its cost."""
    surroundings = surroundings_of(context)
    show_one(surroundings, _LINES, connect(surroundings).request("GET", path_of("admin", "tenants", name)), json)


@app.add("set")
def set_tenant(
    context: typer.Context,
    name: Name,
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE|-]", help="A JSON merge patch, such as its quotas and defaults.")
    ] = None,
    *,
    weight: Annotated[int | None, typer.Option(min=1, max=100, help="Its share where tenants contend.")] = None,
    disabled: Annotated[
        bool | None, typer.Option("--disable/--enable", help="Start nothing of it; or start it again.")
    ] = None,
    json: Json = None,
) -> None:
    """Change a tenant, or create it."""
    surroundings = surroundings_of(context)
    patch = {} if file is None else object_in(surroundings, file, "FILE")
    patch |= without_nones(weight=weight, disabled=disabled)
    client = connect(surroundings)
    try:
        made = client.request("PATCH", path_of("admin", "tenants", name), patch)
    except NotFound:
        made = client.request("POST", "/v1/admin/tenants", {"name": name, **patch})
    show_row(surroundings, _COLUMNS, made, json)


@app.add("delete")
def delete_tenant(context: typer.Context, name: Name, *, yes: Yes = False, json: Json = None) -> None:
    """Delete a tenant that is disabled."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Delete the tenant {name}?", yes=yes)
    show_row(surroundings, _COLUMNS, client.request("DELETE", path_of("admin", "tenants", name)), json)
