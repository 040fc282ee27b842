"""`timeball secret`: draw a secret that signs webhooks.

The secret is kept in AWS Secrets Manager, which the API does not write to. So a pipe takes the value from here to the
command of AWS that stores it, and no history of a shell and no list of processes shows it. It needs no AWS library.
"""

import base64
import shlex
from typing import Annotated, Final

import typer

from timeball.cli.output import Column, show_one
from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings, surroundings_of
from timeball.cli.tree import Commands, Json
from timeball.domain.model.tenants.key import SECRET_NAME

app = Commands("Draw a secret that signs webhooks, and say how it is stored.")

_BYTES: Final = 32
_LINES = (Column("secretId", "secretId"), Column("store it by", "store"), Column("show it by", "show"))

Name = Annotated[str, typer.Argument(metavar="NAME", help="The secretId of the targets, such as timeball/acme/orders.")]
Region = Annotated[str | None, typer.Option(help="The region of the deployment, for the command.")]


@app.add("draw")
def draw_secret(context: typer.Context) -> None:
    """Print a new value, for a pipe that stores it.

    `timeball secret create` and `timeball secret rotate` print the whole pipe.
    """
    surroundings = surroundings_of(context)
    value = "whsec_" + base64.b64encode(surroundings.draw(_BYTES)).decode()
    surroundings.stdout.write(
        f"{value}\n" if surroundings.is_terminal else value
    )  # what a pipe stores has no line feed


@app.add("create")
def create_secret(context: typer.Context, name: Name, *, region: Region = None, json: Json = None) -> None:
    """Print the commands that store a first value, and that show it."""
    _show(surroundings_of(context), name, ("create-secret", "--name"), region, json)


@app.add("rotate")
def rotate_secret(context: typer.Context, name: Name, *, region: Region = None, json: Json = None) -> None:
    """Print the commands that store the next value, and that show it.

    Timeball learns of it within five minutes, and signs with both values until the next change: store it, then give it
    to the endpoint.
    """
    _show(surroundings_of(context), name, ("put-secret-value", "--secret-id"), region, json)


def _show(surroundings: Surroundings, name: str, verb: tuple[str, str], region: str | None, fields: str | None) -> None:
    prefix, tenant, *rest = *name.split("/", 2), "", ""
    if not (prefix and tenant and rest[0] and SECRET_NAME.fullmatch(name)):
        raise CommandError(
            "NAME: Name the secret timeball/TENANT/NAME, as the targets do, such as timeball/acme/orders."
        )
    aws, where = ["aws", "secretsmanager"], [] if region is None else ["--region", region]
    store = shlex.join([*aws, *verb, name, "--secret-string", "file:///dev/stdin", *where])
    show = [*aws, "get-secret-value", "--secret-id", name, "--query", "SecretString", "--output", "text", *where]
    commands = {"store": f"timeball secret draw | {store}", "show": shlex.join(show)}
    show_one(surroundings, _LINES, {"secretId": name, **commands}, fields)
