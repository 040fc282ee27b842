"""Routes, declared at their operations: the path to each operation, and its documentation.

A module of operations has a `Router`; timeball/api/routes.py names them all. The name of an operation, a verb and a
noun, is also its id in the document: `list_jobs` is `listJobs`.

Invariant: `_endpoint` alone refuses what a role may not do, before anything of the request but its size is read.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any

from aws_lambda_powertools.event_handler import Request as Resolved
from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router as PowertoolsRouter
from pydantic import BaseModel

from timeball.api.http.access import Access, check_reach, refusal
from timeball.api.http.body import decoded
from timeball.api.http.caller import ApiCaller
from timeball.api.http.edge import ApiContext, no_tenant
from timeball.api.http.exchange import Reply, Request
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, shortened
from timeball.api.http.request_model import unknown_name
from timeball.api.http.transfer import validated
from timeball.api.pages import addresses_below, console_of
from timeball.domain.model.tenants.key import Role

_ID = "([^/]+)"
"""Any text, which the operation checks: so a wrong id is answered by its resource."""
_TIME = r"((?:[^/:]|:(?=\d))+)"
"""A colon before a letter begins a verb, as in `:rerun`."""
_TIMES = {"cycleId"}
_OF_A_BODY = (Problem.MALFORMED_BODY, Problem.BODY_TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)
_OF_A_KEY = (
    *(Problem.UNAUTHENTICATED, Problem.FORBIDDEN, Problem.TENANT_DISABLED),
    *(Problem.INVALID_REQUEST, Problem.QUOTA_EXCEEDED),
)
_ANYWHERE = (Problem.INTERNAL, Problem.UNAVAILABLE)


Operation = Callable[[ApiContext, Request], Reply]
Declaration = Callable[[Operation], Operation]


@dataclass(frozen=True)
class Route:
    """A method and a path template, the operation that answers, and its documentation."""

    method: str
    """The HTTP method."""
    path: str
    """The path template, such as `/v1/jobs/{jobId}`."""
    operation: Operation
    summary: str
    """One line for the documentation."""
    answer: type[BaseModel] | None
    """The model of the answer; None for the OpenAPI document and its page."""
    status: int = 200
    """The status of a successful answer."""
    body: type[BaseModel] | None = None
    """The model of the body, if there is one."""
    is_body_optional: bool = False
    also: Mapping[int, type[BaseModel]] = field(default_factory=dict)
    """Models of other successful answers, by status."""
    query: tuple[str, ...] = ()
    """Names of query parameters, as openapi/parameters.py describes them."""
    headers: tuple[str, ...] = ()
    """Names of request headers, as openapi/parameters.py describes them."""
    problems: tuple[Problem, ...] = ()
    """Problems that do not follow from the other fields."""
    media_type: str = "application/json"
    keeps_bounds: bool = False
    """Whether the operation itself checks the tags that a key is bounded to (bounds.py)."""
    takes_code: bool = False
    """Whether a caller without a key may use it with a one-time code instead."""
    of: str = ""
    """The owner of the resource, in the operation's id: `listKeys` of a `Tenant` is `listTenantKeys`."""
    access: Access = field(kw_only=True)
    """The roles that may use it; no default, so that no route is open by mistake."""

    @property
    def operation_id(self) -> str:
        """Return the id of the operation in the document: its name in camelCase."""
        verb, *noun = self.operation.__name__.split("_")
        return verb + self.of + "".join(word.capitalize() for word in noun)

    @property
    def is_public(self) -> bool:
        """Return whether the route needs no key."""
        return self.access is Access.PUBLIC

    @property
    def answers(self) -> Mapping[int, type[BaseModel] | None]:
        """Return the models of successful answers, by status."""
        return {self.status: self.answer, **self.also}

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """Return the problems that may be answered."""
        return (
            *(_OF_A_BODY if self.takes_body else ()),
            *((Problem.NOT_FOUND,) if "{" in self.path else ()),
            *self.problems,
            *((Problem.STALE_VERSION,) if "If-Match" in self.headers else ()),
            *(() if self.is_public else _OF_A_KEY),
            *_ANYWHERE,
        )

    @property
    def takes_body(self) -> bool:
        """Return whether a body is read; other methods ignore any body."""
        return self.method in {"PATCH", "POST", "PUT"}

    @cached_property
    def _names(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)

    @cached_property
    def path_pattern(self) -> re.Pattern[str]:
        """Return the pattern of paths of this route."""
        parts = re.split(r"\{(\w+)\}", self.path)
        patterns = [_TIME if name in _TIMES else _ID for name in parts[1::2]]
        literals = map(re.escape, parts[::2])
        return re.compile("".join(chain.from_iterable(zip_longest(literals, patterns, fillvalue=""))))

    def ids_in(self, path: str) -> Mapping[str, str] | None:
        """Return the ids in a path by their names; None if the path is not of this route."""
        match = self.path_pattern.fullmatch(path)
        return None if match is None else dict(zip(self._names, match.groups(), strict=True))

    def refuse_undeclared(self, query: Mapping[str, str]) -> None:
        """Raise ProblemError if there are parameters and the route declares none.

        A route that declares some validates them itself. Public routes accept any: a health check may add a number to
        its URL to bypass caches.
        """
        if query and not (self.query or self.is_public):
            raise invalid(FieldError(shortened(name), unknown_name("parameter", name, ())) for name in query)


class Router:
    """The routes of one resource: `@router.get(path, summary, answer, ...)` declares the operation below it.

    The other arguments are the fields of Route. `included` is the router that the resolver of the API includes.
    """

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self.routes: list[Route] = []
        self.included = PowertoolsRouter()  # type: ignore[no-untyped-call]
        for route in routes:
            self._add(route)

    def get(self, *declared: Any, **also: Any) -> Declaration:  # noqa: ANN401 - Route checks them
        """Declare an operation that reads."""
        return self._declare("GET", *declared, **also)

    def post(self, *declared: Any, **also: Any) -> Declaration:  # noqa: ANN401 - as above
        """Declare an operation that creates, or that its path names."""
        return self._declare("POST", *declared, **also)

    def put(self, *declared: Any, **also: Any) -> Declaration:  # noqa: ANN401 - as above
        """Declare an operation that creates or replaces a resource under an id of the caller."""
        return self._declare("PUT", *declared, **also)

    def patch(self, *declared: Any, **also: Any) -> Declaration:  # noqa: ANN401 - as above
        """Declare an operation that changes some fields of a resource."""
        return self._declare("PATCH", *declared, **also)

    def delete(self, *declared: Any, **also: Any) -> Declaration:  # noqa: ANN401 - as above
        """Declare an operation that deletes or ends a resource."""
        return self._declare("DELETE", *declared, **also)

    def below(self, prefix: str, of: str = "") -> "Router":
        """Return a router with a prefix before its paths; `of` names the owner of its resources."""
        return Router(replace(route, path=prefix + route.path, of=of) for route in self.routes)

    def _declare(
        self,
        method: str,
        path: str,
        summary: str,
        answer: type[BaseModel] | None,
        **also: Any,  # noqa: ANN401 - as above
    ) -> Declaration:
        def declare(operation: Operation) -> Operation:
            self._add(Route(method, path, operation, summary, answer, **also))
            return operation

        return declare

    def _add(self, route: Route) -> None:
        self.routes.append(route)
        self.included.route(rf"{route.path_pattern.pattern}\Z", route.method)(_endpoint(route))


def _endpoint(route: Route) -> Callable[[Resolved], Response[str]]:
    """Return the function that answers a request which the resolver has matched to a route."""

    def answer(resolved: Resolved) -> Response[str]:
        edge: ApiContext = resolved.context["edge"]
        caller: ApiCaller = resolved.context["caller"]
        event, path = resolved.resolved_event, route.ids_in(resolved.resolved_event.path) or {}
        body = b""
        if route.takes_body:  # a body that is too large costs no read of the store
            body = decoded(event.body or "", is_base64=bool(event.is_base64_encoded))
        _check_access(route, edge, caller, path)
        route.refuse_undeclared(event.query_string_parameters)
        request = Request(
            tenant=caller.tenant,
            by=caller.actor,
            headers={name.lower(): value for name, value in event.headers.items()},
            path=path,
            route=route.path,
            base=event.raw_event["rawPath"].removesuffix(event.path),
            parameters=route.query,
            query=event.query_string_parameters,
            raw_query=event.raw_event.get("rawQueryString") or "",
            body=body,
            bounds=caller.tags,
            attempt=caller.attempt,
            key_name=caller.key_name,
            quotas=caller.quotas,
            defaults=caller.defaults,
            session=caller.found.get("session"),
        )
        if not (route.keeps_bounds or route.is_public):
            check_reach(edge, request, may_create=route.method == "PUT")
        with addresses_below(console_of(edge.console, request.headers, request.base)):
            reply = route.operation(edge, request)
        if route.method == "GET":
            reply = validated(reply, request.headers.get("if-none-match"))
        return Response(reply.status, reply.media_type, reply.body, dict(reply.headers))

    return answer


def _check_access(route: Route, edge: ApiContext, caller: ApiCaller, path: Mapping[str, str]) -> None:
    """Raise ProblemError if the caller may not use the route, or not for the tenant that the path names."""
    is_operating = caller.tenant == edge.operating_tenant
    if route.takes_code and not caller.tenant:
        return
    refused = refusal(route.access, _role(route, edge, caller), is_operating=is_operating)
    if refused is not None:
        raise ProblemError(Problem.FORBIDDEN, refused)
    if "disabled" in caller.found and route.access not in (Access.PUBLIC, Access.REPORT):
        raise ProblemError(
            Problem.TENANT_DISABLED,
            "Your tenant is disabled: nothing is lost, and nothing starts until this Timeball's operators enable it "
            "again.",
        )
    if not is_operating and path.get("tenant", caller.tenant) != caller.tenant:
        raise no_tenant()


def _role(route: Route, edge: ApiContext, caller: ApiCaller) -> str | None:
    """Return the caller's role; where keys are managed, read it from the key's row.

    The authorizer caches a key for a minute. Without the fresh read, the holder of a revoked key could create another
    key within that minute.
    """
    role = caller.actor.role
    if role != Role.ADMIN or route.access not in (Access.ADMINISTER, Access.ADMINISTER_ALL):
        return role
    key, now = edge.admin.keys.read([caller.actor.key_id or ""])[0], edge.context.clock.now()
    if "session" in caller.found:
        session = edge.admin.sessions.read([caller.found["session"]])[0]
        if session is None or not session.allows_changes(now):
            return None
    return key.role if key is not None and key.is_valid(now) else None
