"""The HTTP edge: turn an API Gateway event into an answer that the API documents, whatever happens.

Invariants: a request without a tenant is answered only if its path is in PUBLIC_PATHS, whether the path exists or not,
or its method and path are in TAKE_CODES and it has no Authorization header. `_deny_by_default` alone decides this,
before any route runs; http/route.py refuses what a role may not do.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext

from timeball.api.http.caller import as_authorized, caller_of, denial
from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import CONTENT_TYPE, Problem, ProblemError, not_found, problem_body
from timeball.api.http.transfer import compressed
from timeball.api.routes import PUBLIC_PATHS, ROUTERS, TAKE_CODES, methods_of, reported_run
from timeball.domain.usage.hours import UNKNOWN_TENANT
from timeball.engine.metrics import answered, refused
from timeball.ports.errors import ContendedError, UnavailableError

log = logging.getLogger(__name__)

Handler = Callable[[Mapping[str, Any], LambdaContext], dict[str, Any]]


class _Resolver(APIGatewayHttpResolver):
    """A resolver that keeps a request, and its caller, in the thread that answers it.

    Powertools keeps the request in a class, for all threads of a process. Lambda answers one request at a time; a
    server with threads would take the caller of one request for that of another.
    """

    def __init__(self) -> None:
        self._of_thread = threading.local()
        super().__init__()

    @property
    def context(self) -> dict[str, Any]:
        """Facts about the request, which its middlewares and its operation share."""
        return self._of_thread.context  # type: ignore[no-any-return]

    @context.setter
    def context(self, context: dict[str, Any]) -> None:
        self._of_thread.context = context

    @property
    def current_event(self) -> BaseProxyEvent:  # type: ignore[override]
        """The request."""
        return self._of_thread.event  # type: ignore[no-any-return]

    def _to_proxy_event(self, event: dict[str, Any]) -> BaseProxyEvent:
        self._of_thread.event = read = super()._to_proxy_event(event)
        return read


def build_api(edge: ApiContext) -> Handler:
    """Return the function's handler for an edge."""
    resolver = _Resolver()
    resolver.use([_identify, _deny_by_default])
    for router in ROUTERS:
        resolver.include_router(router.included)
    resolver.exception_handler(Exception)(partial(_refusal, resolver))

    def handle(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        event = as_authorized(event, edge.iam_callers)
        resolver.context = {"edge": edge}
        answer = resolver.resolve(dict(event), context)
        answer["headers"] |= {"X-Request-Id": event["requestContext"]["requestId"], "Cache-Control": "no-store"}
        return compressed(answer, event["headers"].get("accept-encoding"))

    return handle


def _identify(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Find the caller of a request, and count the request for its tenant's costs once it is answered."""
    edge, event = app.context["edge"], app.current_event
    begun_at = edge.context.clock.now()
    caller = caller_of(edge, event, reported_run)
    app.context["caller"] = caller
    try:
        return next_middleware(app)
    finally:
        if caller.tenant:
            answered(edge.context, caller.tenant, edge.context.clock.now() - begun_at)


def _deny_by_default(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Refuse every request without a tenant, and count requests with invalid keys."""
    edge, caller, event = app.context["edge"], app.context["caller"], app.current_event
    is_unnamed = not caller.found and "authorization" not in event.headers
    may_send_code = is_unnamed and (event.http_method, event.path) in TAKE_CODES
    if event.path in PUBLIC_PATHS or caller.tenant or may_send_code:
        return next_middleware(app)
    if why := caller.found.get("refused"):
        refused(edge.context, caller.found.get("refusedOf") or UNKNOWN_TENANT, why)
    raise denial(caller, event.headers)


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
_INTERNAL = ProblemError(
    Problem.INTERNAL,
    "Timeball failed, not the request; report the failure with the id under `instance`.",
)


def _refusal(resolver: APIGatewayHttpResolver, error: Exception) -> Response[str]:
    """Answer every error, including the resolver's own NotFoundError."""
    request_id = str(resolver.current_event.raw_event["requestContext"]["requestId"])
    caller = resolver.context.get("caller")
    about = {"request_id": request_id, "tenant": caller and caller.tenant}
    match error:
        case ProblemError():
            problem = error
        case NotFoundError():
            problem = _no_route(resolver.current_event.path)
        case ContendedError():
            log.warning("contended: %s", error, extra=about)
            problem = _CONTENDED
        case UnavailableError():
            log.warning("unavailable: %s", error, extra=about)
            problem = _UNAVAILABLE
        case _:
            log.error("unforeseen", exc_info=error, extra=about)
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
