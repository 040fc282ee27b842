"""Run a cycle again by an operation: the failed runs, these and their descendants, or all runs."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.cycles.reading import fire_time_in, no_cycle
from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.bounds import are_within
from timeball.api.http.edge import ApiContext, job_key, note, read_job_row
from timeball.api.http.identity import fingerprint, operation_id, operation_id_of_key
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.reply import Reply, created
from timeball.api.http.request import Request, idempotency_key, key_conflict, read_body
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.operations.answers import OperationAnswer, operation_answer
from timeball.api.operations.operations import standing_operation
from timeball.domain.model.ids import OperationKey
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.operation import JobMatch, Operation, OperationAction, Rerun, RerunMode
from timeball.engine.dependencies.graph_views import Node, read_cycle
from timeball.engine.operations.operation import create_operation
from timeball.engine.operations.rerun import being_run, meant

router = Router()

_PER_SECOND: Final = 100
_SHOWN: Final = 5


class RerunRequest(Strict):
    """Which runs of a cycle run again."""

    model_config = ConfigDict(json_schema_extra=needed("mode"))

    mode: Literal["failed", "failedAndDownstream", "all"] | None = Field(
        None,
        description=(
            "`failed`: the failed runs, so that the runs that they block go on. `failedAndDownstream`: these "
            "and all runs that depend on them, also indirectly. `all`: the whole cycle."
        ),
    )


@router.post(
    "/v1/cycles/{jobId}/{fireTime}:rerun",
    "Run a graph's cycle again: the failed runs, these and their descendants, or all runs",
    OperationAnswer,
    status=201,
    body=RerunRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.IDEMPOTENCY_CONFLICT, Problem.RUN_UNDER_WAY),
    access=Access.OPERATE,
)
def rerun_cycle(edge: ApiContext, request: Request) -> Reply:
    """Run a graph's cycle again, or part of it; repeat the answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, _, errors = read_fields(RerunRequest, body)
    if wanted.mode is None and not errors:
        errors.append(FieldError("mode", f"Say which runs to run again: {', '.join(RerunMode)}."))
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    fresh = operation_id(edge.random_bytes()) if idempotent is None else operation_id_of_key(request.tenant, idempotent)
    key = OperationKey(request.tenant, fresh)
    rerun = Rerun(job_key(request).job_id, fire_time_in(request), RerunMode(wanted.mode or RerunMode.FAILED))
    asked = fingerprint(canonical({**body, "jobId": rerun.job_id, "fireAt": rerun.fire_at}))
    standing = None if idempotent is None else edge.context.store.operations.read([key])[0]
    if standing is None:
        operation = _operation(edge, request, key, rerun, asked)
        note(edge, request, Action.RERUN, Resource(ResourceKind.OPERATION, key.name, rerun.job_id))
        standing = create_operation(edge.context, operation)
    if standing is not None and standing.fingerprint != asked:
        raise key_conflict()
    shown = standing or standing_operation(edge, key)  # it may be complete by now
    location = f"/v1/operations/{key.name}"
    return created(operation_answer(shown), location, version=shown.version, is_repeated=standing is not None)


def _operation(edge: ApiContext, request: Request, key: OperationKey, rerun: Rerun, asked: str) -> Operation:
    """Return the operation; its one batch are the jobs that run again. Raises ProblemError."""
    job = read_job_row(edge, job_key(request))
    cycle = read_cycle(edge.context, job, rerun.fire_at)
    if cycle is None:
        raise no_cycle(job)
    if cycle.is_cut:
        most = edge.context.rules.max_ancestors
        raise invalid([FieldError("jobId", f"Its graph has more than {most} jobs; retry its runs one by one.")])
    nodes = meant(cycle, rerun.mode)
    _refuse_outside_bounds(request, nodes)
    if rerun.mode is not RerunMode.FAILED:
        _refuse_being_run(being_run(nodes))
    now = edge.context.clock.now()
    return Operation(
        key=key,
        action=OperationAction.RERUN,
        match=JobMatch(),
        per_second=_PER_SECOND,
        shard=edge.context.shards.of(key),
        created_at=now,
        updated_at=now,
        by=request.by,
        fingerprint=asked,
        rerun=rerun,
        due_at=now,
        batch=tuple(node.job.key.job_id for node in nodes),
        is_begun=True,
        matched=len(nodes),
    )


def _refuse_outside_bounds(request: Request, nodes: Sequence[Node]) -> None:
    if not all(are_within(node.job.spec.tags, request.bounds) for node in nodes):
        raise ProblemError(
            Problem.FORBIDDEN, "Your key is bounded to tags, and jobs without them would also run again."
        )


def _refuse_being_run(names: Sequence[str]) -> None:
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise ProblemError(
            Problem.RUN_UNDER_WAY,
            f"Runs that this would clear are under way: {shown}. Wait until they end, or cancel them.",
        )
