"""Create, read and cancel operations; listing.py lists them."""

from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.generations import generation_of
from timeball.api.http.identity import fingerprint, operation_id, operation_id_of_key
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.reply import Reply, created, ok
from timeball.api.http.request import Request, expected_version, idempotency_key, key_conflict, read_body, stale
from timeball.api.http.route import Router
from timeball.api.operations.answers import OperationAnswer, operation_answer
from timeball.api.operations.request import OperationRequest, operation_of, read_operation_request
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JOB_ID, OperationKey
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.operation import Operation
from timeball.engine.operations import operation as engine

router = Router()


@router.post(
    "/v1/operations",
    "Pause, resume, cancel, trigger or retry all jobs that match, at a pace",
    OperationAnswer,
    status=201,
    body=OperationRequest,
    headers=("Idempotency-Key", *generations.HEADERS),
    problems=(Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
    access=Access.OPERATE,
)
def create_operation(edge: ApiContext, request: Request) -> Reply:
    """Do something to all jobs that match; repeat the answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, errors = read_operation_request(body)
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    fresh = operation_id(edge.random_bytes()) if idempotent is None else operation_id_of_key(request.tenant, idempotent)
    key = OperationKey(request.tenant, fresh)
    bare = operation_of(wanted, key, edge.context.shards, edge.context.clock.now())
    depth = generation_of(edge, request)
    operation = evolve(bare, by=request.by, fingerprint=fingerprint(canonical(body)), depth=depth)
    note(edge, request, Action.CREATE, Resource(ResourceKind.OPERATION, key.name))
    standing = engine.create_operation(edge.context, operation)
    if standing is not None and standing.fingerprint != operation.fingerprint:
        raise key_conflict()
    shown = standing or standing_operation(edge, key)  # it may be complete by now
    location = f"/v1/operations/{key.name}"
    return created(operation_answer(shown), location, version=shown.version, is_repeated=standing is not None)


@router.get(
    "/v1/operations/{operationId}",
    "Read the progress of an operation, and its failures",
    OperationAnswer,
    access=Access.READ,
)
def get_operation(edge: ApiContext, request: Request) -> Reply:
    """Read the progress of an operation."""
    operation = standing_operation(edge, _key(request))
    return ok(operation_answer(operation), version=operation.version)


@router.delete(
    "/v1/operations/{operationId}",
    "Cancel an operation; jobs that it has processed stay changed",
    OperationAnswer,
    headers=("If-Match",),
    access=Access.OPERATE,
)
def cancel_operation(edge: ApiContext, request: Request) -> Reply:
    """Cancel an operation: processed jobs stay changed, and no further job is processed."""
    version, found = expected_version(request), standing_operation(edge, _key(request))
    if version is not None and found.version != version:
        raise stale("operation", found.version, "cancel")
    note(edge, request, Action.CANCEL, Resource(ResourceKind.OPERATION, found.key.name))
    # A cancel is the only change that a user makes to an operation, so no relevant change comes between these two.
    operation = engine.cancel_operation(edge.context, found)
    return ok(operation_answer(operation), version=operation.version)


def _key(request: Request) -> OperationKey:
    if not JOB_ID.fullmatch(request.path["operationId"]):
        raise _no_operation()
    return OperationKey(request.tenant, request.path["operationId"])


def standing_operation(edge: ApiContext, key: OperationKey) -> Operation:
    """Return an operation. Raises ProblemError if there is none."""
    operation = edge.context.store.operations.read([key])[0]
    if operation is None:
        raise _no_operation()
    return operation


def _no_operation() -> ProblemError:
    return not_found("You have no operation with this id; list yours at /v1/operations.")
