"""Routes, declared at their operations: the path to each operation, and its documentation.

A module of operations has a `Router`; timeball/api/routes.py includes them all. The name of an operation, a verb and a
noun, is also its id in the document: `list_jobs` is `listJobs`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any

from pydantic import BaseModel

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.problems import FieldError, Problem, invalid, shortened
from timeball.api.http.reply import Reply
from timeball.api.http.request import Request
from timeball.api.http.sentences import unknown_name

_ID = "([A-Za-z0-9_.-]+)"
_TIME = r"((?:[A-Za-z0-9_.%+-]|:(?=\d))+)"
"""A colon before a letter begins a verb, as in `:rerun`."""
_TIMES = {"fireTime"}
_LIMIT_NAME = "([A-Za-z0-9_.%:-]+)"
_LIMITS = "/v1/limits/{name}"
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
    of: str = ""
    """Whose resource it is, in the operation's id: `listKeys` of a `Tenant` is `listTenantKeys`."""
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
    def path_pattern(self) -> re.Pattern[str]:
        """Return the pattern of paths of this route, with the characters that ids and times may have."""
        parts = re.split(r"\{(\w+)\}", self.path)
        patterns = [_TIME if name in _TIMES else _LIMIT_NAME if self.path == _LIMITS else _ID for name in parts[1::2]]
        literals = map(re.escape, parts[::2])
        return re.compile("".join(chain.from_iterable(zip_longest(literals, patterns, fillvalue=""))))

    def ids_in(self, path: str) -> Mapping[str, str] | None:
        """Return the ids in a path by their names; None if the path is not of this route."""
        match = self.path_pattern.fullmatch(path)
        names = re.findall(r"\{(\w+)\}", self.path)
        return None if match is None else dict(zip(names, match.groups(), strict=True))

    def refuse_undeclared(self, query: Mapping[str, str]) -> None:
        """Raise ProblemError if there are parameters and the route declares none.

        A route that declares some validates them itself. Public routes accept any: a health check may add a number to
        its URL to bypass caches.
        """
        if query and not (self.query or self.is_public):
            raise invalid(FieldError(shortened(name), unknown_name("parameter", name, ())) for name in query)


class Router:
    """The routes of one resource: `@router.get(path, summary, answer, ...)` declares the operation below it.

    The other arguments are the fields of Route.
    """

    def __init__(self) -> None:
        self.routes: list[Route] = []

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

    def below(self, prefix: str, of: str = "") -> list[Route]:
        """Return the routes with a prefix before their paths; `of` names the owner of their resources."""
        return [replace(route, path=prefix + route.path, of=of) for route in self.routes]

    def _declare(
        self,
        method: str,
        path: str,
        summary: str,
        answer: type[BaseModel] | None,
        **also: Any,  # noqa: ANN401 - as above
    ) -> Declaration:
        def declare(operation: Operation) -> Operation:
            self.routes.append(Route(method, path, operation, summary, answer, **also))
            return operation

        return declare
