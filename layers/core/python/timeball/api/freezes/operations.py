"""Create, list, read and lift freezes. A freeze that has ended no longer exists."""

from timeball.api.freezes.answers import FreezeAnswer, FreezePageAnswer, freeze_answer
from timeball.api.freezes.request import FreezeRequest, read_freeze
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.identity import freeze_id, freeze_id_of_key
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.reply import Reply, created, ok
from timeball.api.http.request import Request, idempotency_key, key_conflict, read_body, refuse_fields
from timeball.api.http.route import Router
from timeball.domain.model.jobs.freeze import BEGINS_AFTER_MS, MAX_FREEZES, MAX_SIZE, Freeze
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine.blackouts import freezes as engine
from timeball.engine.blackouts.freezes import FreezeOutcome, freezes_of

router = Router()


@router.post(
    "/v1/freezes",
    "Freeze jobs: their fires do not start for a time, or until the freeze is lifted",
    FreezeAnswer,
    status=201,
    body=FreezeRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.TOO_MANY_FREEZES, Problem.IDEMPOTENCY_CONFLICT),
    access=Access.OPERATE,
)
def create_freeze(edge: ApiContext, request: Request) -> Reply:
    """Freeze jobs; answer when every process knows the freeze, so that no matching run starts in it from then on."""
    now, body = edge.context.clock.now(), read_body(request)
    wanted, errors = read_freeze(body, freeze_id(edge.random_bytes()), now)
    key = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    if key is not None:
        wanted, _ = read_freeze(body, freeze_id_of_key(request.tenant, key), now)
    note(edge, request, Action.CREATE, Resource(ResourceKind.FREEZE, wanted.name))
    made = engine.create_freeze(edge.context, request.tenant, wanted)
    if made.outcome is FreezeOutcome.CONFLICT:
        raise key_conflict()
    if made.outcome is FreezeOutcome.TOO_MANY:
        raise ProblemError(
            Problem.TOO_MANY_FREEZES,
            f"With this you would have more than {MAX_FREEZES} freezes, or their ids, tags and reasons more than "
            f"{MAX_SIZE // 1000} KB; lift one that you no longer need.",
        )
    known_at = edge.context.clock.now() + BEGINS_AFTER_MS
    if made.freeze.from_at <= known_at:
        edge.wait_until(known_at)
    is_repeated = key is not None and made.outcome is FreezeOutcome.REPEATED
    answer = freeze_answer(made.freeze, edge.context.clock.now())
    return created(answer, f"/v1/freezes/{made.freeze.name}", is_repeated=is_repeated)


@router.get(
    "/v1/freezes",
    "List the freezes that have not ended, the newest first",
    FreezePageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_freezes(edge: ApiContext, request: Request) -> Reply:
    """List the freezes that have not ended, the newest first."""
    asked, now = PageQuery(request), edge.context.clock.now()
    after = asked.after(number, identifier)
    found = freezes_of(edge.context, request.tenant).open_at(now)
    # The freeze at the cursor may have been lifted meanwhile; the next page then begins after its age.
    left = [one for one in found if after is None or (-one.created_at, one.name) > (-after[0], after[1])]
    return asked.first(edge, left, lambda one: freeze_answer(one, now), lambda one: (one.created_at, one.name))


@router.get("/v1/freezes/{freezeId}", "Read a freeze", FreezeAnswer, access=Access.READ)
def get_freeze(edge: ApiContext, request: Request) -> Reply:
    """Read a freeze that has not ended."""
    now = edge.context.clock.now()
    return ok(freeze_answer(_standing(edge, request, now), now))


@router.delete("/v1/freezes/{freezeId}", "Lift a freeze", FreezeAnswer, access=Access.OPERATE)
def lift_freeze(edge: ApiContext, request: Request) -> Reply:
    """Lift a freeze: the catch-up policy of each job decides about the fires that it missed."""
    refuse_fields(request)
    name = _standing(edge, request, edge.context.clock.now()).name
    note(edge, request, Action.DELETE, Resource(ResourceKind.FREEZE, name))
    lifted = engine.lift_freeze(edge.context, request.tenant, name)
    if lifted is None:
        raise _no_freeze()
    return ok(freeze_answer(lifted, edge.context.clock.now(), is_lifted=True))


def _standing(edge: ApiContext, request: Request, now: int) -> Freeze:
    """Return the freeze that the path names. Raises ProblemError if there is none, or it has ended."""
    for freeze in freezes_of(edge.context, request.tenant).open_at(now):
        if freeze.name == request.path["freezeId"]:
            return freeze
    raise _no_freeze()


def _no_freeze() -> ProblemError:
    return not_found("You have no freeze with this id, or it is over; list yours at /v1/freezes.")
