"""A stand-in for the command `aws`, which is not installed here: `python aws_cli.py sqs get-queue-attributes --…`.

It knows what the documents use: one operation or one waiter, parameters by the names of botocore's models, `--query`
and `--output text`. It has no paginators.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
import jmespath
from botocore import xform_name
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape


class UnknownCommandError(ValueError):
    """A command that AWS's command line does not have."""


@dataclass(frozen=True)
class Command:
    """A command that was parsed: what it calls, and what it prints of the answer."""

    service: str
    operation: str
    """The name of the operation as a method of a client of boto3."""
    parameters: Mapping[str, Any]
    query: str | None
    waiter: str = ""
    """The waiter that waits for the operation's answer; empty: the command does not wait."""


def parse(words: Sequence[str]) -> Command:
    """Parse the words after `aws`. Raises UnknownCommandError."""
    service, operation, *rest = words
    model, waiter = _model(service), ""
    if operation == "wait":
        waiter, *rest = rest
        operation = _waited_for(service, waiter)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    if operation not in names:
        raise UnknownCommandError(f"{service} has no operation {operation}")
    shape = model.operation_model(names[operation]).input_shape
    members = {} if shape is None else {xform_name(name, "-"): (name, one) for name, one in shape.members.items()}
    given: dict[str, Any] = {}
    query = None
    options = list(rest)
    while options:
        option = options.pop(0).removeprefix("--")
        values: list[str] = []
        while options and not options[0].startswith("--"):
            values.append(options.pop(0))
        if option == "query":
            (query,) = values
        elif option != "output":
            name, one, values = _member(members, option, values)
            given[name] = _value(one, values)
    return Command(service, xform_name(names[operation]), given, query, xform_name(waiter.replace("-", "_")))


def _model(service: str) -> ServiceModel:
    try:
        return ServiceModel(Loader().load_service_model(service, "service-2"), service)
    except Exception as error:
        raise UnknownCommandError(f"there is no service {service}") from error


def _waited_for(service: str, waiter: str) -> str:
    """Return the operation that a waiter repeats."""
    for name, body in Loader().load_service_model(service, "waiters-2")["waiters"].items():
        if xform_name(name, "-") == waiter:
            return xform_name(body["operation"], "-")
    raise UnknownCommandError(f"{service} has no waiter {waiter}")


def _member(members: Mapping[str, tuple[str, Shape]], option: str, values: list[str]) -> tuple[str, Shape, list[str]]:
    """Return the parameter of an option; `--no-x` and `--x` without a value are booleans."""
    for name, text in ((option, "true"), (option.removeprefix("no-"), "false")):
        if name in members:
            member, shape = members[name]
            return member, shape, values or [text]
    raise UnknownCommandError(f"--{option} is no parameter")


def _value(shape: Shape, values: Sequence[str]) -> Any:
    match shape.type_name:
        case "list":
            return [*values]
        case "integer" | "long":
            return int(values[0])
        case "boolean":
            return values[0] == "true"
        case "structure" | "map" if values[0].startswith("{"):
            return json.loads(values[0])
        case "structure" | "map":
            parts = dict(part.split("=", 1) for part in values[0].split(","))
            members = getattr(shape, "members", {})
            return {name: _value(members[name], [text]) if name in members else text for name, text in parts.items()}
    return values[0]


def _lines(found: Any) -> list[str]:
    """Return an answer as `--output text` prints it, about."""
    if isinstance(found, list):
        if found and all(isinstance(one, list) for one in found):
            return ["\t".join(map(str, one)) for one in found]
        return ["\t".join(map(str, found))]
    return [*map(str, found.values())] if isinstance(found, dict) else [str(found)]


if __name__ == "__main__":
    wanted = parse(sys.argv[1:])
    client: Any = boto3.client(wanted.service)  # type: ignore[call-overload]
    if wanted.waiter:
        client.get_waiter(wanted.waiter).wait(**wanted.parameters)
        sys.exit()
    answer = getattr(client, wanted.operation)(**wanted.parameters)
    sys.stdout.write("\n".join(_lines(jmespath.search(wanted.query, answer) if wanted.query else answer)) + "\n")
