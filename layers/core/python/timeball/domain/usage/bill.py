"""The bill of what was counted, item by item and in dollars.

The writes of a run are known (spending.py), and so is its share of its executors' time. Its share of a batch is known
from the batch in which an executor received it; the other batches on its way are assumed to be as full.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.model.runs.spent import Spent
from timeball.domain.usage.prices import Prices

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
