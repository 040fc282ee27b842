"""Create, list, read and cancel operations. Lists leave out failures."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from timeball.api.http import depths
from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.depths import call_depth
from timeball.api.http.edge import ApiContext, job_cancelled, no_job, note
from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    IdOfJob,
    NextCursor,
    Reply,
    Request,
    Time,
    UpdatedAt,
    Version,
    attribute,
    check_version,
    created,
    expected_version,
    idempotency_key,
    key_conflict,
    moving,
    ok,
    read_body,
)
from timeball.api.http.ids import NewId, fingerprint
from timeball.api.http.problems import ItemProblem, Problem, ProblemError, invalid, not_found, problem_fields
from timeball.api.http.route import Router
from timeball.api.operations.request import OperationRequest, operation_of, read_operation_request
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JOB_ID, OperationKey
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.terms.dependency import Children
from timeball.domain.operation import (
    Failure,
    JobFault,
    Operation,
    OperationAction,
    OperationStatus,
    RerunMode,
)
from timeball.engine.operations import operation as engine

router = Router()


class OperationMatchAnswer(AnswerModel):
    """Which jobs: those for which every field that is not null holds; every job if all are null."""

    tags: Mapping[str, str] | None = Field(description="Jobs that have all of these tags.")
    task_id: str | None = Field(description="Jobs that name this task.")
    status: str | None = Field(description="Jobs in this status.")
    all: bool = Field(description="Whether every job matches.")


class RerunAnswer(AnswerModel):
    """The cycle that runs again."""

    job_id: str = Field(description="The job in the path of the request.")
    cycle_id: str = Field(description="The id of the cycle.")
    fire_time: Time = attribute("fire_at", description="The fire time of the cycle.")
    mode: RerunMode = Field(description="Which runs of the cycle run again.")


class ProgressAnswer(AnswerModel):
    """Progress of the operation; at the end, `matched` is the sum of the others."""

    matched: int = Field(description="How many matching jobs were found.")
    done: int = Field(description="For how many of them the action is done, or was done before.")
    failed: int = Field(description="For how many the action was not possible.")


class FailureAnswer(AnswerModel):
    """A job for which the action was not possible."""

    job_id: IdOfJob
    problem: ItemProblem = Field(description="Why it was not possible.")


class OperationSummaryAnswer(AnswerModel):
    """An operation without its failures."""

    operation_id: str = attribute("key.name", description="The id of the operation.")
    action: OperationAction = Field(description="The action on each job.")
    match: OperationMatchAnswer | None = Field(description="Which jobs; null if it runs a cycle again.")
    rerun: RerunAnswer | None = Field(description="The cycle, if it runs a cycle again.")
    children: Children | None = Field(
        description="The effect of a cancel on the children of its jobs; null: a job with children stays."
    )
    per_second: int = Field(description="The most jobs in a second.")
    status: OperationStatus = Field(description="`failed`: it is complete, and `failures` names jobs.")
    progress: ProgressAnswer = Field(description="How many jobs it has processed.")
    created_at: CreatedAt
    created_by: str | None = attribute("by.key_id", description="The id of the API key that created it.")
    updated_at: UpdatedAt
    version: Version


class OperationAnswer(OperationSummaryAnswer):
    """An operation."""

    failures: list[FailureAnswer] = Field(description="The first 100 jobs for which the action was not possible.")


class OperationPageAnswer(AnswerModel):
    """A page of operations without their failures, the newest first."""

    items: list[OperationSummaryAnswer] = Field(description="The operations.")
    next_cursor: NextCursor


@router.post(
    "/v1/operations",
    "Pause, resume, cancel, trigger or retry all jobs that match, at a pace",
    OperationAnswer,
    status=201,
    body=OperationRequest,
    headers=("Idempotency-Key", *depths.HEADERS),
    problems=(Problem.IDEMPOTENCY_CONFLICT, *depths.PROBLEMS),
    access=Access.OPERATE,
)
def create_operation(edge: ApiContext, request: Request) -> Reply:
    """Do something to all jobs that match; repeat the answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, errors = read_operation_request(body)
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    key = key_of(edge, request.tenant, idempotent)
    bare = operation_of(wanted, key, edge.context.shards, edge.context.clock.now())
    depth = call_depth(edge, request)
    operation = evolve(bare, by=request.by, fingerprint=fingerprint(canonical(body)), depth=depth)
    note(edge, request, Action.CREATE, Resource(ResourceKind.OPERATION, key.name))
    standing = engine.create_operation(edge.context, operation)
    return created_operation(edge, key, standing, operation.fingerprint)


def key_of(edge: ApiContext, tenant: str, idempotent: str | None) -> OperationKey:
    """Return the key of a new operation, or of the operation that is created under an Idempotency-Key."""
    return OperationKey(tenant, NewId.OPERATION.of(tenant, idempotent, edge.random_bytes))


def created_operation(edge: ApiContext, key: OperationKey, standing: Operation | None, asked: str | None) -> Reply:
    """Return the answer that creates an operation, or repeats it if `standing` was created for what is asked."""
    if standing is not None and standing.fingerprint != asked:
        raise key_conflict()
    shown = standing or _standing(edge, key)  # it may be complete by now
    location = f"/v1/operations/{key.name}"
    return created(_answer(shown), location, version=shown.version, is_repeated=standing is not None)


@router.get(
    "/v1/operations",
    "List operations, the newest first",
    OperationPageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_operations(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's operations, the newest first."""
    asked = PageQuery(request)
    after = asked.after(number, identifier)
    page = engine.list_operations(
        edge.context, request.tenant, asked.limit, after and (after[0], OperationKey(request.tenant, after[1]))
    )
    positions = ((at, key.name) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].name)
    return asked.page(edge, zip(map(_summary, page.items), positions, strict=True), next_after)


@router.get(
    "/v1/operations/{operationId}",
    "Read the progress of an operation, and its failures",
    OperationAnswer,
    access=Access.READ,
)
def get_operation(edge: ApiContext, request: Request) -> Reply:
    """Read the progress of an operation."""
    operation = _standing(edge, _key(request))
    return moving(_answer(operation), operation.version)


@router.delete(
    "/v1/operations/{operationId}",
    "Cancel an operation; jobs that it has processed stay changed",
    OperationAnswer,
    headers=("If-Match",),
    access=Access.OPERATE,
)
def cancel_operation(edge: ApiContext, request: Request) -> Reply:
    """Cancel an operation: processed jobs stay changed, and no further job is processed."""
    version, found = expected_version(request), _standing(edge, _key(request))
    check_version("operation", found.version, version, "cancel")
    note(edge, request, Action.CANCEL, Resource(ResourceKind.OPERATION, found.key.name))
    # A cancel is the only change that a user makes to an operation, so no relevant change comes between these two.
    operation = engine.cancel_operation(edge.context, found)
    return ok(_answer(operation), version=operation.version)


def _key(request: Request) -> OperationKey:
    if not JOB_ID.fullmatch(request.path["operationId"]):
        raise _no_operation()
    return OperationKey(request.tenant, request.path["operationId"])


def _standing(edge: ApiContext, key: OperationKey) -> Operation:
    operation = edge.context.store.operations.read([key])[0]
    if operation is None:
        raise _no_operation()
    return operation


def _no_operation() -> ProblemError:
    return not_found("You have no operation with this id; list yours at /v1/operations.")


def _answer(operation: Operation) -> OperationSummaryAnswer:
    failures = [
        FailureAnswer.about(one, problem=problem_fields(_problem(operation, one))) for one in operation.failures
    ]
    return _summary(operation, OperationAnswer, failures=failures)


def _summary(
    operation: Operation,
    model: type[OperationSummaryAnswer] = OperationSummaryAnswer,
    **others: Any,  # noqa: ANN401 - the fields that the model has beside
) -> OperationSummaryAnswer:
    match = operation.match
    is_all = not match.tags and match.task_id is None and match.status is None
    shown = OperationMatchAnswer.about(match, tags=match.tags or None, all=is_all)
    return model.about(operation, match=shown if operation.rerun is None else None, progress=operation, **others)


def _problem(operation: Operation, failure: Failure) -> ProblemError:
    match failure.fault:
        case JobFault.JOB_ENDED:
            return ProblemError(Problem.JOB_ENDED, f"The job has ended; there is nothing to {operation.action}.")
        case JobFault.JOB_CANCELLED:
            return job_cancelled()
        case JobFault.HAS_CHILDREN:
            return ProblemError(
                Problem.HAS_CHILDREN, "Other jobs depend on it; cancel it with children: detach or children: cancel."
            )
        case JobFault.JOB_GONE:
            return no_job()
        case JobFault.UNDER_WAY:
            return ProblemError(
                Problem.RUN_UNDER_WAY, "Its run was under way during every try; run the cycle again later."
            )
        case JobFault.UNAVAILABLE:
            return ProblemError(Problem.UNAVAILABLE, f"Every try failed for now; {operation.action} this job yourself.")
        case JobFault.INTERNAL:
            return ProblemError(Problem.INTERNAL, "Timeball failed with this job; see its logs.")
