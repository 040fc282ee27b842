"""The caller of a request: the holder of a key, an AWS caller that has signed, or a target with an attempt's token.

Invariants: of a signed request, only API Gateway's own statement about the signer counts, under `authorizer.iam`, and
no header. A token replaces a key where the target reports on that attempt, and nowhere else.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import Problem, ProblemError, over_quota
from timeball.domain.attempts.callback_token import read_token
from timeball.domain.model.ids import RunId
from timeball.domain.model.tenants.actor import Actor, IamCaller, principal_of
from timeball.domain.model.tenants.key import Role
from timeball.domain.model.tenants.tenant import Defaults, Quotas

PREFIX: Final = "/iam"
"""The prefix of the paths for signed requests, which API Gateway verifies (SigV4); the rest is the path of the API."""

RunOfPath = Callable[[str], str | None]


@dataclass(frozen=True)
class ApiCaller:
    """A caller and what it may use. Without a tenant, only public paths are answered."""

    found: Mapping[str, str]
    """The values of the authorizer by their names; tokens and signatures are identified in the same form."""
    actor: Actor

    @property
    def tenant(self) -> str:
        """Return the tenant; an empty string for a caller that is not known."""
        return self.found.get("tenant", "")

    @property
    def tags(self) -> Mapping[str, str]:
        """Return the tags that the caller is bounded to."""
        tags: Mapping[str, str] = json.loads(self.found.get("tags") or "{}")
        return tags

    @property
    def key_name(self) -> str | None:
        """Return the name of the API key; None for a caller without one."""
        name: str | None = json.loads(self.found.get("keyName") or "null")
        return name

    @property
    def attempt(self) -> int | None:
        """Return the attempt of a token."""
        return int(self.found.get("attempt") or 0) or None

    @property
    def quotas(self) -> Quotas | None:
        """Return the quotas of the tenant; None for a signed request, which carries none."""
        return None if "principal" in self.found else Quotas(**json.loads(self.found.get("quotas") or "{}"))

    @property
    def defaults(self) -> Defaults | None:
        """Return the defaults of the tenant; None if the request does not carry them, such as a signed one."""
        carried = json.loads(self.found.get("defaults") or "{}")
        return None if "principal" in self.found or carried is None else Defaults(**carried)


def as_authorized(event: Mapping[str, Any], callers: Mapping[str, IamCaller]) -> Mapping[str, Any]:
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


def caller_of(edge: ApiContext, event: APIGatewayProxyEventV2, reported_run: RunOfPath) -> ApiCaller:
    """Return the caller of an event. `reported_run` returns the run that a path names if a target reports there."""
    context = event.raw_event["requestContext"]
    authorized = (context.get("authorizer") or {}).get("lambda") or {}
    found = {name: text for name, text in authorized.items() if isinstance(text, str)}
    if "tenant" not in found and (run := reported_run(event.path)):
        found = _found_by_token(edge, event.headers.get("authorization", ""), run) or found
    return ApiCaller(found, Actor(found.get("keyId"), found.get("role"), context.get("http", {}).get("sourceIp")))


def denial(caller: ApiCaller, headers: Mapping[str, str]) -> ProblemError:
    """Return the problem for a caller without a tenant, given the headers that it sent."""
    if principal := caller.found.get("principal"):
        return ProblemError(
            Problem.FORBIDDEN, f"{principal} is mapped to no tenant; see the setting timeball:iam_callers."
        )
    if per_second := caller.found.get("throttled"):
        sentence = (
            f"The keys of your tenant may make {per_second} requests a second; repeat this request a second later."
        )
        return over_quota("requestsPerSecond", sentence, 1)
    has_sent = "authorization" in headers
    challenge = 'Bearer error="invalid_token"' if has_sent else "Bearer"
    return ProblemError(Problem.UNAUTHENTICATED, _unidentified(headers), headers={"WWW-Authenticate": challenge})


def _unidentified(headers: Mapping[str, str]) -> str:
    """Return the sentence for headers that identify no key."""
    authorization = headers.get("authorization")
    if authorization is None and "x-api-key" in headers:
        return "X-Api-Key is not read; send the API key as `Authorization: Bearer tb_...`."
    if authorization is None:
        return "Send an API key: `Authorization: Bearer tb_...`."
    if authorization.partition(" ")[0].lower() == "bearer":
        return "This API key is not valid; check it, or ask for a new one."
    if authorization.strip().startswith("tb_"):
        return "The word Bearer before the API key is missing; send `Authorization: Bearer tb_...`."
    return "Only the scheme Bearer is read; send the API key as `Authorization: Bearer tb_...`."


def check_attempt(request: Request, attempt: int) -> None:
    """Raise ProblemError if a token reports on an attempt that is not its own."""
    if request.attempt not in (None, attempt):
        raise ProblemError(
            Problem.FORBIDDEN, f"This token belongs to attempt {request.attempt}; each attempt reports with its own."
        )


def _found_by_token(edge: ApiContext, authorization: str, reported: str) -> dict[str, str] | None:
    """Return a worker's identity, as the authorizer would, if a header has the token of an attempt of a run."""
    scheme, _, text = authorization.partition(" ")
    token = read_token(text.strip()) if scheme.lower() == "bearer" else None
    if token is None or edge.signing_secrets is None:
        return None
    run = RunId.parse(token.tenant, reported)
    if run is None or not token.is_of(run, edge.signing_secrets()):
        return None
    return {"tenant": token.tenant, "role": Role.WORKER, "attempt": str(token.attempt)}
