"""The table of all routes, from the routers of the rooms, and the routes about the API itself.

The resolver, the OpenAPI document and the tests use it.
"""

from typing import Final, Literal

from pydantic import Field

from timeball.api.admin.health import router as health_of_tenants
from timeball.api.admin.keys import router as keys
from timeball.api.admin.operations import router as admin_operations
from timeball.api.admin.sessions import router as sessions
from timeball.api.admin.signing_secret import router as signing_secret
from timeball.api.admin.tenants import router as tenants
from timeball.api.backfills.operations import router as backfills
from timeball.api.calendars.operations import router as calendars
from timeball.api.cycles import router as cycles
from timeball.api.dead_letters.operations import router as dead_letters
from timeball.api.dependencies.graph import router as graphs
from timeball.api.events.publishing import router as events
from timeball.api.freezes import router as freezes
from timeball.api.history import router as history
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, ok
from timeball.api.http.problems import Problem, ProblemError
from timeball.api.http.route import Route, Router
from timeball.api.jobs.batches import router as batches
from timeball.api.jobs.changing import router as changing_jobs
from timeball.api.jobs.creating import router as creating_jobs
from timeball.api.jobs.listing import router as listing_jobs
from timeball.api.jobs.reading import router as reading_jobs
from timeball.api.jobs.removing import router as removing_jobs
from timeball.api.jobs.triggering import router as triggering_jobs
from timeball.api.limits import router as limits
from timeball.api.now import router as now
from timeball.api.operations.operations import router as operations
from timeball.api.runs.callbacks import router as callbacks
from timeball.api.runs.listing import router as runs_of_all
from timeball.api.runs.manual import router as manual
from timeball.api.runs.reading import router as runs
from timeball.api.schedules.preview import router as schedules
from timeball.api.schedules.upcoming import router as upcoming
from timeball.api.stats import router as stats
from timeball.api.targets.trying import router as targets
from timeball.api.tasks.operations import router as tasks
from timeball.engine.objective.health import Ailment, ailment, read_last_tick

service = Router()
"""The routes about the API itself, open to any caller."""

HTML: Final = "text/html; charset=utf-8"
_LINKS: Final = {"docs": "/docs", "openapi": "/openapi.json", "health": "/healthz"}


class RootAnswer(AnswerModel):
    """The way into the API: paths, with the base path of this deployment if it has one."""

    docs: str = Field(description="The documentation for people.")
    openapi: str = Field(description="The OpenAPI document for programs.")
    health: str = Field(description="Whether Timeball is healthy.")


@service.get("/", "Find the documentation", RootAnswer, access=Access.PUBLIC)
def get_root(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Return links to the documentation."""
    links = {name: request.base + path for name, path in _LINKS.items()}
    return ok(RootAnswer.model_validate(links))


class HealthAnswer(AnswerModel):
    """The state of Timeball."""

    status: Literal["ok"] = Field("ok", description="Always `ok`: the ticker ticks, and the store answers.")


_AILMENTS: Final = {
    Ailment.TICKS_MISSING: "The ticker has not ticked for 15 seconds or more, so no job that falls due is started.",
    Ailment.STORE_UNAVAILABLE: "The store does not answer.",
}


@service.get(
    "/healthz",
    "Check that the ticker ticks and the store answers",
    HealthAnswer,
    access=Access.PUBLIC,
    problems=(Problem.UNHEALTHY,),
)
def get_health(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Answer whether Timeball is healthy. Strangers may ask: the answer names no tenant and no resource of AWS."""
    found = ailment(read_last_tick(edge.context), edge.context.clock.now())
    if found is None:
        return ok(HealthAnswer(status="ok"))
    raise ProblemError(Problem.UNHEALTHY, _AILMENTS[found], headers={"Retry-After": "5"}, reason=found.value)


@service.get("/openapi.json", "Read this document", None, access=Access.PUBLIC)
def get_openapi_document(edge: ApiContext, request: Request) -> Reply:
    """Return the OpenAPI document."""
    return Reply(200, edge.describe(request.base or "/"))


@service.get("/docs", "Read this document as a page", None, access=Access.PUBLIC, media_type=HTML)
def get_docs_page(edge: ApiContext, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Return the API's documentation as a page that loads no resource and runs no script."""
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}
    return Reply(200, edge.show(), policy, media_type=HTML)


ROUTERS = (
    *(creating_jobs, batches, changing_jobs, removing_jobs, listing_jobs, reading_jobs, triggering_jobs),
    *(graphs, cycles, events, history),
    *(backfills, runs_of_all, runs, manual, callbacks, dead_letters),
    *(operations, tasks, targets, schedules, upcoming, calendars, freezes, limits, stats, now),
    *(tenants, admin_operations, health_of_tenants, signing_secret, sessions, service),
    *(keys.below("/v1/admin"), keys.below("/v1/admin/tenants/{tenant}", of="Tenant")),
)

ROUTES: tuple[Route, ...] = tuple(route for router in ROUTERS for route in router.routes)

PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.is_public)
"""The paths that are answered without an API key; none of them has a parameter."""

TAKE_CODES = frozenset((route.method, route.path) for route in ROUTES if route.takes_code)
"""The methods and paths where a one-time code may stand for an API key; no such path has a parameter."""

_REPORTS = tuple(route for route in ROUTES if route.access is Access.REPORT)


def methods_of(path: str) -> list[str]:
    """List the methods that a path supports; the list is empty if there is no such path."""
    return sorted(route.method for route in ROUTES if route.path_pattern.fullmatch(path))


def reported_run(path: str) -> str | None:
    """Return the run that a path names on which its target reports; None for any other path."""
    return next((ids["runId"] for route in _REPORTS if (ids := route.ids_in(path))), None)
