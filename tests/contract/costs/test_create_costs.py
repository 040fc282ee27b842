"""The cost of creating a job that is not yet due: the figures that `make bench` prints."""

from bench.charges import charges_of_a_create
from bench.handlers import NOT_DUE


def test_a_creation_that_is_not_yet_due_costs_at_most_two_requests_and_four_write_units() -> None:
    charges = charges_of_a_create("/v1/jobs", NOT_DUE)
    assert len(charges.requests) <= 2, charges.requests
    assert charges.units <= 4, charges.writes


def test_a_job_costs_no_more_in_a_batch() -> None:
    charges = charges_of_a_create("/v1/jobs:batch", {"jobs": [NOT_DUE] * 5})
    assert len(charges.requests) <= 2 * 5, charges.requests
    assert charges.units <= 4 * 5, charges.writes
