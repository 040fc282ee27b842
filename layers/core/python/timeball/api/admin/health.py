"""Read the health of all tenants, as an admin of the operating tenant. No payload is read or shown."""

from typing import Final

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, text_like
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request, Time, attribute
from timeball.api.http.route import Router
from timeball.domain.model.tenants.tenant import TENANT_NAME
from timeball.engine.tenant_health import MOST_EXAMINED, read_health
from timeball.ports.tenants import ALL

router = Router()

MOST_TENANTS: Final = 50
"""The most tenants of a page: each costs some ten requests to the table."""


class TenantHealthAnswer(AnswerModel):
    """The health of a tenant."""

    tenant: str = Field(description="The name of the tenant.")
    disabled: bool = Field(description="Whether it is disabled: nothing of it starts.")
    late: int = attribute(
        "runs.late",
        description=f"Runs that are more than 5 s past their start and have not started; at most {MOST_EXAMINED}.",
    )
    held: int = attribute(
        "runs.held",
        description="The late runs among these that wait for a limit, a parent, a freeze, an earlier run of their job, "
        "or a resource that keeps failing.",
    )
    throttled: int = attribute(
        "runs.throttled", description="The late runs among these that wait for a quota of the tenant."
    )
    late_exact: bool = attribute(
        "is_exact", description="Whether all late runs were counted; false: there may be more."
    )
    dead: int = attribute("dead.count", description="Its dead letters.")
    dead_exact: bool = attribute(
        "dead.is_exact", description="Whether all dead letters were counted; false: an estimate."
    )
    oldest_due_at: Time | None = Field(
        description="When the oldest of its jobs and runs was due that the scheduler has not processed; null: none."
    )


class TenantHealthPageAnswer(AnswerModel):
    """A page of the health of tenants, by name."""

    items: list[TenantHealthAnswer] = Field(description="The tenants.")
    next_cursor: NextCursor


@router.get(
    "/v1/admin/health",
    "List the tenants with what is late, held, throttled and dead",
    TenantHealthPageAnswer,
    query=PAGE,
    access=Access.ADMINISTER_ALL,
)
def list_tenant_health(edge: ApiContext, request: Request) -> Reply:
    """List the health of all tenants by name, for an admin of the operating tenant."""
    asked = PageQuery(request)
    (after,) = asked.after(text_like(TENANT_NAME)) or ("",)
    most = min(asked.limit, MOST_TENANTS)
    found = edge.admin.tenants.of_owner(ALL, after, most + 1)
    standing = [one for one in found[:most] if one.deleted_at is None]
    healths = read_health(edge.context, [one.name for one in standing])
    shown = (
        (TenantHealthAnswer.about(health, disabled=one.disabled_at is not None), (one.name,))
        for one, health in zip(standing, healths, strict=True)
    )
    return asked.page(edge, shown, (found[most - 1].name,) if len(found) > most else None)
