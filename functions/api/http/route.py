"""A route: the way in to one operation, and what is said of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, zip_longest

from pydantic import BaseModel

from functions.api.http.access import Access
from functions.api.http.edge import Edge
from functions.api.http.problems import FieldError, Problem, invalid, shortened
from functions.api.http.reply import Reply
from functions.api.http.request import Request
from functions.api.http.sentences import unknown_name

_ID = "([A-Za-z0-9_.-]+)"
_TIME = r"((?:[A-Za-z0-9_.%+-]|:(?=\d))+)"
"""A colon before a letter begins a verb, as in `:rerun`."""
_TIMES = {"fireTime"}
_KEY = "([A-Za-z0-9_.%:-]+)"
_KEYS = {"key"}
_OF_A_BODY = (Problem.MALFORMED_BODY, Problem.BODY_TOO_LARGE, Problem.UNSUPPORTED_MEDIA_TYPE)
_OF_A_KEY = (
    *(Problem.UNAUTHENTICATED, Problem.FORBIDDEN, Problem.TENANT_DISABLED),
    *(Problem.INVALID_REQUEST, Problem.QUOTA_EXCEEDED),
)
_ANYWHERE = (Problem.INTERNAL, Problem.UNAVAILABLE)


@dataclass(frozen=True)
class Route:
    """A method and a path template, what answers it, and what the documentation says of it.

    `access` says who may; it has no default, so that no route is open by mistake. One that `keeps_bounds` keeps to the
    tags that a key is bounded to by itself (bounds.py). `query` and `headers` name parameters that
    openapi/parameters.py describes. `also` are answers of another status. `problems` are those that do not follow from
    the rest. `answer` None: the OpenAPI document, or the page of it.
    """

    method: str
    path: str
    operation: Callable[[Edge, Request], Reply]
    summary: str
    answer: type[BaseModel] | None
    status: int = 200
    body: type[BaseModel] | None = None
    is_body_optional: bool = False
    also: Mapping[int, type[BaseModel]] = field(default_factory=dict)
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    media_type: str = "application/json"
    keeps_bounds: bool = False
    access: Access = field(kw_only=True)

    @property
    def is_public(self) -> bool:
        """Whether it needs no key."""
        return self.access is Access.PUBLIC

    @property
    def answers(self) -> Mapping[int, type[BaseModel] | None]:
        """What is answered where nothing is wrong, by status."""
        return {self.status: self.answer, **self.also}

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """What may be answered where something is wrong."""
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
        """Whether a body is read at all; elsewhere it is left alone, whatever it is."""
        return self.method in {"PATCH", "POST", "PUT"}

    @cached_property
    def path_pattern(self) -> re.Pattern[str]:
        """What a path of this route looks like, with ids and times of the characters that they have."""
        parts = re.split(r"\{(\w+)\}", self.path)
        patterns = [_TIME if name in _TIMES else _KEY if name in _KEYS else _ID for name in parts[1::2]]
        literals = map(re.escape, parts[::2])
        return re.compile("".join(chain.from_iterable(zip_longest(literals, patterns, fillvalue=""))))

    def ids_in(self, path: str) -> Mapping[str, str] | None:
        """Return the ids in a path by their names, or None if it does not lead here."""
        match = self.path_pattern.fullmatch(path)
        names = re.findall(r"\{(\w+)\}", self.path)
        return None if match is None else dict(zip(names, match.groups(), strict=True))

    def refuse_undeclared(self, query: Mapping[str, str]) -> None:
        """Raise ProblemError if parameters are given and none are declared; who declares some validates them together.

        Public routes take any: who watches a page's health may add a number to its address, to pass by caches.
        """
        if query and not (self.query or self.is_public):
            raise invalid(FieldError(shortened(name), unknown_name("parameter", name, ())) for name in query)
