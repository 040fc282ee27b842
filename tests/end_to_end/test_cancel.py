"""A cancelled job calls no target. A job that runs after it proves that its time has passed."""

from typing import Any

import pytest

from local.demo_client import ApiAnswer, ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import calls_of, in_time, until
from timeball.domain.time.instants import SECOND_MS, format_instant, parse_instant

pytestmark = pytest.mark.xdist_group("end_to_end")

LATER_MS = 4 * SECOND_MS


def test_the_health_check_needs_no_key(client: ApiClient) -> None:
    answer = ApiClient(client.url, None).send("GET", "/healthz")
    assert (answer.status, answer.body) == (200, {"status": "ok"})


def test_jobs_that_were_cancelled_before_or_after_their_dispatch_call_nothing(
    client: ApiClient, receiver: Receiver
) -> None:
    def create_and_cancel(due_at: str) -> list[tuple[dict[str, Any], ApiAnswer, ApiAnswer]]:
        # Jobs due within the look-ahead are in a queue before the answer, and later jobs are not.
        jobs = [
            client.create({"handler": f"{receiver.url}/ok", "scheduleAt": at})
            for at in (due_at, format_instant(parse_instant(due_at) + LATER_MS))
        ]
        return [(job, client.cancel(job["jobId"]), client.cancel(job["jobId"])) for job in jobs]

    cancelled = in_time(4, create_and_cancel)
    for _, answer, again in cancelled:
        assert (answer.status, answer.body["status"], answer.body["claimedRuns"]) == (200, "cancelled", [])
        assert (again.status, again.body["status"]) == (200, "cancelled")
    (_, (later, *_)) = cancelled
    after_both = format_instant(parse_instant(later["scheduleAt"]) + 2 * SECOND_MS)
    trace = client.create({"handler": f"{receiver.url}/ok", "scheduleAt": after_both})

    until(lambda: client.get(f"/v1/jobs/{trace['jobId']}")["status"] == "completed")

    assert len(calls_of(receiver, trace)) == 1
    for job, *_ in cancelled:
        assert calls_of(receiver, job) == []
        assert client.get(f"/v1/jobs/{job['jobId']}")["status"] == "cancelled"
        (run,) = client.get(f"/v1/jobs/{job['jobId']}/runs")["items"]
        assert run["status"] in {"cancelled", "skipped"}
        assert run["attempt"] == 0
    refused = client.cancel(trace["jobId"])
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:job-ended")
