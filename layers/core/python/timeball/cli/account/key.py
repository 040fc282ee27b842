"""`timeball key`: API keys, of your tenant or with --tenant of another."""

from typing import Annotated, Any

import typer

from timeball.cli.connection import connect, path_of
from timeball.cli.output import Column, show_list, show_one, show_row
from timeball.cli.reading import tags_of, without_nones
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json, Limit, Yes

app = Commands("List, make, rotate and revoke API keys.")

_COLUMNS = (
    Column("KEY", "keyId"),
    Column("NAME", "name"),
    Column("ROLE", "role"),
    Column("TAGS", "tags"),
    Column("EXPIRES", "expiresAt"),
    Column("REVOKED", "revokedAt"),
)
_NEW = (Column("keyId", "keyId"), Column("role", "role"), Column("expires", "expiresAt"), Column("key", "key"))

Tenant = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="By default your own.")]
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The id of a key, key_….")]
Role = Annotated[str | None, typer.Option(help="viewer, submitter, operator, admin or worker.")]
Name = Annotated[str | None, typer.Option(help="A label for people.")]
Bounds = Annotated[
    list[str] | None, typer.Option("--tag", metavar="KEY:VALUE", help="It sees only jobs with this tag; repeat it.")
]
Expires = Annotated[str | None, typer.Option("--expires", metavar="TIME", help="Its end; by default never.")]


def _path(tenant: str | None, *parts: str) -> str:
    return path_of("admin", *(() if tenant is None else ("tenants", tenant)), "keys", *parts)


@app.add("list")
def list_keys(context: typer.Context, *, tenant: Tenant = None, limit: Limit = None, json: Json = None) -> None:
    """List the keys, without themselves."""
    surroundings = surroundings_of(context)
    show_list(surroundings, _COLUMNS, connect(surroundings).pages(_path(tenant)), json, limit)


@app.add("show")
def show_key(context: typer.Context, key: KeyId, *, tenant: Tenant = None, json: Json = None) -> None:
    """Show a key, without itself."""
    surroundings = surroundings_of(context)
    show_row(surroundings, _COLUMNS, connect(surroundings).request("GET", _path(tenant, key)), json)


@app.add("create")
def create_key(
    context: typer.Context,
    *,
    role: Annotated[str, typer.Option(help="viewer, submitter, operator, admin or worker.")],
    name: Name = None,
    tag: Bounds = None,
    expires: Expires = None,
    tenant: Tenant = None,
    json: Json = None,
) -> None:
    """Make a key. It is printed here, and never again."""
    surroundings = surroundings_of(context)
    body = {"role": role, **without_nones(name=name, tags=tags_of(tag) or None, expiresAt=expires)}
    _show_new(surroundings, connect(surroundings).request("POST", _path(tenant), body), json)


@app.add("set")
def set_key(
    context: typer.Context,
    key: KeyId,
    *,
    role: Role = None,
    name: Name = None,
    tag: Bounds = None,
    expires: Expires = None,
    tenant: Tenant = None,
    json: Json = None,
) -> None:
    """Change the role, the name, the tags or the end of a key; it holds within 60 seconds."""
    surroundings = surroundings_of(context)
    patch = without_nones(role=role, name=name, tags=tags_of(tag) or None, expiresAt=expires)
    show_row(surroundings, _COLUMNS, connect(surroundings).request("PATCH", _path(tenant, key), patch), json)


@app.add("rotate")
def rotate_key(
    context: typer.Context,
    key: KeyId,
    *,
    overlap: Annotated[
        int | None,
        typer.Option(min=0, metavar="SECONDS", help="The old key stays valid for so long; by default a day."),
    ] = None,
    tenant: Tenant = None,
    json: Json = None,
) -> None:
    """Make a key in place of another. It is printed here, and never again."""
    surroundings = surroundings_of(context)
    body = without_nones(overlapSeconds=overlap)
    _show_new(surroundings, connect(surroundings).request("POST", _path(tenant, key, "rotate"), body), json)


@app.add("delete")
def delete_key(
    context: typer.Context, key: KeyId, *, tenant: Tenant = None, yes: Yes = False, json: Json = None
) -> None:
    """Revoke a key for good, within 60 seconds."""
    surroundings = surroundings_of(context)
    client = connect(surroundings)
    surroundings.confirm(f"Revoke the key {key} for good?", yes=yes)
    show_row(surroundings, _COLUMNS, client.request("DELETE", _path(tenant, key)), json)


def _show_new(surroundings: Surroundings, made: dict[str, Any], fields: str | None) -> None:
    show_one(surroundings, _NEW, made, fields)
    surroundings.say("Keep the key now: no later answer shows it.")
