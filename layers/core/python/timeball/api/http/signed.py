"""Requests that AWS callers have signed (SigV4); API Gateway verifies them on a path prefix of their own.

Invariant: only API Gateway's own statement about the caller counts, under `authorizer.iam`, and no header.
"""

from collections.abc import Mapping
from typing import Any, Final

from timeball.domain.model.tenants.actor import IamCaller, principal_of

PREFIX: Final = "/iam"
"""The prefix of the paths for signed requests; the rest is the path of the API."""


def known_by_signature(event: Mapping[str, Any], callers: Mapping[str, IamCaller]) -> Mapping[str, Any]:
    """Return a signed event as if the authorizer had mapped its caller to a tenant; return other events unchanged."""
    context = event["requestContext"]
    signed = (context.get("authorizer") or {}).get("iam")
    if signed is None:
        return event
    principal = principal_of(signed.get("userArn") or "") or "?"
    caller, identity = callers.get(principal), {"principal": principal}
    if caller is not None:
        identity |= {"tenant": caller.tenant, "role": caller.role.value, "keyId": f"iam/{principal}"}
    path = event["rawPath"].removeprefix(PREFIX)
    http = {**context["http"], "path": path}
    return {**event, "rawPath": path, "requestContext": {**context, "http": http, "authorizer": {"lambda": identity}}}
