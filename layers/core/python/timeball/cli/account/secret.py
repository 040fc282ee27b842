"""`timeball secret`: draw a secret that signs webhooks.

The secret is kept in AWS Secrets Manager, which the API does not write to. So the value is printed with the one command
that stores it, and needs no AWS library here.
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
_LINES = (Column("secretId", "secretId"), Column("value", "value"), Column("store it by", "command"))

Name = Annotated[str, typer.Argument(metavar="NAME", help="The secretId of the targets, such as timeball/acme/orders.")]
Region = Annotated[str | None, typer.Option(help="The region of the deployment, for the command.")]


@app.add("create")
def create_secret(context: typer.Context, name: Name, *, region: Region = None, json: Json = None) -> None:
    """Draw the first value of a secret, and print the command that stores it."""
    verb = ("create-secret", "--name")
    _draw(surroundings_of(context), name, verb, region, json)


@app.add("rotate")
def rotate_secret(context: typer.Context, name: Name, *, region: Region = None, json: Json = None) -> None:
    """Draw the next value of a secret, and print the command that stores it.

    Timeball learns of it within five minutes, and signs with both values until the next change: store it, then give it
    to the endpoint.
    """
    _draw(surroundings_of(context), name, ("put-secret-value", "--secret-id"), region, json)


def _draw(surroundings: Surroundings, name: str, verb: tuple[str, str], region: str | None, fields: str | None) -> None:
    prefix, tenant, *rest = *name.split("/", 2), "", ""
    if not (prefix and tenant and rest[0] and SECRET_NAME.fullmatch(name)):
        raise CommandError(
            "NAME: Name the secret timeball/TENANT/NAME, as the targets do, such as timeball/acme/orders."
        )
    value = "whsec_" + base64.b64encode(surroundings.draw(_BYTES)).decode()
    command = ["aws", "secretsmanager", *verb, name, "--secret-string", value]
    text = shlex.join(command + ([] if region is None else ["--region", region]))
    show_one(surroundings, _LINES, {"secretId": name, "value": value, "command": text}, fields)
