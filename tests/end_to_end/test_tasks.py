"""Tasks on the real template: jobs call them, a change applies to later runs, and hostile schemas cost little."""

import json

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, calls_of, until

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_job_calls_its_task_and_a_change_of_the_task_applies_to_the_next_run(
    client: ApiClient, receiver: Receiver
) -> None:
    schema = {"type": "object", "required": ["to"]}
    ask(client, "PUT", "/v1/tasks/mail", {"handler": f"{receiver.url}/ok", "payloadSchema": schema})
    misfit = client.send("POST", "/v1/jobs", json.dumps({"taskId": "mail", "payload": {}}).encode())
    assert (misfit.status, misfit.body["errors"][0]["field"]) == (400, "payload.to")
    job = ask(client, "POST", "/v1/jobs", {"taskId": "mail", "payload": {"to": "me"}})
    until(lambda: client.get(f"/v1/jobs/{job['jobId']}")["status"] == "completed")
    ask(client, "PUT", "/v1/tasks/mail", {"handler": f"{receiver.url}/ok", "timeoutSeconds": 9})
    ask(client, "POST", f"/v1/jobs/{job['jobId']}/trigger")
    until(lambda: len(calls_of(receiver, job)) == 2)
    runs = f"/v1/jobs/{job['jobId']}/runs"
    until(lambda: all(run["status"] == "succeeded" for run in client.get(runs)["items"]))
    versions = {(run["origin"], run["taskId"], run["taskVersion"]) for run in client.get(runs)["items"]}
    assert versions == {("schedule", "mail", 1), ("manual", "mail", 2)}
    assert [one["jobId"] for one in client.get("/v1/jobs?taskId=mail")["items"]] == [job["jobId"]]


def test_a_task_in_use_cannot_be_deleted_and_an_unused_one_can(client: ApiClient, receiver: Receiver) -> None:
    ask(client, "PUT", "/v1/tasks/used", {"handler": f"{receiver.url}/ok"})
    job = ask(client, "POST", "/v1/jobs", {"handler": "used", "delaySeconds": 600})
    refused = client.send("DELETE", "/v1/tasks/used")
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:task-in-use")
    assert job["jobId"] in refused.body["detail"]
    assert client.cancel(job["jobId"]).status == 200
    assert client.send("DELETE", "/v1/tasks/used").status == 200
    assert "used" not in [task["taskId"] for task in client.get("/v1/tasks")["items"]]


def test_a_pattern_that_backtracks_is_cut_short_in_the_deployed_function(client: ApiClient, receiver: Receiver) -> None:
    task = {"handler": f"{receiver.url}/ok", "payloadSchema": {"pattern": "^(a+)+$"}}
    ask(client, "PUT", "/v1/tasks/slow", task)
    body = {"taskId": "slow", "payload": "a" * 60 + "b"}
    answer = client.send("POST", "/v1/jobs", json.dumps(body).encode())
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, "payload")
    assert "takes too long" in answer.body["errors"][0]["message"]
