"""A route: the way in to one operation, and what is said of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel

from .edge import Edge
from .problems import Problem
from .requests import Reply, Request


@dataclass(frozen=True)
class Route:
    """A method and a path template, what answers it, and what the documentation says of it.

    A public route needs no API key. `query` and `headers` name parameters that openapi.py describes. `also` are answers
    of another status. `problems` are those beyond the ones that any route may answer. `answer` None: the OpenAPI
    document.
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
    alias_of: str | None = None
    is_public: bool = False

    @property
    def answers(self) -> Mapping[int, type[BaseModel] | None]:
        """What is answered where nothing is wrong, by status."""
        return {self.status: self.answer, **self.also}

    @property
    def takes_body(self) -> bool:
        """Whether a body is read at all; elsewhere it is left alone, whatever it is."""
        return self.method in {"PATCH", "POST"}

    @cached_property
    def path_pattern(self) -> re.Pattern[str]:
        """What a path of this route looks like, with ids of the characters that ids have."""
        literals = re.split(r"\{\w+\}", self.path)
        return re.compile("[A-Za-z0-9_.-]+".join(map(re.escape, literals)))
