"""Recent costs of a job or a tenant, by documented prices."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import AnswerModel, Reply, Request, Time, attribute, ok
from timeball.api.http.route import Router
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.bill import BillLine, items_of_requests, items_of_runs
from timeball.engine.stats import Costs, job_costs, tenant_costs

router = Router()

_USD_DIGITS = 9


class ItemAnswer(AnswerModel):
    """A quantity and its price."""

    quantity: float = Field(description="The quantity, in the unit of the item's name.")
    usd: float = Field(description="The price in US dollars.")


class CostAnswer(AnswerModel):
    """The costs since a time, and their items."""

    since: Time = attribute("from_at", description="The start of the window: the beginning of an hour.")
    usd: float = Field(description="The sum of all items in US dollars.")
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

    job_id: str = Field(description="The id of the job.")
    at: Time = Field(description="When it was read: the end of the windows.")


@router.get("/v1/jobs/{jobId}/cost", "Read what a job's runs have cost lately", JobCostAnswer, access=Access.READ)
def get_job_cost(edge: ApiContext, request: Request) -> Reply:
    """Read what a job's runs have cost, from its ledger."""
    job, now = read_job_row(edge, job_key(request)), edge.context.clock.now()
    costs = costs_answer(edge, job_costs(edge.context, job, now))
    return ok(JobCostAnswer(job_id=job.key.job_id, at=format_instant(now), **dict(costs)))


def read_tenant_costs(edge: ApiContext, tenant: str) -> CostsAnswer:
    """Read what a tenant's runs and requests have cost."""
    return costs_answer(edge, tenant_costs(edge.context, tenant, edge.context.clock.now()), with_requests=True)


def costs_answer(edge: ApiContext, windows: Sequence[Costs], *, with_requests: bool = False) -> CostsAnswer:
    """Return the answer about the costs of a day and a month."""
    day, month = (
        _cost_answer(
            one,
            items_of_runs(one.counts, edge.prices, edge.executor_gb)
            + (items_of_requests(one.counts, edge.prices) if with_requests else []),
        )
        for one in windows
    )
    return CostsAnswer(prices=edge.prices.source, day=day, month=month)


def _cost_answer(costs: Costs, items: Sequence[BillLine]) -> CostAnswer:
    return CostAnswer.about(
        costs,
        usd=round(sum(item.usd for item in items), _USD_DIGITS),
        items={
            item.name: ItemAnswer(quantity=round(item.quantity, 3), usd=round(item.usd, _USD_DIGITS)) for item in items
        },
    )
