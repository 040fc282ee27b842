"""The table of all routes, joined from the folders. The resolver, the OpenAPI document and the tests use it."""

from timeball.api import service
from timeball.api.admin import routes as admin
from timeball.api.backfills import routes as backfills
from timeball.api.calendars import routes as calendars
from timeball.api.cycles import routes as cycles
from timeball.api.dead_letters import routes as dead_letters
from timeball.api.dependencies import routes as dependencies
from timeball.api.events import routes as events
from timeball.api.freezes import routes as freezes
from timeball.api.history import routes as history
from timeball.api.http.route import Route
from timeball.api.jobs import routes as jobs
from timeball.api.keys import routes as keys
from timeball.api.operations import routes as operations
from timeball.api.runs import routes as runs
from timeball.api.schedules import routes as schedules
from timeball.api.stats import routes as stats
from timeball.api.targets import routes as targets
from timeball.api.tasks import routes as tasks

ROUTES: tuple[Route, ...] = (
    *jobs.ROUTES,
    *dependencies.ROUTES,
    *cycles.ROUTES,
    *events.ROUTES,
    *history.ROUTES,
    *backfills.ROUTES,
    *runs.ROUTES,
    *dead_letters.ROUTES,
    *operations.ROUTES,
    *tasks.ROUTES,
    *targets.ROUTES,
    *schedules.ROUTES,
    *calendars.ROUTES,
    *freezes.ROUTES,
    *keys.ROUTES,
    *stats.ROUTES,
    *admin.ROUTES,
    *service.ROUTES,
)

PUBLIC_PATHS = frozenset(route.path for route in ROUTES if route.is_public)
"""The paths that are answered without an API key; none of them has a parameter."""


def methods_of(path: str) -> list[str]:
    """List the methods that a path supports; the list is empty if there is no such path."""
    return sorted(route.method for route in ROUTES if route.path_pattern.fullmatch(path))
