"""Create, read, disable and delete tenants, as an admin of the tenant that operates this Timeball.

Invariant: the tenant's row decides. After each write of the row, the tenant's work is stopped or resumed as the row
says, and the row is read again afterwards; a repeat repairs what was cut off in between.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field

from timeball.api.admin.request import TenantRequest, read_tenant, read_tenant_patch
from timeball.api.http.access import Access
from timeball.api.http.body import compact
from timeball.api.http.cursor import PAGE, PageQuery, text_like
from timeball.api.http.edge import ApiContext, no_tenant, note
from timeball.api.http.exchange import (
    MERGE_PATCH,
    AnswerModel,
    CreatedAt,
    NextCursor,
    Reply,
    Request,
    Time,
    Version,
    check_version,
    created,
    expected_version,
    moving,
    ok,
    read_body,
)
from timeball.api.http.problems import FieldError, Problem, ProblemError, refuse
from timeball.api.http.route import Router
from timeball.api.jobs.document import notify_document
from timeball.api.jobs.notify import NotifyAnswer, notify_of, targets_of
from timeball.api.stats import CostsAnswer, read_tenant_costs
from timeball.api.targets.models import closed_target
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.tenants.tenant import (
    LEAST_WEIGHT,
    MOST_NOTIFY_BYTES,
    NO_DEFAULTS,
    NO_QUOTAS,
    TENANT_NAME,
    Defaults,
    Quotas,
    Tenant,
    new_tenant,
)
from timeball.domain.model.terms.notify import Notify
from timeball.engine.blackouts.freezes import note_quotas, start_tenant, stop_tenant
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.stats import used_of_quotas
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap
from timeball.ports.tenants import ALL

router = Router()

_PAGE: Final = 1_000


class QuotaAnswer(AnswerModel):
    """A quota."""

    limit: int | None = Field(description="The tenant's own bound, or that of the settings; null: no bound.")
    used: int | None = Field(
        description=(
            "How much of it is used now; for tens of thousands of jobs an estimate. Null if it is not counted "
            "or not shown here."
        )
    )


class QuotasAnswer(AnswerModel):
    """The quotas of a tenant."""

    active_jobs: QuotaAnswer = Field(description="Open jobs.")
    submits_per_second: QuotaAnswer = Field(description="Jobs and events submitted in a second.")
    runs_per_second: QuotaAnswer = Field(description="Attempts that begin in a second.")
    runs_at_once: QuotaAnswer = Field(description="Runs under way at once.")
    least_period_seconds: QuotaAnswer = Field(description="The least seconds between two fires of a job.")
    payload_bytes: QuotaAnswer = Field(description="The bytes of a payload.")
    running_backfills: QuotaAnswer = Field(description="Backfills that run at once.")
    event_patterns: QuotaAnswer = Field(description="Distinct event patterns of its jobs.")
    requests_per_second: QuotaAnswer = Field(
        description="Requests in a second that each process of the authorizer admits."
    )
    runs_created_per_minute: QuotaAnswer = Field(description="Runs that events and fan-outs create in a minute.")


class DefaultsAnswer(AnswerModel):
    """The defaults of a tenant's jobs."""

    timezone: str | None = Field(description="The IANA time zone of new jobs that name none; null: UTC.")
    priority_ceiling: Priority | None = Field(description="The highest priority of its jobs and new runs; null: any.")
    notify: NotifyAnswer | None = Field(description="The `notify` of new jobs that state none; null: none.")


class TenantAnswer(AnswerModel):
    """A tenant."""

    name: str = Field(description="The name of the tenant.")
    weight: int = Field(description="Its share of dispatches relative to other tenants, where tenants contend.")
    quotas: QuotasAnswer = Field(description="The quotas of the tenant.")
    defaults: DefaultsAnswer = Field(description="The defaults of its jobs.")
    disabled: bool = Field(description="Whether it is disabled: nothing of it starts.")
    disabled_at: Time | None = Field(description="When it was disabled; null unless it is disabled.")
    created_at: CreatedAt
    version: Version = Field(validation_alias="revision")


class TenantDetailAnswer(TenantAnswer):
    """A tenant with its share of dispatches and its costs."""

    share: float | None = Field(
        description=(
            "The least fraction of dispatches that it gets while all enabled tenants contend; null if it is disabled."
        )
    )
    cost: CostsAnswer = Field(description="What its runs and requests have cost.")


class TenantPageAnswer(AnswerModel):
    """A page of tenants, by name."""

    items: list[TenantAnswer] = Field(description="The tenants.")
    next_cursor: NextCursor


@router.post(
    "/v1/admin/tenants",
    "Create a tenant",
    TenantAnswer,
    status=201,
    body=TenantRequest,
    problems=(Problem.TENANT_EXISTS,),
    access=Access.ADMINISTER_ALL,
)
def create_tenant(edge: ApiContext, request: Request) -> Reply:
    """Create a tenant."""
    wanted, errors = read_tenant(read_body(request))
    notify = None if wanted.defaults is None else notify_of(wanted.defaults.notify)
    refuse([*errors, *_closed_targets(edge, wanted.name or "", notify)])
    now = edge.context.clock.now()
    tenant = _with_shares(new_tenant(wanted.name or "", now), wanted)
    if wanted.disabled:
        tenant = evolve(tenant, disabled_at=now)
    note(edge, request, Action.CREATE, Resource(ResourceKind.TENANT, tenant.name))
    standing = edge.admin.tenants.insert([tenant], now)[0]
    made = standing or tenant
    if _followed(made) != (False, NO_QUOTAS, NO_DEFAULTS):
        _follow(edge, made)  # the request that created a standing tenant may have been cut off here
    if standing is not None:
        raise ProblemError(
            Problem.TENANT_EXISTS,
            "This name belongs, or belonged, to a tenant; use another name, or change that tenant.",
        )
    return created(_answer(edge, tenant), f"/v1/admin/tenants/{tenant.name}", version=tenant.revision)


@router.get(
    "/v1/admin/tenants",
    "List the tenants that you may see, by name",
    TenantPageAnswer,
    query=PAGE,
    access=Access.ADMINISTER,
)
def list_tenants(edge: ApiContext, request: Request) -> Reply:
    """List all tenants for an admin of the operating tenant; for other admins only their own."""
    asked = PageQuery(request)
    (after,) = asked.after(text_like(TENANT_NAME)) or ("",)
    if request.tenant == edge.operating_tenant:
        found = edge.admin.tenants.of_owner(ALL, after, asked.limit + 1)
    else:
        found = [one for one in edge.admin.tenants.read([request.tenant]) if one is not None]
    standing = (one for one in found[: asked.limit] if one.deleted_at is None)
    shown = ((_answer(edge, one), (one.name,)) for one in standing)
    return asked.page(edge, shown, (found[asked.limit - 1].name,) if len(found) > asked.limit else None)


@router.get(
    "/v1/admin/tenants/{tenant}",
    "Read a tenant, its use of its quotas, and its costs",
    TenantDetailAnswer,
    access=Access.ADMINISTER,
)
def get_tenant(edge: ApiContext, request: Request) -> Reply:
    """Read a tenant, its use of its quotas, its share of dispatches, and its costs."""
    tenant = standing_tenant(edge, request)
    used = used_of_quotas(edge.context, tenant.name, tenant.quotas.over(edge.context.rules.quotas))
    share, cost = _share(edge, tenant), read_tenant_costs(edge, tenant.name)
    answer = _answer(edge, tenant, TenantDetailAnswer, used, share=share, cost=cost)
    return moving(answer, tenant.revision)


@router.patch(
    "/v1/admin/tenants/{tenant}",
    "Change a tenant's weight, quotas and defaults; disable it, or enable it again",
    TenantAnswer,
    body=TenantRequest,
    headers=("If-Match",),
    problems=(Problem.LOCKS_OUT,),
    access=Access.ADMINISTER_ALL,
)
def update_tenant(edge: ApiContext, request: Request) -> Reply:
    """Change a tenant's weight, quotas and defaults; disable it, or enable it again."""
    body, version = read_body(request, MERGE_PATCH), expected_version(request)
    tenant = standing_tenant(edge, request)
    wanted, errors = read_tenant_patch(body, tenant)
    after = _with_shares(tenant, wanted)
    notify = after.defaults.notify
    refuse(errors + (_closed_targets(edge, tenant.name, notify) if notify != tenant.defaults.notify else []))
    is_disabled = tenant.disabled_at is not None
    will_be = bool(wanted.disabled) if "disabled" in wanted.model_fields_set else is_disabled
    check_version("tenant", tenant.revision, version, "change")
    if will_be != is_disabled:
        after = evolve(after, disabled_at=edge.context.clock.now() if will_be else None)
    if will_be and tenant.name == edge.operating_tenant:
        raise ProblemError(
            Problem.LOCKS_OUT, "This tenant operates this Timeball; without it no admin could manage tenants."
        )
    reply = _changed(edge, request, tenant, after, Action.PATCH)
    _follow(edge, after)
    return reply


@router.delete(
    "/v1/admin/tenants/{tenant}",
    "Delete a tenant that is disabled",
    TenantAnswer,
    headers=("If-Match",),
    problems=(Problem.TENANT_ENABLED,),
    access=Access.ADMINISTER_ALL,
)
def delete_tenant(edge: ApiContext, request: Request) -> Reply:
    """Delete a disabled tenant: its keys stop working, and its jobs never start."""
    version = expected_version(request)
    tenant = standing_tenant(edge, request)
    if tenant.disabled_at is None:
        raise ProblemError(
            Problem.TENANT_ENABLED, "Disable this tenant before you delete it, so that its users notice."
        )
    _follow(edge, tenant)  # the disabling request may have been cut off, and nothing stops a deleted tenant
    check_version("tenant", tenant.revision, version, "change")
    after = evolve(tenant, deleted_at=edge.context.clock.now())
    return _changed(edge, request, tenant, after, Action.DELETE)


def standing_tenant(edge: ApiContext, request: Request) -> Tenant:
    """Return the tenant that a request is about: that of its path, or the caller's. Raises ProblemError."""
    name = request.path.get("tenant", request.tenant)
    tenant = edge.admin.tenants.read([name])[0] if TENANT_NAME.fullmatch(name) else None
    if tenant is None or tenant.deleted_at is not None:
        raise no_tenant()
    return tenant


def _follow(edge: ApiContext, tenant: Tenant) -> None:
    """Stop a tenant's work, or resume it within its quotas, as its row says; repeat this if the row changes."""
    for _ in range(TRIES):
        is_disabled = tenant.disabled_at is not None
        (stop_tenant if is_disabled else start_tenant)(edge.context, tenant.name)
        note_quotas(edge.context, tenant.name, tenant.quotas, tenant.defaults)
        standing = edge.admin.tenants.read([tenant.name])[0]
        if standing is None or _followed(standing) == _followed(tenant):
            return
        tenant = standing
    raise UnavailableError(f"tenant {tenant.name} kept changing")


def _followed(tenant: Tenant) -> tuple[bool, Quotas, Defaults]:
    return tenant.disabled_at is not None, tenant.quotas, tenant.defaults


def _share(edge: ApiContext, tenant: Tenant) -> float | None:
    """Return a tenant's weight as a fraction of all enabled tenants' weights; None if it is disabled."""
    if tenant.disabled_at is not None:
        return None
    weights, page = 0, edge.admin.tenants.of_owner(ALL, "", _PAGE)
    while page:
        weights += sum(one.weight for one in page if one.disabled_at is None)
        page = edge.admin.tenants.of_owner(ALL, page[-1].name, _PAGE) if len(page) == _PAGE else []
    return round(tenant.weight / max(weights, tenant.weight), 6)


def _answer(
    edge: ApiContext,
    tenant: Tenant,
    model: type[TenantAnswer] = TenantAnswer,
    used: Mapping[str, int] = MappingProxyType({}),
    **others: Any,  # noqa: ANN401 - the fields that the model has beside
) -> TenantAnswer:
    """Return the answer about a tenant; `used` has the use of quotas, by the names of their fields."""
    quotas = tenant.quotas.over(edge.context.rules.quotas)
    shown = {
        name: {"limit": getattr(quotas, name) or None, "used": used.get(name)} for name in QuotasAnswer.model_fields
    }
    return model.about(tenant, quotas=shown, disabled=tenant.disabled_at is not None, **others)


def _with_shares(tenant: Tenant, wanted: TenantRequest) -> Tenant:
    """Return a tenant with the given weight, quotas and defaults; null sets the default."""
    if "weight" in wanted.model_fields_set:
        tenant = evolve(tenant, weight=wanted.weight or LEAST_WEIGHT)
    if "quotas" in wanted.model_fields_set:
        given = {} if wanted.quotas is None else wanted.quotas.model_dump(exclude_unset=True)
        tenant = evolve(tenant, quotas=NO_QUOTAS if wanted.quotas is None else evolve(tenant.quotas, **given))
    if "defaults" in wanted.model_fields_set:
        asked = wanted.defaults
        stated = {} if asked is None else asked.model_dump(exclude_unset=True, exclude={"notify"})
        if asked is not None and "notify" in asked.model_fields_set:
            stated["notify"] = notify_of(asked.notify)
        tenant = evolve(tenant, defaults=NO_DEFAULTS if wanted.defaults is None else evolve(tenant.defaults, **stated))
    return tenant


def _closed_targets(edge: ApiContext, tenant: str, notify: Notify | None) -> list[FieldError]:
    """Return what is wrong with the targets of a tenant's default, as with those of its jobs, and with their size."""
    errors, field = list[FieldError](), "defaults.notify"
    if notify is None:
        return errors
    if len(compact(notify_document(notify)).encode()) > MOST_NOTIFY_BYTES:
        errors.append(FieldError(field, f"All of it may have {MOST_NOTIFY_BYTES} bytes; shorten bodies and headers."))
    for name, target in targets_of(notify):
        errors += closed_target(edge, tenant, f"{field}.{name}", target, f"{field}.{name}")
    return errors


def _changed(edge: ApiContext, request: Request, before: Tenant, after: Tenant, action: Action) -> Reply:
    """Write a change of a tenant, and return the answer."""
    if after == before:
        return ok(_answer(edge, before), version=before.revision)
    note(edge, request, action, Resource(ResourceKind.TENANT, before.name))
    done = edge.admin.tenants.swap([Swap(before, after)], edge.context.clock.now())[0]
    if not done.done or done.row is None:
        raise ContendedError(f"tenant {before.name} was changed meanwhile")
    return ok(_answer(edge, done.row), version=done.row.revision)
