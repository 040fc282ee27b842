"""What a job has cost lately, by documented prices; of a tenant its admins are told the same (functions/api/admin)."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from functions.api.http.edge import Edge, job_key, read_job_row
from functions.api.http.reply import Answer, Reply, Time, ok
from functions.api.http.request import Request
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.bill import Item, items_of_requests, items_of_runs
from timeball.engine.stats.costs import Costs, job_costs, tenant_costs

_USD_DIGITS = 9


class ItemAnswer(Answer):
    """How much of something, and what that is in dollars."""

    quantity: float
    usd: float


class CostAnswer(Answer):
    """What was spent since some time, in dollars, and what that is made of."""

    since: Time = Field(description="The beginning of an hour.")
    usd: float = Field(description="In US dollars: all items together.")
    exact: bool = Field(
        description="Of a job: whether all of its runs were read; else the newest tell of all. Of a tenant: false."
    )
    items: Mapping[str, ItemAnswer] = Field(
        description="`writeUnits`, `readUnits`, `queueRequests`, `functionCalls` and `executorSeconds` of runs; of a "
        "tenant also `apiRequests` and `apiSeconds`."
    )


class CostsAnswer(Answer):
    """What was spent within the last day, and within the last 30 days."""

    prices: str = Field(description="Where the prices are from.")
    day: CostAnswer
    month: CostAnswer


class JobCostAnswer(CostsAnswer):
    """What the fires of a job have cost whose time was within each window."""

    job_id: str
    at: Time


def read_job_cost(edge: Edge, request: Request) -> Reply:
    """Tell what a job's runs have cost, from its ledger."""
    job, now = read_job_row(edge, job_key(request)), edge.context.clock.now()
    costs = costs_answer(edge, job_costs(edge.context, job, now))
    return ok(JobCostAnswer(job_id=job.key.job_id, at=format_instant(now), **dict(costs)))


def read_tenant_costs(edge: Edge, tenant: str) -> CostsAnswer:
    """Read what a tenant's runs and requests have cost."""
    return costs_answer(edge, tenant_costs(edge.context, tenant, edge.context.clock.now()), with_requests=True)


def costs_answer(edge: Edge, windows: Sequence[Costs], *, with_requests: bool = False) -> CostsAnswer:
    """Return the answer about a day and a month."""
    day, month = (
        _cost_answer(
            one,
            items_of_runs(one.counts, edge.prices, edge.executor_gb)
            + (items_of_requests(one.counts, edge.prices) if with_requests else []),
        )
        for one in windows
    )
    return CostsAnswer(prices=edge.prices.source, day=day, month=month)


def _cost_answer(costs: Costs, items: Sequence[Item]) -> CostAnswer:
    return CostAnswer(
        since=format_instant(costs.from_at),
        usd=round(sum(item.usd for item in items), _USD_DIGITS),
        exact=costs.is_exact,
        items={
            item.name: ItemAnswer(quantity=round(item.quantity, 3), usd=round(item.usd, _USD_DIGITS)) for item in items
        },
    )
