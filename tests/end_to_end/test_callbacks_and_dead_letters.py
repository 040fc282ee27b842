"""Targets that report later, runs that failed for good, and unreadable messages, on the whole Timeball."""

import json

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.emulated import messages_in
from tests.end_to_end.steps import ask, calls_of, ledger, until
from timeball.dev.stage import Stage

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_target_that_answers_202_keeps_its_run_until_it_reports_the_end(
    client: ApiClient, receiver: Receiver
) -> None:
    job = client.create(
        {
            "handler": f"{receiver.url}/accepted",
            "completion": "callback",
            "timeoutSeconds": 3600,
            "heartbeatSeconds": 600,
        }
    )
    until(lambda: [run["callback"] is not None for run in ledger(client, job)] == [True])
    (run,) = ledger(client, job)
    path = f"/v1/runs/{run['runId']}"
    heard_of = ask(client, "POST", f"{path}/heartbeat", {"attempt": 1})
    assert (heard_of["status"], heard_of["cancelRequested"]) == ("running", False)
    assert heard_of["leaseUntil"] > run["callback"]["leaseUntil"]
    stale = client.send("POST", f"{path}/complete", b'{"attempt": 2}')
    assert (stale.status, stale.body["type"]) == (409, "urn:timeball:problem:stale-attempt")

    for _ in range(2):
        done = ask(client, "POST", f"{path}/complete", {"attempt": 1, "result": {"rows": 7}})
        assert (done["status"], done["attempt"]) == ("succeeded", 1)
    until(lambda: client.get(f"/v1/jobs/{job['jobId']}")["status"] == "completed")
    assert json.loads(client.get(path)["result"]["body"]) == {"rows": 7}
    assert [call.attempt for call in calls_of(receiver, job)] == [1]


def test_a_run_that_failed_for_good_is_listed_until_it_is_replayed_and_its_history_is_kept(
    client: ApiClient, receiver: Receiver
) -> None:
    job = client.create({"handler": f"{receiver.url}/flaky/2", "maxRetries": 0})
    listed = {"jobId": job["jobId"]}
    until(lambda: len(client.get("/v1/dead-letters", **listed)["items"]) == 1)
    (dead,) = client.get("/v1/dead-letters", **listed)["items"]
    assert (dead["reason"], dead["httpStatus"]) == ("retries_exhausted", 500)

    assert ask(client, "POST", f"/v1/runs/{dead['runId']}/retry")["status"] in {"queued", "running", "failed"}
    until(lambda: [one["attempt"] for one in client.get("/v1/dead-letters", **listed)["items"]] == [2])
    dealt = ask(client, "POST", "/v1/dead-letters:replay", {"filter": listed, "perSecond": 5})
    assert (dealt["done"], dealt["refused"], dealt["nextCursor"]) == (1, [], None)
    until(lambda: client.get(f"/v1/jobs/{job['jobId']}")["status"] == "completed")
    attempts = client.get(f"/v1/runs/{dead['runId']}")["attempts"]
    assert [(one["number"], one["outcome"]) for one in attempts] == [(1, "failed"), (2, "failed"), (3, "succeeded")]
    assert client.get("/v1/dead-letters", **listed)["items"] == []


def test_an_unreadable_message_is_kept_in_a_queue_of_its_own_and_is_not_delivered_again(stage: Stage) -> None:
    queues = stage.emulator.client("sqs")
    queues.send_message(QueueUrl=stage.deployment.outputs["NormalQueue"], MessageBody="to whom it may concern")
    until(lambda: messages_in(stage, "UnreadableQueue") == 1)
    until(lambda: messages_in(stage, "NormalQueue") == 0)
    url = stage.deployment.outputs["UnreadableQueue"]
    (kept,) = queues.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert kept["Body"] == "to whom it may concern"
    assert (
        kept["MessageAttributes"]["eventSourceARN"]["StringValue"].split(":")[-1]
        in stage.deployment.outputs["NormalQueue"]
    )
