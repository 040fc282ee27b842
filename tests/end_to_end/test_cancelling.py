"""A cancelled job calls nobody; a job that runs after it is the witness that its time has passed."""

import time

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import until
from timeball.domain.instants import SECOND_MS, format_instant

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_the_api_is_healthy_and_says_so_to_anybody(client: ApiClient) -> None:
    answer = ApiClient(client.url, None).send("GET", "/healthz")
    assert (answer.status, answer.body) == (200, {"status": "ok"})


def test_nothing_arrives_from_jobs_that_were_cancelled_before_or_after_their_dispatch(
    client: ApiClient, receiver: Receiver
) -> None:
    second = (time.time_ns() // 1_000_000_000 + 1) * SECOND_MS
    at = {name: format_instant(second + ahead * SECOND_MS) for name, ahead in [("soon", 4), ("later", 8), ("last", 10)]}
    # What is due within the look-ahead is in a queue before the answer; what is due later is not.
    soon, later, witness = (
        client.create({"handler": f"{receiver.url}/ok", "name": name, "scheduleAt": at[name]}) for name in at
    )
    for job in (soon, later):
        answer = client.cancel(job["jobId"])
        assert (answer.status, answer.body["status"], answer.body["claimedRuns"]) == (200, "cancelled", [])
        assert client.cancel(job["jobId"]).body["status"] == "cancelled"

    until(lambda: client.get(f"/v1/jobs/{witness['jobId']}")["status"] == "completed")

    assert {arrival.job_id for arrival in receiver.arrivals()} == {witness["jobId"]}
    for job in (soon, later):
        assert client.get(f"/v1/jobs/{job['jobId']}")["status"] == "cancelled"
        (run,) = client.get(f"/v1/jobs/{job['jobId']}/runs")["items"]
        assert run["status"] in {"cancelled", "skipped"}
        assert run["attempt"] == 0
    refused = client.cancel(witness["jobId"])
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:job-ended")
