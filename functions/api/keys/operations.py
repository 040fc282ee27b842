"""Read a limit, and set its bounds: bounds that a person sets hold at once, whatever jobs state."""

from urllib.parse import quote, unquote

from functions.api.http.edge import ApiContext, note
from functions.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from functions.api.http.reply import Reply, created, ok
from functions.api.http.request import Request, expected_version, expects_nothing, read_body, stale
from functions.api.http.request_model import read_fields
from functions.api.keys.answers import key_answer
from functions.api.keys.fields import FLOW_KEY, WHAT_A_KEY_IS
from functions.api.keys.request import FlowKeyBody
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.quotas.keys import KeyOutcome, fix_key, read_key, view_of


def read_a_flow_key(edge: ApiContext, request: Request) -> Reply:
    """Read a limit: its bounds, the runs that have its slots, and the runs that wait."""
    key = _key(request)
    view = read_key(edge.context, key) if FLOW_KEY.fullmatch(key.name) else None
    if view is None:
        raise not_found("None of your jobs has named this key lately, and no bounds are set for it.")
    return ok(key_answer(view), version=view.limiter.fixed.version)


def put_a_flow_key(edge: ApiContext, request: Request) -> Reply:
    """Set the bounds of a limit; bounds that are left out are those that jobs state."""
    key = _key(request)
    if not FLOW_KEY.fullmatch(key.name):
        raise invalid([FieldError("key", WHAT_A_KEY_IS)])
    version = expected_version(request)
    wanted, _, errors = read_fields(FlowKeyBody, read_body(request))
    if errors:
        raise invalid(errors)
    note(edge, request, Action.PUT, Resource(ResourceKind.FLOW_KEY, key.name))
    bounds = Bounds(wanted.limit, wanted.per_second, wanted.burst)
    is_to_stand = False if expects_nothing(request) else True if "if-match" in request.headers else None
    now = edge.context.clock.now()
    outcome, limiter = fix_key(edge.context, key, bounds, version, now, is_to_stand=is_to_stand)
    if outcome is KeyOutcome.ABSENT:
        raise ProblemError(Problem.STALE_VERSION, "You have no limit with this key; leave out If-Match.")
    if outcome is KeyOutcome.EXISTS:
        raise ProblemError(Problem.STALE_VERSION, "You have a limit with this key already; leave out If-None-Match.")
    if outcome is KeyOutcome.STALE:
        raise stale("key", limiter.fixed.version, "set")
    answer = key_answer(view_of(edge.context, limiter))
    if outcome is KeyOutcome.CREATED:
        return created(answer, f"/v1/keys/{quote(key.name)}", version=limiter.fixed.version)
    return ok(answer, version=limiter.fixed.version)


def _key(request: Request) -> LimiterKey:
    return LimiterKey(request.tenant, unquote(request.path["key"]))
