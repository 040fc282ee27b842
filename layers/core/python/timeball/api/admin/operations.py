"""Operations over all tenants: recover from lost rows, messages or watches. One operation of a tenant does each part.

Invariant: the operations of one recovery have one name, so a repeat of the request finds those that exist.
"""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    Reply,
    Request,
    Time,
    UpdatedAt,
    created,
    idempotency_key,
    key_conflict,
    ok,
    read_body,
)
from timeball.api.http.fields import Instant
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.operations.operations import ProgressAnswer, key_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JOB_ID, OperationKey
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.operation import JobMatch, Operation, OperationAction, OperationStatus
from timeball.domain.time.instants import DAY_MS
from timeball.engine.operations.operation import list_operations
from timeball.ports.tenants import ALL

router = Router()

MOST_DAYS: Final = 35
"""How far back DynamoDB restores a table. Rows that have expired meanwhile would look lost, and run again."""

_PER_SECOND: Final = 1_000
_SHOWN: Final = 100
_AT_ONCE: Final = 100


class AdminOperationRequest(Strict):
    """An operation over all tenants."""

    model_config = ConfigDict(json_schema_extra=needed("action", "since"))

    action: Literal["recover"] | None = Field(None, description="The operation.")
    since: Instant | None = Field(
        None,
        description=f"From when on rows, messages or watches may be lost, or rows old; at most {MOST_DAYS} days ago, "
        "and less long ago than finished runs are kept (`retention_days`).",
    )


class LeftJobAnswer(AnswerModel):
    """A job that could not be recovered."""

    tenant: str = Field(description="The tenant.")
    job_id: str = Field(description="The id of the job.")


class AdminOperationAnswer(AnswerModel):
    """An operation over all tenants."""

    operation_id: str = Field(description="Its id, also in each tenant.")
    action: OperationAction = Field(description="The operation.")
    since: Time = Field(description="From when on rows, messages or watches may be lost.")
    status: OperationStatus = Field(description="`failed`: it is complete, and `failures` names jobs.")
    tenants: int = Field(description="The number of tenants.")
    progress: ProgressAnswer = Field(description="How many jobs it has processed, of all tenants.")
    failures: list[LeftJobAnswer] = Field(description=f"The first {_SHOWN} jobs that could not be recovered.")
    created_at: CreatedAt
    updated_at: UpdatedAt


@router.post(
    "/v1/admin/operations",
    "Recover all tenants after a restore, a purge or a lost queue",
    AdminOperationAnswer,
    status=201,
    body=AdminOperationRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.IDEMPOTENCY_CONFLICT,),
    access=Access.ADMINISTER_ALL,
)
def create_admin_operation(edge: ApiContext, request: Request) -> Reply:
    """Begin a recovery in each tenant; repeat the answer to the same Idempotency-Key and body."""
    body, now = read_body(request), edge.context.clock.now()
    wanted, given, errors = read_fields(AdminOperationRequest, body)
    most_days = min(MOST_DAYS, edge.retention_days - 1)
    errors += _missing(wanted, {*given, *(error.field for error in errors)}, now, most_days)
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    key, digest = key_of(edge, request.tenant, idempotent), fingerprint(canonical(body))
    standing = edge.context.store.operations.read([key])[0]
    if standing is not None and standing.fingerprint != digest:
        raise key_conflict()
    note(edge, request, Action.CREATE, Resource(ResourceKind.OPERATION, key.name))
    # The operating tenant comes last: its operation says that all of them exist.
    others = [name for name in _tenants(edge) if name != request.tenant]
    asked = Operation(
        key=key,
        action=OperationAction.RECOVER,
        match=JobMatch(),
        per_second=_PER_SECOND,
        shard=edge.context.shards.of(key),
        created_at=now,
        updated_at=now,
        by=request.by,
        fingerprint=digest,
        since=wanted.since,
        until=_until(edge, request.tenant, wanted.since),
        due_at=now,
    )
    parts = [_of_tenant(edge, asked, name) for name in others]
    for first in range(0, len(parts), _AT_ONCE):
        edge.context.store.operations.insert(parts[first : first + _AT_ONCE], now)
    edge.context.store.operations.insert([asked], now)
    location = f"/v1/admin/operations/{key.name}"
    return created(_answer(edge, key), location, is_repeated=standing is not None)


@router.get(
    "/v1/admin/operations/{operationId}",
    "Read the progress of an operation over all tenants",
    AdminOperationAnswer,
    access=Access.ADMINISTER_ALL,
)
def get_admin_operation(edge: ApiContext, request: Request) -> Reply:
    """Read the progress of an operation over all tenants."""
    name = request.path["operationId"]
    if not JOB_ID.fullmatch(name):
        raise _none()
    return ok(_answer(edge, OperationKey(request.tenant, name)))


def _missing(wanted: AdminOperationRequest, said: set[str], now: int, most_days: int) -> Iterator[FieldError]:
    if "action" not in said:
        yield FieldError("action", "Say what to do: recover.")
    if "since" not in said:
        yield FieldError("since", "Give the instant from which on rows, messages or watches may be lost.")
    if wanted.since is not None and not now - most_days * DAY_MS <= wanted.since <= now:
        kept = "" if most_days == MOST_DAYS else "; runs that ended earlier have expired by retention_days"
        yield FieldError("since", f"Give an instant of the last {most_days} days{kept}.")


def _until(edge: ApiContext, tenant: str, since: int | None) -> int | None:
    """Return when an earlier recovery of the same loss was asked for, if there is one: nothing was lost after it."""
    earlier = list_operations(edge.context, tenant, _AT_ONCE).items
    same = [one.lost_by for one in earlier if one.action is OperationAction.RECOVER and one.since == since]
    return min(same, default=None)


def _of_tenant(edge: ApiContext, asked: Operation, tenant: str) -> Operation:
    key = OperationKey(tenant, asked.key.name)
    return evolve(asked, key=key, shard=edge.context.shards.of(key))


def _tenants(edge: ApiContext) -> list[str]:
    return [one.name for one in edge.admin.tenants.of_owner(ALL) if one.deleted_at is None]


def _answer(edge: ApiContext, key: OperationKey) -> AdminOperationAnswer:
    keys = [OperationKey(name, key.name) for name in _tenants(edge)]
    own = edge.context.store.operations.read([key])[0]
    if own is None or own.since is None:
        raise _none()
    found = [one for one in edge.context.store.operations.read(keys) if one is not None]
    left = [{"tenant": one.key.tenant, "job_id": failure.job_id} for one in found for failure in one.failures]
    counts = {name: sum(getattr(one, name) for one in found) for name in ("matched", "done", "failed")}
    return AdminOperationAnswer.model_validate(
        {
            "operation_id": key.name,
            "action": own.action,
            "since": own.since,
            "status": _status(found),
            "tenants": len(found),
            "progress": ProgressAnswer(**counts),
            "failures": left[:_SHOWN],
            "created_at": own.created_at,
            "updated_at": max(one.updated_at for one in found),
        }
    )


def _status(parts: list[Operation]) -> OperationStatus:
    """Return the status of the whole: it runs until each part has ended."""
    found = {one.status for one in parts}
    order = (OperationStatus.RUNNING, OperationStatus.FAILED, OperationStatus.CANCELLED)
    return next((status for status in order if status in found), OperationStatus.SUCCEEDED)


def _none() -> ProblemError:
    return not_found("There is no such operation over all tenants.")
