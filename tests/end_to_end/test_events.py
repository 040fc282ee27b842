"""Events on the real template: each event runs its tenant's jobs with a matching pattern, once, and no other jobs."""

import json
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, calls_of, ledger, until

pytestmark = pytest.mark.xdist_group("end_to_end")

ORDER = {"specversion": "1.0", "id": "order-7", "source": "shop", "type": "order.placed", "data": {"total": 250}}


def send(client: ApiClient, body: object) -> Any:
    answer = client.send("POST", "/v1/events", json.dumps(body).encode())
    assert answer.status in {200, 202}, answer.text
    return answer.body


def test_an_event_runs_the_job_with_a_matching_pattern_once_and_passes_the_event_to_it(
    client: ApiClient, receiver: Receiver
) -> None:
    def on(**detail: object) -> dict[str, Any]:
        pattern = {"source": ["shop"], "detail-type": ["order.placed"], "detail": detail}
        job: dict[str, Any] = client.create({"handler": f"{receiver.url}/ok", "event": pattern})
        return job

    large, small = on(total=[{"numeric": [">", 100]}]), on(total=[{"numeric": ["<=", 100]}])
    told = send(client, ORDER)
    items = send(client, [ORDER, {**ORDER, "id": "order-8", "data": {"total": 9}}, {"type": "x"}])["items"]
    assert [one["status"] for one in items] == [202, 202, 400]
    assert items[0]["event"]["acceptedAt"] == told["acceptedAt"]
    until(lambda: len(calls_of(receiver, large)) == len(calls_of(receiver, small)) == 1)
    for job in (large, small):
        until(lambda job=job: [run["status"] for run in ledger(client, job)] == ["succeeded"])  # type: ignore[misc]
    (run,) = ledger(client, large)
    assert (run["origin"], run["fireTime"]) == ("event", told["acceptedAt"])
    for job in (large, small):
        ask(client, "DELETE", f"/v1/jobs/{job['jobId']}")
    send(client, {**ORDER, "id": "order-9"})
    assert len(ledger(client, large)) == 1


def test_a_job_whose_pattern_eventbridge_refuses_is_not_created(client: ApiClient, receiver: Receiver) -> None:
    pattern = {"detail": {"address": [{"cidr": "no address"}]}}
    body = json.dumps({"handler": f"{receiver.url}/ok", "event": pattern}).encode()
    refused = client.send("POST", "/v1/jobs", body)
    assert (refused.status, refused.body["errors"][0]["field"]) == (400, "event")
    assert "EventBridge" in refused.body["errors"][0]["message"]
