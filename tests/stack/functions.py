"""Functions of a template by their short names, and resources whose names contain names that users choose."""

import re
from typing import Any

NAMED_BY_USERS = {":rule/Timeball/*": "rules", ":secret:timeball/*": "secrets"}
"""The meaning of each wildcard: users, or their jobs, choose these names."""

NAMED_BY_CLOUDFORMATION = re.compile(r":table/Timeball-Storage(Jobs|Tenants)[0-9A-F]{8}-\*")
"""The tables, in the rights of a function that must not wait for them:

CloudFormation appends a suffix to their names.
"""


def short_name(resource: Any) -> str:
    """Return the name of the construct that made a resource: `Jobs`, `Jobs/index/due`, `Watch`, `apilog`."""
    if resource in ("*", {"Ref": "AWS::StackId"}):
        return "account" if resource == "*" else "stack"
    if "Fn::Join" in resource:
        if (named := NAMED_BY_USERS.get(resource["Fn::Join"][1][-1])) is not None:
            return named
        if (table := NAMED_BY_CLOUDFORMATION.fullmatch(resource["Fn::Join"][1][-1])) is not None:
            return table[1]
        if resource["Fn::Join"][1][-1].startswith(":function:Timeball-"):
            return str(resource["Fn::Join"][1][-1].removeprefix(":function:Timeball-"))
        if resource["Fn::Join"][1][-1] == ":parameter/timeball/Timeball/first-key":
            return "first key"
        reference, suffix = resource["Fn::Join"][1]
        return short_name(reference) + str(suffix)
    logical_id = resource["Fn::GetAtt"][0][:-8]  # without the digest that the CDK appends
    for group in (
        "Storage",
        "Queues",
        "Admin",
        "Api",
        "Scan",
        "Executors",
        "Look",
        "Received",
        "Deployment",
        "Console",
    ):
        logical_id = logical_id.removeprefix(group)
    return str(logical_id)
