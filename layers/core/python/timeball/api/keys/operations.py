"""Read a limit, and set its bounds: bounds that a person sets hold at once, whatever jobs state."""

from urllib.parse import quote, unquote

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.reply import Reply, created, ok
from timeball.api.http.request import Request, expected_version, expects_nothing, read_body, stale
from timeball.api.http.request_model import read_fields
from timeball.api.http.route import Router
from timeball.api.keys.answers import LimitAnswer, limit_answer
from timeball.api.keys.fields import LIMIT_NAME, WHAT_A_NAME_IS
from timeball.api.keys.request import LimitBody
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.quotas import LimitOutcome, fix_limit, read_limit, view_of

router = Router()


@router.get(
    "/v1/limits/{name}",
    "Read a limit: its bounds, the runs that have its slots, and the runs that wait",
    LimitAnswer,
    access=Access.READ,
)
def get_limit(edge: ApiContext, request: Request) -> Reply:
    """Read a limit: its bounds, the runs that have its slots, and the runs that wait."""
    key = _key(request)
    view = read_limit(edge.context, key) if LIMIT_NAME.fullmatch(key.name) else None
    if view is None:
        raise not_found("None of your jobs has named this limit lately, and no bounds are set for it.")
    return ok(limit_answer(view), version=view.limiter.fixed.version)


@router.put(
    "/v1/limits/{name}",
    "Set the bounds of a limit, whatever jobs state; repeating the request changes nothing",
    LimitAnswer,
    body=LimitBody,
    also={201: LimitAnswer},
    headers=("If-Match", "If-None-Match"),
    access=Access.OPERATE,
)
def replace_limit(edge: ApiContext, request: Request) -> Reply:
    """Set the bounds of a limit; bounds that are left out are those that jobs state."""
    key = _key(request)
    if not LIMIT_NAME.fullmatch(key.name):
        raise invalid([FieldError("name", WHAT_A_NAME_IS)])
    version = expected_version(request)
    wanted, _, errors = read_fields(LimitBody, read_body(request))
    if errors:
        raise invalid(errors)
    note(edge, request, Action.PUT, Resource(ResourceKind.LIMIT, key.name))
    bounds = Bounds(wanted.limit, wanted.per_second, wanted.burst)
    is_to_stand = False if expects_nothing(request) else True if "if-match" in request.headers else None
    now = edge.context.clock.now()
    outcome, limiter = fix_limit(edge.context, key, bounds, version, now, is_to_stand=is_to_stand)
    if outcome is LimitOutcome.ABSENT:
        raise ProblemError(Problem.STALE_VERSION, "You have no limit of this name; leave out If-Match.")
    if outcome is LimitOutcome.EXISTS:
        raise ProblemError(Problem.STALE_VERSION, "You have a limit of this name already; leave out If-None-Match.")
    if outcome is LimitOutcome.STALE:
        raise stale("limit", limiter.fixed.version, "set")
    answer = limit_answer(view_of(edge.context, limiter))
    if outcome is LimitOutcome.CREATED:
        return created(answer, f"/v1/limits/{quote(key.name)}", version=limiter.fixed.version)
    return ok(answer, version=limiter.fixed.version)


def _key(request: Request) -> LimiterKey:
    return LimiterKey(request.tenant, unquote(request.path["name"]))
