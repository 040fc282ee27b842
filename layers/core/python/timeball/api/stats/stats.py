"""Read a tenant's statistics from samples of the listing, counts by the hour, and figures of SQS."""

from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, Seconds, Time, attribute, ok
from timeball.api.http.route import Router
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.key import Role
from timeball.domain.usage.hours import UNKNOWN_TENANT, Figures
from timeball.engine.stats import StatsWindow, count_jobs, read_windows, refused_callers

router = Router()


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
    jobs: dict[str, CountAnswer] = Field(description="The number of jobs in each status.")
    dead_letters: CountAnswer = Field(description="The number of dead letters.")
    queues: dict[str, DepthAnswer] | None = Field(
        description="The queue of each priority; null outside of the operating tenant."
    )
    failed_authentications: RefusedAnswer | None = Field(
        description="Requests with invalid keys; null unless the caller's role is `admin`."
    )


class OnTimeAnswer(AnswerModel):
    """The fraction of runs that started at most so late; null if none started."""

    within1_second: float | None = Field(description="At most 1 second late.")
    within5_seconds: float | None = Field(description="At most 5 seconds late.")
    within30_seconds: float | None = Field(description="At most 30 seconds late.")


class LatenessAnswer(AnswerModel):
    """Percentiles of lateness, up to a third too high; null if none started."""

    p50_seconds: Seconds | None = Field(description="Half of the runs were at most so many seconds late.")
    p99_seconds: Seconds | None = Field(description="99 % of the runs were at most so many seconds late.")


class FiguresAnswer(AnswerModel):
    """Figures of runs."""

    started: int = Field(description="Runs whose first attempt began, including backfills.")
    succeeded: int = Field(description="Runs that succeeded.")
    retried: int = Field(description="Attempts that another attempt followed.")
    dead: int = Field(description="Runs that failed for good.")
    skipped: int = Field(description="Fires without a run, or whose run never started.")
    failure_rate: float | None = Field(description="`dead` divided by `dead` plus `succeeded`; null if both are 0.")
    on_time: OnTimeAnswer = Field(description="The fraction of runs on time, without backfills.")
    lateness: LatenessAnswer = Field(description="Percentiles of lateness, without backfills.")


class WindowAnswer(AnswerModel):
    """A time window, and the figures of its runs."""

    since: Time = attribute("from_at", description="The start of the window: the beginning of an hour.")
    total: FiguresAnswer = Field(description="The figures of all runs.")
    by_priority: dict[str, FiguresAnswer] = Field(description="The figures of each priority.")


class SloAnswer(AnswerModel):
    """How punctual a tenant's runs were, in windows that end now."""

    at: Time = Field(description="When it was read: the end of the windows.")
    windows: dict[str, WindowAnswer] = Field(description="The windows `hour`, `day` and `month` (30 days).")


@router.get("/v1/stats", "Count jobs by status, and dead letters", StatsAnswer, access=Access.READ)
def get_stats(edge: ApiContext, request: Request) -> Reply:
    """Read how many jobs and dead letters a tenant has; for some callers also queues and refused requests."""
    context, tenant = edge.context, request.tenant
    now, is_operating = context.clock.now(), tenant == edge.operating_tenant
    stats = {
        "at": now,
        "jobs": count_jobs(context, tenant),
        "dead_letters": context.store.runs.count_dead_letters(tenant),
        "queues": None,
        "failed_authentications": None,
    }
    if is_operating:  # a queue carries messages of all tenants
        stats["queues"] = {priority: context.queue.depth(priority) for priority in Priority}
    if request.by.role == Role.ADMIN:
        since, counts = refused_callers(context, [tenant, *([UNKNOWN_TENANT] if is_operating else [])], now)
        stats["failed_authentications"] = {"since": since, "count": sum(counts.values()), "by_reason": counts}
    return ok(StatsAnswer.model_validate(stats))


@router.get("/v1/slo", "Read how late runs were, and how many failed", SloAnswer, access=Access.READ)
def get_slo(edge: ApiContext, request: Request) -> Reply:
    """Read how punctual a tenant's runs were lately."""
    now = edge.context.clock.now()
    windows = read_windows(edge.context, request.tenant, now)
    return ok(SloAnswer.model_validate({"at": now, "windows": {one.name: _window(one) for one in windows}}))


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
