"""A caller that may read a job sees its costs, item by item and in dollars."""

from dataclasses import replace

import pytest

from tests.api.client import Api
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Spent
from timeball.domain.usage.bill import PRICES


def with_a_run(api: Api, **fields: object) -> str:
    """Create a job of which one run has succeeded; return its id."""
    job = str(api.create(**fields)["jobId"])
    run = next(one for one in api.store.runs.values() if one.id.job.job_id == job)
    api.put(replace(run, state=RunState.SUCCEEDED, attempt=1, spent=Spent(11, 4, 500, 1_600)))
    return job


def test_a_jobs_cost_is_shown_by_items_and_prices(api: Api) -> None:
    job = with_a_run(api)
    answer = api.call("GET", f"/v1/jobs/{job}/cost", role="viewer")
    assert answer.status == 200, answer.text
    body = answer.body
    assert (body["jobId"], body["at"], body["prices"]) == (job, "2026-11-21T09:30:00.250Z", PRICES.source)
    assert body["day"] == {
        "since": "2026-11-20T09:00:00.000Z",
        "usd": 2.5163e-05,
        "exact": True,
        "items": {
            "writeUnits": {"quantity": 11, "usd": 6.875e-06},
            "readUnits": {"quantity": 5.5, "usd": 6.87e-07},
            "queueRequests": {"quantity": 3.5, "usd": 1.4e-06},
            "functionCalls": {"quantity": 1, "usd": 2e-07},
            "executorSeconds": {"quantity": 1.6, "usd": 1.6e-05},
        },
    }
    assert body["month"] == {**body["day"], "since": "2026-10-22T09:00:00.000Z"}


def test_a_job_that_has_not_run_has_cost_nothing(api: Api) -> None:
    job = api.create(everySeconds=3600)["jobId"]
    body = api.call("GET", f"/v1/jobs/{job}/cost").body
    assert (body["day"]["usd"], body["month"]["usd"]) == (0, 0)


@pytest.mark.parametrize(("bounds", "status"), [({"team": "a"}, 200), ({"team": "b"}, 404)])
def test_a_bounded_key_reads_only_the_costs_of_its_own_jobs(api: Api, bounds: dict[str, str], status: int) -> None:
    job = with_a_run(api, tags={"team": "a"})
    assert api.call("GET", f"/v1/jobs/{job}/cost", role="viewer", bounds=bounds).status == status


def test_the_cost_of_another_tenants_job_is_not_found(api: Api) -> None:
    job = with_a_run(api)
    assert api.call("GET", f"/v1/jobs/{job}/cost", tenant="globex").status == 404
    assert api.call("GET", "/v1/jobs/nothing/cost").status == 404
