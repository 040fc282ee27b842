"""The HTTP edge: turn an API Gateway event into an answer that the API documents, whatever happens.

Invariants: a request without a tenant is answered only if its path is in PUBLIC_PATHS, whether the path exists or not;
`_deny_by_default` alone decides this, before any route runs. `_check_access` alone refuses what a role may not do,
before anything of the request is read.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.utilities.typing import LambdaContext

from timeball.api.admin.tenants import no_tenant
from timeball.api.http.access import Access, refusal
from timeball.api.http.body import decoded
from timeball.api.http.bounds import check_reach
from timeball.api.http.denied import denied
from timeball.api.http.edge import ApiContext
from timeball.api.http.identity import ID_BYTES
from timeball.api.http.problems import CONTENT_TYPE, Problem, ProblemError, not_found, problem_body
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Route
from timeball.api.http.signed import known_by_signature
from timeball.api.http.token import identity_by_token
from timeball.api.routes import PUBLIC_PATHS, ROUTES, methods_of
from timeball.aws.patience import in_time
from timeball.domain.model.tenants.actor import Actor, parse_callers
from timeball.domain.model.tenants.key import Role
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.usage.bill import parse_prices
from timeball.domain.usage.hours import UNKNOWN_TENANT
from timeball.engine.metrics import answered, refused
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.targets.aws.allowed import parse_arns
from timeball.targets.http.addresses import parse_rules

log = logging.getLogger(__name__)

Handler = Callable[[Mapping[str, Any], LambdaContext], dict[str, Any]]
Middleware = Callable[[APIGatewayHttpResolver, NextMiddleware], Response[Any]]


@in_time
def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request of the HTTP API (payload format 2.0)."""
    from timeball.runtime.wiring import engine_context, flush  # noqa: PLC0415 - AWS only where it is needed

    answer = _api()(event, context)
    flush(engine_context())
    return answer


@cache
def _api() -> Handler:
    """Build the API once per environment, at its first request: an import needs no settings and no AWS."""
    from timeball.runtime.wiring import (  # noqa: PLC0415 - AWS only where it is needed
        engine_context,
        environment,
        event_bus,
        signing_secrets,
        stack_name,
        tenants,
        trials,
    )

    settings, context = environment().settings, engine_context()

    def wait_until(at: int) -> None:
        asyncio.run(context.clock.sleep_until(at))

    fresh = partial(secrets.token_bytes, ID_BYTES)
    return build_api(
        ApiContext(
            context,
            fresh,
            _document,
            _page,
            wait_until,
            parse_rules(settings.private_targets),
            settings.operating_tenant,
            tenants(),
            signing_secrets(context).accepted,
            parse_callers(settings.iam_callers),
            parse_prices(settings.prices),
            settings.execute_memory_mb / 1024,
            bus=event_bus(),
            allowed=parse_arns(settings.targets, stack_name()),
            webhook_secrets=settings.webhook_secrets,
            trials=trials(),
        )
    )


def _document() -> str:
    from timeball.api.openapi.document import document_text  # noqa: PLC0415 - seldom asked for, and slow to import

    return document_text()


def _page() -> str:
    from timeball.api.openapi.page import page_text  # noqa: PLC0415 - seldom asked for

    return page_text()


def build_api(edge: ApiContext) -> Handler:
    """Return the function's handler for an edge."""
    resolver = APIGatewayHttpResolver()
    deny = _deny_by_default(edge)

    def know_or_deny(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
        _know_by_token(app, edge)
        return deny(app, next_middleware)

    resolver.use([know_or_deny])
    for route in ROUTES:
        rule = route.path.replace("{", "<").replace("}", ">")
        resolver.route(rule, route.method)(_endpoint(resolver, route, edge))

    resolver.exception_handler(Exception)(partial(_refusal, resolver))

    def handle(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        begun_at = edge.context.clock.now()
        event = known_by_signature(event, edge.iam_callers)
        answer = resolver.resolve(dict(event), context)
        if tenant := _tenant(resolver):
            answered(edge.context, tenant, edge.context.clock.now() - begun_at)
        request_id = event["requestContext"]["requestId"]
        answer["headers"] |= {"X-Request-Id": request_id, "Cache-Control": "no-store"}
        return answer

    return handle


_UNAVAILABLE = ProblemError(
    Problem.UNAVAILABLE,
    "The store did not answer, so Timeball does not know what was done; repeat the request, with the same "
    "Idempotency-Key if it creates something.",
    headers={"Retry-After": "1"},
)
_CONTENDED = ProblemError(
    Problem.UNAVAILABLE,
    "The job or run changed while the request was processed, so nothing was done. Repeat the request.",
    headers={"Retry-After": "1"},
)
_DISABLED = ProblemError(
    Problem.TENANT_DISABLED,
    "Your tenant is disabled: nothing is lost, and nothing starts until this Timeball's operators enable it again.",
)
_INTERNAL = ProblemError(
    Problem.INTERNAL,
    "Timeball failed, not the request; report the failure with the id under `instance`.",
)


def _deny_by_default(edge: ApiContext) -> Middleware:
    """Return the middleware that refuses every request without a tenant, and counts requests with invalid keys."""

    def deny(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
        if app.current_event.path in PUBLIC_PATHS or _tenant(app):
            return next_middleware(app)
        if why := _authorized(app, "refused"):
            refused(edge.context, _authorized(app, "refusedOf") or UNKNOWN_TENANT, why)
        raise denied(partial(_authorized, app), has_sent="authorization" in app.current_event.headers)

    return deny


def _know_by_token(app: APIGatewayHttpResolver, edge: ApiContext) -> None:
    """Identify a caller that sends an attempt's token, in the form that the authorizer uses for a worker."""
    if not _tenant(app):
        identity = identity_by_token(edge, ROUTES, app.current_event.path, app.current_event.headers)
        if identity is not None:
            app.current_event.raw_event["requestContext"]["authorizer"] = {"lambda": dict(identity)}


def _tenant(app: APIGatewayHttpResolver) -> str:
    """Return the tenant that the authorizer found for the caller's key; an empty string if it found none."""
    return _authorized(app, "tenant") or ""


def _actor(app: APIGatewayHttpResolver) -> Actor:
    """Return the caller, as the authorizer and the gateway identify it."""
    address = app.current_event.raw_event["requestContext"].get("http", {}).get("sourceIp")
    return Actor(_authorized(app, "keyId"), _authorized(app, "role"), address)


def _quotas(app: APIGatewayHttpResolver) -> Quotas | None:
    """Return the quotas of the caller's tenant from the authorizer; None for a signed request, which carries none."""
    if _authorized(app, "principal"):
        return None
    return Quotas(**json.loads(_authorized(app, "quotas") or "{}"))


def _authorized(app: APIGatewayHttpResolver, name: str) -> str | None:
    """Return a value that the authorizer found about the caller's key, by its name; None if it found none."""
    authorizer = app.current_event.raw_event["requestContext"].get("authorizer") or {}
    found = (authorizer.get("lambda") or {}).get(name)
    return found if isinstance(found, str) else None


def _endpoint(resolver: APIGatewayHttpResolver, route: Route, edge: ApiContext) -> Callable[..., Response[str]]:
    def answer(**path: str) -> Response[str]:
        event = resolver.current_event
        if route.method not in (methods_of(event.path) or [route.method]):
            raise NotFoundError  # the resolver reads a verb after an id as a part of the id
        body = (
            _body(event.raw_event) if route.takes_body else b""
        )  # a body that is too large costs no read of the store
        _check_access(resolver, route, edge, path)
        route.refuse_undeclared(event.query_string_parameters)
        request = Request(
            tenant=_tenant(resolver),
            by=_actor(resolver),
            headers={name.lower(): value for name, value in event.headers.items()},
            path=path,
            route=route.path,
            parameters=route.query,
            query=event.query_string_parameters,
            raw_query=event.raw_event.get("rawQueryString") or "",
            body=body,
            bounds=json.loads(_authorized(resolver, "tags") or "{}"),
            attempt=int(_authorized(resolver, "attempt") or 0) or None,
            quotas=_quotas(resolver),
        )
        check_reach(edge, route, request)
        return _response(route.operation(edge, request))

    return answer


def _check_access(resolver: APIGatewayHttpResolver, route: Route, edge: ApiContext, path: Mapping[str, str]) -> None:
    """Raise ProblemError if the caller's key may not use the route, or not for the tenant that the path names."""
    is_operating = _tenant(resolver) == edge.operating_tenant
    refused = refusal(route.access, _role(resolver, route, edge), is_operating=is_operating)
    if refused is not None:
        raise ProblemError(Problem.FORBIDDEN, refused)
    if _authorized(resolver, "disabled") and route.access not in (Access.PUBLIC, Access.REPORT):
        raise _DISABLED
    if not is_operating and path.get("tenant", _tenant(resolver)) != _tenant(resolver):
        raise no_tenant()


def _role(resolver: APIGatewayHttpResolver, route: Route, edge: ApiContext) -> str | None:
    """Return the caller's role; where keys are managed, read it from the key's row.

    The authorizer caches a key for a minute. Without the fresh read, the holder of a revoked key could create another
    key within that minute.
    """
    role = _authorized(resolver, "role")
    if role != Role.ADMIN or route.access not in (Access.ADMINISTER, Access.ADMINISTER_ALL):
        return role
    key = edge.admin.keys.read([_authorized(resolver, "keyId") or ""])[0]
    return key.role if key is not None and key.is_valid(edge.context.clock.now()) else None


def _body(event: Mapping[str, Any]) -> bytes:
    return decoded(event.get("body") or "", is_base64=bool(event.get("isBase64Encoded")))


def _refusal(resolver: APIGatewayHttpResolver, error: Exception) -> Response[str]:
    """Answer every error, including the resolver's own NotFoundError."""
    request_id = str(resolver.current_event.raw_event["requestContext"]["requestId"])
    match error:
        case ProblemError():
            problem = error
        case NotFoundError():
            problem = _no_route(resolver.current_event.path)
        case ContendedError():
            log.warning("contended: %s", error, extra={"request_id": request_id})
            problem = _CONTENDED
        case UnavailableError():
            log.warning("unavailable: %s", error, extra={"request_id": request_id})
            problem = _UNAVAILABLE
        case _:
            log.error("unforeseen", exc_info=error, extra={"request_id": request_id})
            problem = _INTERNAL
    return Response(problem.problem.status, CONTENT_TYPE, problem_body(problem, request_id), dict(problem.headers))


def _no_route(path: str) -> ProblemError:
    methods = methods_of(path)
    if not methods:
        return not_found("There is no such path; /openapi.json describes all paths.")
    return ProblemError(
        Problem.METHOD_NOT_ALLOWED,
        f"Use {' or '.join(methods)} on this path.",
        headers={"Allow": ", ".join(methods)},
    )


def _response(reply: Reply) -> Response[str]:
    return Response(reply.status, reply.media_type, reply.body, dict(reply.headers))
