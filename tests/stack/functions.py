"""Functions of a template by their short names, and those that do what users name."""

from typing import Any

NAMED_BY_USERS = {":rule/Timeball/*": "rules", ":secret:timeball/*": "secrets"}
"""What a wildcard stands for: users, or their jobs, give these names."""


def short_name(resource: Any) -> str:
    """Name a resource by the construct that made it: `Jobs`, `Jobs/index/due`, `Watch`, `apilog`."""
    if "Fn::Join" in resource:
        if (named := NAMED_BY_USERS.get(resource["Fn::Join"][1][-1])) is not None:
            return named
        if resource["Fn::Join"][1][-1].startswith(":function:Timeball-"):
            return str(resource["Fn::Join"][1][-1].removeprefix(":function:Timeball-"))
        reference, suffix = resource["Fn::Join"][1]
        return short_name(reference) + str(suffix)
    logical_id = resource["Fn::GetAtt"][0][:-8]  # without the digest that the CDK appends
    for group in ("Storage", "Queues", "Admin", "Api", "Scan", "Executors", "Look", "Received"):
        logical_id = logical_id.removeprefix(group)
    return str(logical_id)
