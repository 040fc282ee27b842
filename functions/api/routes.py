"""The one table of routes. The resolver, the OpenAPI document and the tests are made from it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel

from . import operations
from .answers import HealthAnswer, JobAnswer, PreviewAnswer, RunDetailAnswer, RunPageAnswer
from .job_request import JobRequest
from .operations import Edge
from .preview import PreviewRequest, preview_schedule
from .problems import Problem
from .requests import Reply, Request


@dataclass(frozen=True)
class Route:
    """A method and a path template, what answers it, and what the documentation says of it.

    A public route needs no API key. `query` and `headers` name parameters that openapi.py describes.
    `problems` are those beyond the ones that any route may answer. `answer` None: the OpenAPI document.
    """

    method: str
    path: str
    operation: Callable[[Edge, Request], Reply]
    summary: str
    answer: type[BaseModel] | None
    status: int = 200
    body: type[BaseModel] | None = None
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    alias_of: str | None = None
    is_public: bool = False

    @cached_property
    def path_pattern(self) -> re.Pattern[str]:
        """What a path of this route looks like, with ids of the characters that ids have."""
        literals = re.split(r"\{\w+\}", self.path)
        return re.compile("[A-Za-z0-9_.-]+".join(map(re.escape, literals)))


_LIST_RUNS = "/v1/jobs/{jobId}/runs"
_PAGING = ("status", "from", "to", "limit", "cursor")

ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/jobs",
        operations.create_job,
        "Create a job",
        JobAnswer,
        status=201,
        body=JobRequest,
        headers=("Idempotency-Key",),
        problems=(
            Problem.MALFORMED_BODY,
            Problem.INVALID_REQUEST,
            Problem.UNSUPPORTED_MEDIA_TYPE,
            Problem.IDEMPOTENCY_CONFLICT,
        ),
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}",
        operations.read_job,
        "Read a job with its latest run",
        JobAnswer,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "DELETE",
        "/v1/jobs/{jobId}",
        operations.cancel_job,
        "Cancel a job",
        JobAnswer,
        headers=("If-Match",),
        problems=(Problem.INVALID_REQUEST, Problem.NOT_FOUND, Problem.JOB_ENDED, Problem.STALE_VERSION),
    ),
    Route(
        "GET",
        _LIST_RUNS,
        operations.list_runs,
        "List a job's runs, newest first",
        RunPageAnswer,
        query=_PAGING,
        problems=(Problem.INVALID_REQUEST, Problem.NOT_FOUND),
    ),
    Route(
        "GET",
        "/v1/jobs/{jobId}/executions",
        operations.list_runs,
        "List a job's runs, newest first",
        RunPageAnswer,
        query=_PAGING,
        problems=(Problem.INVALID_REQUEST, Problem.NOT_FOUND),
        alias_of=_LIST_RUNS,
    ),
    Route(
        "GET",
        "/v1/runs/{runId}",
        operations.read_run,
        "Read a run with every attempt",
        RunDetailAnswer,
        problems=(Problem.NOT_FOUND,),
    ),
    Route(
        "POST",
        "/v1/schedules:preview",
        preview_schedule,
        "Show the next fire times of a schedule; nothing is stored",
        PreviewAnswer,
        body=PreviewRequest,
        problems=(Problem.MALFORMED_BODY, Problem.INVALID_REQUEST, Problem.UNSUPPORTED_MEDIA_TYPE),
    ),
    Route("GET", "/healthz", operations.healthz, "Say that the API is up", HealthAnswer, is_public=True),
    Route("GET", "/openapi.json", operations.openapi, "Describe the API", None, is_public=True),
)

PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.is_public)
"""All that is answered without an API key; none of these has a parameter."""


def methods_of(path: str) -> list[str]:
    """List the methods that a path knows; none if there is no such path."""
    return sorted(route.method for route in ROUTES if route.path_pattern.fullmatch(path))
