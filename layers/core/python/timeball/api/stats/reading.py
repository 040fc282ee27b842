"""Read a tenant's statistics from samples of the listing, counts by the hour, and figures of SQS."""

from collections.abc import Sequence

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.reply import Reply, ok
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.stats.answers import (
    DepthAnswer,
    RefusedAnswer,
    SloAnswer,
    StatsAnswer,
    count_answer,
    depth_answer,
    window_answer,
)
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.key import Role
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.hours import UNKNOWN_TENANT
from timeball.engine.context import Context
from timeball.engine.stats import count_jobs, read_windows, refused_callers

router = Router()


@router.get("/v1/stats", "Count jobs by status, and dead letters", StatsAnswer, access=Access.READ)
def get_stats(edge: ApiContext, request: Request) -> Reply:
    """Read how many jobs and dead letters a tenant has; for some callers also queues and refused requests."""
    context, tenant = edge.context, request.tenant
    now, is_operating = context.clock.now(), tenant == edge.operating_tenant
    return ok(
        StatsAnswer(
            at=format_instant(now),
            jobs={status: count_answer(one) for status, one in count_jobs(context, tenant).items()},
            dead_letters=count_answer(context.store.runs.count_dead_letters(tenant)),
            queues=_queues(context) if is_operating else None,
            failed_authentications=_refused(context, [tenant, *([UNKNOWN_TENANT] if is_operating else [])], now)
            if request.by.role == Role.ADMIN
            else None,
        )
    )


def _queues(context: Context) -> dict[str, DepthAnswer]:
    """Return the depth of each queue, which carries messages of all tenants."""
    return {priority.value: depth_answer(context.queue.depth(priority)) for priority in Priority}


def _refused(context: Context, tenants: Sequence[str], now: int) -> RefusedAnswer:
    since, counts = refused_callers(context, tenants, now)
    return RefusedAnswer(since=format_instant(since), count=sum(counts.values()), by_reason=counts)


@router.get("/v1/slo", "Read how late runs were, and how many failed", SloAnswer, access=Access.READ)
def get_slo(edge: ApiContext, request: Request) -> Reply:
    """Read how punctual a tenant's runs were lately."""
    now = edge.context.clock.now()
    windows = read_windows(edge.context, request.tenant, now)
    return ok(SloAnswer(at=format_instant(now), windows={one.name: window_answer(one) for one in windows}))
