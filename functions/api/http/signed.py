"""Requests that AWS callers have signed (SigV4): by a route of their own, on which API Gateway checks that.

Invariant: only what API Gateway says of the caller counts, under `authorizer.iam`, and no header.
"""

from collections.abc import Mapping
from typing import Any, Final

from timeball.domain.model.tenants.iam_caller import IamCaller, principal_of

PREFIX: Final = "/iam"
"""What the paths of that route begin with; the rest is the path of the API."""


def known_by_signature(event: Mapping[str, Any], callers: Mapping[str, IamCaller]) -> Mapping[str, Any]:
    """Return an event as if the authorizer had said whom its caller is mapped to; any other event as it is."""
    context = event["requestContext"]
    signed = (context.get("authorizer") or {}).get("iam")
    if signed is None:
        return event
    principal = principal_of(signed.get("userArn") or "") or "?"
    caller, told = callers.get(principal), {"principal": principal}
    if caller is not None:
        told |= {"tenant": caller.tenant, "role": caller.role.value, "keyId": f"iam/{principal}"}
    path = event["rawPath"].removeprefix(PREFIX)
    http = {**context["http"], "path": path}
    return {**event, "rawPath": path, "requestContext": {**context, "http": http, "authorizer": {"lambda": told}}}
