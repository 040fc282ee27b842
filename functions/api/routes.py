"""The table of all routes, joined from the folders. The resolver, the OpenAPI document and the tests use it."""

from functions.api import service
from functions.api.admin import routes as admin
from functions.api.backfills import routes as backfills
from functions.api.calendars import routes as calendars
from functions.api.cycles import routes as cycles
from functions.api.dead_letters import routes as dead_letters
from functions.api.dependencies import routes as dependencies
from functions.api.events import routes as events
from functions.api.freezes import routes as freezes
from functions.api.history import routes as history
from functions.api.http.route import Route
from functions.api.jobs import routes as jobs
from functions.api.keys import routes as keys
from functions.api.operations import routes as operations
from functions.api.runs import routes as runs
from functions.api.schedules import routes as schedules
from functions.api.stats import routes as stats
from functions.api.targets import routes as targets
from functions.api.tasks import routes as tasks

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
