"""The bill of counted usage, item by item, in dollars by the prices of AWS.

The prices are those of us-east-1, from AWS's public price pages of 2026-11-21, without free tiers and discounts. They
are the only source for the costs that tenants see and for those that `bench` prints.

The writes of a run are known (spending.py), and so is its share of its executors' time. Its share of a batch is known
from the batch in which an executor received it; the other batches on its way are assumed to be as full.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

from timeball.domain.model.runs.values import Spent

_MILLION: Final = 1e6
SECONDS_A_MONTH: Final = 730 * 3600


@dataclass(frozen=True)
class Prices:
    """The price of one unit of each, in dollars."""

    write_unit: float = 0.625 / _MILLION
    """DynamoDB: a write of up to 1 KB."""
    read_unit: float = 0.125 / _MILLION
    """DynamoDB: a strong read of up to 4 KB; any other read is half a unit."""
    queue_request: float = 0.40 / _MILLION
    """SQS: a request."""
    function_request: float = 0.20 / _MILLION
    """Lambda: a call."""
    function_gb_second: float = 0.000_013_333_4
    """Lambda on Graviton: a GB-second."""
    api_request: float = 1.00 / _MILLION
    """API Gateway: a request."""
    express_start: float = 1.00 / _MILLION
    """Step Functions Express: a start."""
    express_gb_second: float = 0.000_016_67
    """Step Functions Express: a GB-second; memory is counted in whole chunks of 64 MB."""
    poller_hour: float = 0.00925
    """SQS to Lambda: a provisioned poller for an hour."""
    metric_month: float = 0.30
    """CloudWatch: a series of a metric for a month."""
    alarm_month: float = 0.10
    """CloudWatch: an alarm on one metric for a month."""
    composite_alarm_month: float = 0.50
    """CloudWatch: an alarm made of others for a month."""
    dashboard_month: float = 3.00
    """CloudWatch: a dashboard for a month."""
    log_gb: float = 0.50
    """CloudWatch: a GB of log lines."""
    source: str = "AWS's public price pages, us-east-1, 2026-11-21"
    """Where the prices come from."""


PRICES: Final = Prices()


def parse_prices(text: str) -> Prices:
    """Return the prices, with those replaced that a text names: `write_unit=0.000000715,api_request=0.00000116`.

    Raises ValueError with the end of a sentence that the setting's name begins.
    """
    known = [one.name for one in fields(Prices) if one.name != "source"]
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, dollars = part.partition("=")
        try:
            given[name] = float(dollars)
        except ValueError:
            given[name] = -1
        if name not in known or not 0 <= given[name] < 1_000:
            raise ValueError(f"must be prices in dollars, such as write_unit=0.000000715, of {', '.join(known)}")
    source = f"{PRICES.source}; by setting: {', '.join(given)}" if given else PRICES.source
    return replace(PRICES, source=source, **given)


QUEUE_REQUESTS_OF_A_BATCH: Final = 7
"""Messages are sent, received, hidden and deleted; the watch that goes with them is sent, received and deleted."""
CALLS_OF_A_BATCH: Final = 2
"""The call of an executor, and of the function that handles the watch."""
READ_UNITS_OF_A_BATCH: Final = 3
"""The blackouts, read by the scan and by the claim; and the resource."""

_API_GB = 1.0
_THOUSAND = 1_000


class Counted(StrEnum):
    """The names of the hourly counts that cost money: the fields of `Spent`, and requests to the API."""

    WRITE_UNITS = "WriteUnits"
    READ_UNITS = "ReadUnits"
    BATCHES = "Batches"
    EXECUTOR_MS = "ExecutorMs"
    API_REQUESTS = "ApiRequests"
    API_MS = "ApiMs"


@dataclass(frozen=True)
class BillLine:
    """A line of a bill."""

    name: str
    """The item, as the API shows it."""
    quantity: float
    """How much of it."""
    usd: float
    """Its price in dollars."""


def counts_of(spent: Spent) -> dict[str, int]:
    """Return the cost of runs as hourly counts."""
    return {
        Counted.WRITE_UNITS: spent.write_units,
        Counted.READ_UNITS: spent.read_units,
        Counted.BATCHES: spent.batches,
        Counted.EXECUTOR_MS: spent.executor_ms,
    }


def items_of_runs(counts: Mapping[str, float], prices: Prices, executor_gb: float) -> list[BillLine]:
    """Return the bill of runs; `executor_gb` is the memory of an executor."""
    batches = counts.get(Counted.BATCHES, 0) / _THOUSAND
    reads = counts.get(Counted.READ_UNITS, 0) + READ_UNITS_OF_A_BATCH * batches
    seconds = counts.get(Counted.EXECUTOR_MS, 0) / _THOUSAND
    return [
        _item("writeUnits", counts.get(Counted.WRITE_UNITS, 0), prices.write_unit),
        _item("readUnits", reads, prices.read_unit),
        _item("queueRequests", QUEUE_REQUESTS_OF_A_BATCH * batches, prices.queue_request),
        _item("functionCalls", CALLS_OF_A_BATCH * batches, prices.function_request),
        _item("executorSeconds", seconds, executor_gb * prices.function_gb_second),
    ]


def items_of_requests(counts: Mapping[str, float], prices: Prices) -> list[BillLine]:
    """Return the bill of requests to the API."""
    seconds = counts.get(Counted.API_MS, 0) / _THOUSAND
    return [
        _item("apiRequests", counts.get(Counted.API_REQUESTS, 0), prices.api_request + prices.function_request),
        _item("apiSeconds", seconds, _API_GB * prices.function_gb_second),
    ]


def _item(name: str, quantity: float, price: float) -> BillLine:
    return BillLine(name, quantity, quantity * price)
