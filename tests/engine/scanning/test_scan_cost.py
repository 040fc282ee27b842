"""A scan's requests do not grow with the jobs that are not due, and a run's writes stay within its budget."""

import pytest

from bench.bill import METRICS_OF_TICKS, idle_month, standby_month
from bench.charges import requests_of_a_scan, write_units_of_a_run
from bench.endpoint import endpoint
from bench.handlers import measure
from bench.metering import write_units
from infra.settings import Settings


def test_a_scan_makes_as_many_requests_with_two_hundred_jobs_that_are_not_due_as_with_ten() -> None:
    assert requests_of_a_scan(10) == requests_of_a_scan(200) < 70


def test_an_idle_timeball_costs_less_than_six_dollars_a_month() -> None:
    with endpoint() as aws:
        scans = measure("idle", aws)
    assert scans["requests"] <= 6
    assert scans["read_units"] <= 2.6
    assert scans["first_requests"] <= 16
    # `make bench` shows how long a scan takes; under load no test can measure it.
    for metrics, most in ((0, 5.65), (METRICS_OF_TICKS, 6.00)):
        dollars = sum(item.dollars for item in idle_month(scans["read_units"], cpu_ms=3.0, metrics=metrics))
        assert dollars < most


def test_an_idle_large_timeball_costs_what_docs_aws_says() -> None:
    large = Settings.read({"timeball:stage": "large"})
    with endpoint() as aws:
        scans = measure("idle", aws, str(large.functions.rules.shards // large.partitions))
    assert scans["read_units"] <= 21
    items = idle_month(20.525, 5.5, large.partitions, large.pollers, large.scan_memory_mb)
    assert round(sum(item.dollars for item in items)) == 164


def test_standby_executions_cost_less_than_three_and_a_half_dollars_a_month() -> None:
    assert standby_month(cpu_ms=3.0) + 0.33 < 3.50  # plus the notes, which every deployment writes


def test_a_run_stays_within_its_budget_of_write_units() -> None:
    units = write_units_of_a_run()
    assert units["recurring"] <= 6
    assert units["guarded"] <= 6 + 2
    assert units["jittered"] <= 6 + 3 + 1  # into the due index and out of it again; notable, if it ends late enough
    assert units["one-off"] <= 11


BARE = {"pk": {"S": "a"}, "sk": {"S": "b"}}
DUE = {**BARE, "due_bucket": {"S": "1"}, "due_at": {"N": "1"}}
LATER = {**DUE, "due_at": {"N": "2"}}

# Columns: the row before, the row after, and the units by DynamoDB's published rules.
UNITS = {
    "a row appears": (None, BARE, 1),
    "a row appears in an index": (None, DUE, 2),
    "a row changes, its index key does not": (DUE, {**DUE, "state": {"S": "x"}}, 1),
    "an index key changes": (DUE, LATER, 3),
    "an index key goes": (DUE, BARE, 2),
    "a row of more than a KB": (None, {**BARE, "body": {"S": "x" * 1_100}}, 2),
}


@pytest.mark.parametrize("case", UNITS)
def test_write_units_follow_the_published_rules(case: str) -> None:
    before, after, units = UNITS[case]
    assert write_units(before, after) == units
