"""Counted usage in dollars, by prices that a deployment may override."""

import pytest

from timeball.domain.model.runs.values import Spent
from timeball.domain.usage.bill import PRICES, Counted, counts_of, items_of_requests, items_of_runs, parse_prices

MILLION = 1_000_000


IN_TENS = {
    "writeUnits": (6 * MILLION, 3.75),
    "readUnits": (4.3 * MILLION, 0.54),
    "queueRequests": (0.7 * MILLION, 0.28),
    "functionCalls": (0.2 * MILLION, 0.04),
    "executorSeconds": (245_000, 1.63),
}
ALONE = {
    "writeUnits": (6 * MILLION, 3.75),
    "readUnits": (7 * MILLION, 0.88),
    "queueRequests": (7 * MILLION, 2.80),
    "functionCalls": (2 * MILLION, 0.40),
    "executorSeconds": (2_450_000, 16.33),
}


@pytest.mark.parametrize(("together", "dollars"), [(10, IN_TENS), (1, ALONE)])
def test_a_million_plain_runs_of_a_fifth_of_a_second_cost_what_docs_aws_says(
    together: int, dollars: dict[str, tuple[float, float]]
) -> None:
    spent = Spent(6 * MILLION, 4 * MILLION, 1_000 * MILLION // together, 2_450 * MILLION // together)
    items = items_of_runs(counts_of(spent), PRICES, 0.5)
    assert {item.name: (item.quantity, round(item.usd, 2)) for item in items} == dollars
    assert sum(item.usd for item in items) <= 25


def test_requests_are_charged_by_the_gateway_and_the_function() -> None:
    items = items_of_requests({Counted.API_REQUESTS: MILLION, Counted.API_MS: 50 * MILLION}, PRICES)
    assert [(item.name, item.quantity, round(item.usd, 2)) for item in items] == [
        ("apiRequests", MILLION, 1.2),
        ("apiSeconds", 50_000, 0.67),
    ]


def test_usage_that_was_not_counted_costs_nothing() -> None:
    items = items_of_runs({}, PRICES, 1) + items_of_requests({}, PRICES)
    assert {(item.quantity, item.usd) for item in items} == {(0, 0)}


def test_a_setting_overrides_prices_and_the_source_says_so() -> None:
    prices = parse_prices("write_unit=0.000000715,api_request=0.00000116")
    assert (prices.write_unit, prices.api_request, prices.read_unit) == (7.15e-7, 1.16e-6, PRICES.read_unit)
    assert prices.source == f"{PRICES.source}; by setting: write_unit, api_request"
    assert parse_prices("") == PRICES


@pytest.mark.parametrize("text", ["write_unit", "write_unit=", "write_unit=-1", "beer=2", "source=me", "read_unit=nan"])
def test_an_invalid_price_is_refused_with_the_names_that_exist(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be prices in dollars, .* write_unit, read_unit, queue_request"):
        parse_prices(text)
