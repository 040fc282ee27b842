"""Read a tenant's statistics and costs: from samples of the listing, counts by the hour, and figures of SQS.

The costs of a job are estimated from its ledger. Prices are documented.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import AnswerModel, IdOfJob, Reply, Request, Seconds, Time, as_of, attribute
from timeball.api.http.route import Router
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.key import Role
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.bill import items_of_requests, items_of_runs
from timeball.domain.usage.hours import UNKNOWN_TENANT, Figures
from timeball.engine.objective.overdue import read_overdue
from timeball.engine.stats import (
    UNDER_WAY,
    WAITING,
    Costs,
    LiveRuns,
    StatsWindow,
    count_jobs,
    job_costs,
    live_runs,
    oldest_due,
    read_windows,
    refused_callers,
    tenant_costs,
)

router = Router()

_Usd = Annotated[float, AfterValidator(partial(round, ndigits=9))]


class CountAnswer(AnswerModel):
    """A count or an estimate."""

    count: int = Field(description="How many there are.")
    exact: bool = attribute("is_exact", description="Whether all were counted.")
    standard_error: Annotated[float, AfterValidator(partial(round, ndigits=1))] = Field(
        description="The error of an estimate is at most this two times in three. 0 for a count."
    )


class DepthAnswer(AnswerModel):
    """About how many messages of all tenants a queue holds, according to SQS."""

    waiting: int = Field(description="Messages that can be received now.")
    in_flight: int = Field(description="Messages that executors have received.")
    delayed: int = Field(description="Messages whose delivery is delayed.")


class LiveAnswer(AnswerModel):
    """Runs that have not ended, as far as the list of runs has them: without those on time for their first seconds."""

    count: int = Field(description="How many there are.")
    exact: bool = Field(description="Whether all were counted; false where there are at least so many.")
    oldest_at: Time | None = Field(description="Since when the oldest one runs, or could have started; null: none.")
    age_seconds: Seconds = Field(description="How long ago that is, in seconds; 0: there is none.")


class RefusedAnswer(AnswerModel):
    """Requests with invalid keys: this tenant's, and for the operating tenant also those of unknown keys."""

    since: Time = Field(description="The start of the count: the beginning of an hour about a day ago.")
    count: int = Field(description="The number of requests.")
    by_reason: dict[str, int] = Field(
        description="The number for each reason: `expired` or `revoked`; `unknown` or `malformed`."
    )


class StatsAnswer(AnswerModel):
    """A tenant's present state."""

    at: Time = Field(description="When it was read.")
    last_tick_at: Time | None = Field(description="When the scheduler last ticked, to some five seconds; null: never.")
    oldest_due_at: Time | None = Field(
        description="When the oldest of your jobs and runs was due that the scheduler has not processed; null: none."
    )
    jobs: dict[str, CountAnswer] = Field(description="The number of jobs in each status.")
    dead_letters: CountAnswer = Field(description="The number of dead letters.")
    running: LiveAnswer = Field(description="Runs that have begun, also while they wait for their next attempt.")
    waiting: LiveAnswer = Field(description="Runs that have not begun although their start has come.")
    queues: dict[str, DepthAnswer] | None = Field(
        description="The queue of each priority; null outside of the operating tenant."
    )
    failed_authentications: RefusedAnswer | None = Field(
        description="Requests with invalid keys; null unless the caller's role is `admin`."
    )


class OnTimeAnswer(AnswerModel):
    """The fraction of runs that started at most so late, of those that started or should have; null: there are none."""

    within1_second: float | None = Field(description="At most 1 second late.")
    within5_seconds: float | None = Field(description="At most 5 seconds late.")
    within30_seconds: float | None = Field(description="At most 30 seconds late.")


class LatenessAnswer(AnswerModel):
    """Percentiles of lateness, up to a third too high; null if none started, and in windows below an hour."""

    p50_seconds: Seconds | None = Field(description="Half of the runs were at most so many seconds late.")
    p99_seconds: Seconds | None = Field(description="99 % of the runs were at most so many seconds late.")


class FiguresAnswer(AnswerModel):
    """Figures of runs."""

    started: int = Field(description="Runs whose first attempt began, including backfills.")
    succeeded: int = Field(description="Runs that succeeded.")
    retried: int = Field(description="Attempts that another attempt followed.")
    dead: int = Field(description="Runs that failed for good.")
    skipped: int = Field(description="Fires without a run, or whose run never started.")
    missed: int = Field(description="Of these, fires that Timeball missed: they were due while it ran nothing.")
    overdue: Annotated[int, BeforeValidator(len)] = Field(
        description="Runs and fires that were due more than 5 seconds ago, wait for nothing, and have not started."
    )
    failure_rate: float | None = Field(description="`dead` divided by `dead` plus `succeeded`; null if both are 0.")
    on_time: OnTimeAnswer = Field(
        description="The fraction of runs on time, without backfills; `missed` and `overdue` ones were not."
    )
    lateness: LatenessAnswer = Field(description="Percentiles of lateness, without backfills.")


class WindowAnswer(AnswerModel):
    """A time window, and the figures of its runs."""

    since: Time = attribute(
        "from_at",
        description="The start of the window: the beginning of an hour; below an hour, a multiple of five minutes.",
    )
    total: FiguresAnswer = Field(description="The figures of all runs.")
    by_priority: dict[str, FiguresAnswer] = Field(description="The figures of each priority.")


class SloAnswer(AnswerModel):
    """How punctual a tenant's runs were, in windows that end now."""

    at: Time = Field(description="When it was read: the end of the windows.")
    overdue_exact: bool = Field(description="Whether all overdue starts were counted; false: there are more.")
    windows: dict[str, WindowAnswer] = Field(
        description=(
            "The windows `fiveMinutes`, `halfHour`, `hour`, `sixHours`, `day`, `threeDays` and `month` (30 days)."
        )
    )


class ItemAnswer(AnswerModel):
    """A quantity and its price."""

    quantity: Annotated[float, AfterValidator(partial(round, ndigits=3))] = Field(
        description="The quantity, in the unit of the item's name."
    )
    usd: _Usd = Field(description="The price in US dollars.")


class CostAnswer(AnswerModel):
    """The costs since a time, and their items."""

    since: Time = attribute("from_at", description="The start of the window: the beginning of an hour.")
    usd: _Usd = Field(description="The sum of all items in US dollars.")
    exact: bool = attribute(
        "is_exact",
        description=(
            "For a job: whether all of its runs were read; otherwise the newest runs are extrapolated "
            "to all. For a tenant: false."
        ),
    )
    items: Mapping[str, ItemAnswer] = Field(
        description=(
            "`writeUnits`, `readUnits`, `queueRequests`, `functionCalls` and `executorSeconds` of runs; for a "
            "tenant also `apiRequests` and `apiSeconds`."
        )
    )


class CostsAnswer(AnswerModel):
    """The costs of the last day and of the last 30 days."""

    prices: str = Field(description="The source of the prices.")
    day: CostAnswer = Field(description="The costs of the last day.")
    month: CostAnswer = Field(description="The costs of the last 30 days.")


class JobCostAnswer(CostsAnswer):
    """The costs of a job's fires whose time is within each window."""

    job_id: IdOfJob
    at: Time = Field(description="When it was read: the end of the windows.")


@router.get("/v1/stats", "Count jobs by status, runs and dead letters", StatsAnswer, access=Access.READ)
def get_stats(edge: ApiContext, request: Request) -> Reply:
    """Read how many jobs and dead letters a tenant has; for some callers also queues and refused requests."""
    context, tenant = edge.context, request.tenant
    now, is_operating = context.clock.now(), tenant == edge.operating_tenant
    stats: dict[str, Any] = {
        "at": now,
        "last_tick_at": context.store.partitions.last_tick(0),
        "oldest_due_at": oldest_due(context, tenant, now),
        "jobs": count_jobs(context, tenant),
        "dead_letters": context.store.runs.count_dead_letters(tenant),
        "running": _live(live_runs(context, tenant, UNDER_WAY), now),
        "waiting": _live(live_runs(context, tenant, WAITING), now),
        "queues": None,
        "failed_authentications": None,
    }
    if is_operating:  # a queue carries messages of all tenants
        stats["queues"] = {priority: context.queue.depth(priority) for priority in Priority}
    if request.by.role == Role.ADMIN:
        since, counts = refused_callers(context, [tenant, *([UNKNOWN_TENANT] if is_operating else [])], now)
        stats["failed_authentications"] = {"since": since, "count": sum(counts.values()), "by_reason": counts}
    age = {"age_seconds": True}
    return as_of(StatsAnswer.model_validate(stats), {"at": True, "last_tick_at": True, "running": age, "waiting": age})


def _live(live: LiveRuns, now: int) -> LiveAnswer:
    age_ms = 0 if live.oldest_at is None else max(0, now - live.oldest_at)
    return LiveAnswer.about(live, exact=live.is_exact, age_seconds=age_ms)


@router.get("/v1/slo", "Read how late runs were, and how many failed", SloAnswer, access=Access.READ)
def get_slo(edge: ApiContext, request: Request) -> Reply:
    """Read how punctual a tenant's runs were lately."""
    now = edge.context.clock.now()
    overdue = read_overdue(edge.context, request.tenant, now)
    windows = {one.name: _window(one) for one in read_windows(edge.context, request.tenant, now, overdue=overdue)}
    answer = SloAnswer.model_validate({"at": now, "overdue_exact": overdue.is_exact, "windows": windows})
    return as_of(answer, {"at": True})


def _window(window: StatsWindow) -> WindowAnswer:
    by_priority = {priority: _figures(one) for priority, one in window.by_priority.items()}
    return WindowAnswer.about(window, total=_figures(window.total), by_priority=by_priority)


def _figures(figures: Figures) -> FiguresAnswer:
    within = figures.on_time()
    return FiguresAnswer.about(
        figures,
        on_time=OnTimeAnswer(within1_second=within[1], within5_seconds=within[5], within30_seconds=within[30]),
        lateness={"p50_seconds": figures.percentile_ms(0.5), "p99_seconds": figures.percentile_ms(0.99)},
    )


@router.get("/v1/jobs/{jobId}/cost", "Read what a job's runs have cost lately", JobCostAnswer, access=Access.READ)
def get_job_cost(edge: ApiContext, request: Request) -> Reply:
    """Read what a job's runs have cost, from its ledger."""
    job, now = read_job_row(edge, job_key(request)), edge.context.clock.now()
    costs = _costs(edge, job_costs(edge.context, job, now))
    return as_of(JobCostAnswer(job_id=job.key.job_id, at=format_instant(now), **costs), {"at": True})


def read_tenant_costs(edge: ApiContext, tenant: str) -> CostsAnswer:
    """Read what a tenant's runs and requests have cost."""
    costs = tenant_costs(edge.context, tenant, edge.context.clock.now())
    return CostsAnswer(**_costs(edge, costs, with_requests=True))


def _costs(edge: ApiContext, windows: Sequence[Costs], *, with_requests: bool = False) -> dict[str, Any]:
    """Return the costs of a day and a month, and the source of the prices."""
    found: dict[str, Any] = {"prices": edge.prices.source}
    for name, costs in zip(("day", "month"), windows, strict=True):
        items = items_of_runs(costs.counts, edge.prices, edge.executor_gb)
        items += items_of_requests(costs.counts, edge.prices) if with_requests else []
        total = sum(item.usd for item in items)
        found[name] = CostAnswer.about(costs, usd=total, items={item.name: item for item in items})
    return found
