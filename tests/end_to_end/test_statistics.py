"""Statistics on the real template, with the rights that its functions have: counts of jobs, of messages, of runs."""

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import are_completed, ask, until

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_run_is_counted_by_the_executor_that_made_it_and_its_job_by_its_status(
    client: ApiClient, admin: ApiClient, receiver: Receiver
) -> None:
    fields = {"handler": f"{receiver.url}/ok", "priority": "high"}
    job = ask(client, "POST", "/v1/jobs", fields)
    until(lambda: are_completed(client, job))
    # The executor adds its counts at once, unless it has already added others in the last half minute.
    until(lambda: client.get("/v1/slo")["windows"]["hour"]["byPriority"]["high"]["succeeded"] >= 1)
    figures = client.get("/v1/slo")["windows"]["month"]["byPriority"]["high"]
    assert figures["started"] >= figures["succeeded"] >= 1
    assert 0 < figures["lateness"]["p50Seconds"] <= figures["lateness"]["p99Seconds"]
    assert figures["onTime"]["within30Seconds"] > 0
    stats = client.get("/v1/stats")
    assert stats["jobs"]["completed"]["count"] >= 1
    assert stats["jobs"]["completed"]["exact"]
    assert stats["queues"] is None, "all tenants share the queues"
    queues = admin.get("/v1/stats")["queues"]
    assert set(queues) == {"high", "normal", "low"}
    assert all(number >= 0 for depth in queues.values() for number in depth.values())
