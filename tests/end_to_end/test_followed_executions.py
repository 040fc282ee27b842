"""Followed executions: their end is the attempt's end, also by AWS's own event, and a cancel stops them.

The emulator runs no containers and sends no event for a task's end. Like AWS, it refuses events of the source aws.ecs
from anyone else. So a test does what EventBridge is documented to do: it matches the event against the patterns of the
deployed rules, and passes it to the target of the matching rule.
"""

import json
from typing import Any

import pytest

from local.demo_client import ApiClient
from tests.end_to_end.account import Account
from tests.end_to_end.emulated import messages_in
from tests.end_to_end.steps import called, clock, ledger, until
from timeball.dev.emulator import ACCOUNT, REGION
from timeball.dev.stage import Stage
from timeball.domain.time.instants import format_instant

pytestmark = pytest.mark.xdist_group("end_to_end")

Target = dict[str, Any]


def followed(client: ApiClient, job: dict[str, Any], attempt: int = 1) -> str:
    """Wait until an attempt has started its execution, and return the execution."""

    def run() -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"/v1/runs/{ledger(client, job)[0]['runId']}")
        return found

    until(lambda: bool(ledger(client, job)), otherwise="there is no run")
    until(lambda: run()["attempt"] == attempt and run()["callback"] is not None, otherwise="nothing was started")
    execution: str = run()["callback"]["execution"]
    return execution


def described(account: Account, target: Target, task: str) -> dict[str, Any]:
    (found,) = account.client("ecs").describe_tasks(cluster=target["clusterArn"], tasks=[task])["tasks"]
    return dict(found)


def tell_of_the_end(account: Account, task: dict[str, Any], exit_code: int) -> None:
    """Send the event of a task's end as ECS documents it: its detail is the description of the task at that time."""
    containers = [{**one, "lastStatus": "STOPPED", "exitCode": exit_code} for one in task["containers"]]
    ended = {"lastStatus": "STOPPED", "desiredStatus": "STOPPED", "stopCode": "EssentialContainerExited"}
    why = {"stoppedReason": "Essential container in task exited"}
    arn = task["taskArn"]
    event = {
        "version": "0",
        "id": f"{arn.rpartition('/')[2]}-{exit_code}",
        "detail-type": "ECS Task State Change",
        "source": "aws.ecs",
        "account": ACCOUNT,
        "time": format_instant(clock()),
        "region": REGION,
        "resources": [arn],
        "detail": {**task, **ended, **why, "containers": containers},
    }
    events, text = account.client("events"), json.dumps(event, default=str)
    matching = [
        rule["Name"]
        for rule in events.list_rules()["Rules"]
        if "EventPattern" in rule and events.test_event_pattern(EventPattern=rule["EventPattern"], Event=text)["Result"]
    ]
    assert len(matching) == 1, matching
    (queue,) = events.list_targets_by_rule(Rule=matching[0])["Targets"]
    account.client("sqs").send_message(QueueUrl=account.queue_url(queue["Arn"]), MessageBody=text)


def test_a_followed_execution_ends_its_run_and_is_stopped_when_its_run_is_cancelled(
    client: ApiClient, account: Account
) -> None:
    machines = account.client("stepfunctions")
    waits = account.machine("waits", Type="Wait", Seconds=3600, End=True)
    fails = account.machine("fails", Type="Fail", Error="NoRoom", Cause="It is full.")
    job = client.create({"target": {"type": "stepFunctions", "stateMachineArn": waits, "follow": True}})
    failing = {"type": "stepFunctions", "stateMachineArn": fails, "follow": True}
    failed = called(client, failing, "failed", maxRetries=0)
    assert "NoRoom" in failed["attempts"][0]["error"]

    (run,) = ledger(client, job)
    execution = client.get(f"/v1/runs/{run['runId']}")["callback"]["execution"]
    assert (run["status"], machines.describe_execution(executionArn=execution)["status"]) == ("running", "RUNNING")
    assert client.send("POST", f"/v1/runs/{run['runId']}/cancel").status == 200
    until(lambda: ledger(client, job)[0]["status"] == "cancelled")
    assert machines.describe_execution(executionArn=execution)["status"] == "ABORTED"


def test_an_event_reports_the_end_of_a_followed_execution_before_the_first_poll(
    client: ApiClient, account: Account
) -> None:
    machine = account.machine("short", Type="Wait", Seconds=3, End=True)
    run = called(client, {"type": "stepFunctions", "stateMachineArn": machine, "follow": True})
    (attempt,) = run["attempts"]
    assert (attempt["outcome"], 3_000 <= attempt["durationMs"] < 14_000) == ("succeeded", True)


def test_a_followed_task_of_ecs_is_stopped_when_its_run_is_cancelled(client: ApiClient, account: Account) -> None:
    target = account.task("follow", follow=True)
    job = client.create({"target": target})
    task = followed(client, job)
    assert client.send("POST", f"/v1/runs/{ledger(client, job)[0]['runId']}/cancel").status == 200
    until(lambda: ledger(client, job)[0]["status"] == "cancelled")
    assert described(account, target, task)["lastStatus"] == "STOPPED"


def test_an_ecs_task_event_ends_its_own_attempt_and_not_a_newer_one(
    stage: Stage, client: ApiClient, account: Account
) -> None:
    target = account.task("told", follow=True)
    job = client.create({"target": target, "maxRetries": 1, "retryPolicy": {"baseSeconds": 0}})
    first = followed(client, job)
    tell_of_the_end(account, described(account, target, first), exit_code=1)
    second = followed(client, job, attempt=2)
    tell_of_the_end(account, described(account, target, first), exit_code=0)
    until(lambda: messages_in(stage, "EventsQueue") == 0)
    assert [run["status"] for run in ledger(client, job)] == ["running"]
    tell_of_the_end(account, described(account, target, second), exit_code=0)
    until(lambda: [run["status"] for run in ledger(client, job)] == ["succeeded"])
    run = client.get(f"/v1/runs/{ledger(client, job)[0]['runId']}")
    assert [one["outcome"] for one in run["attempts"]] == ["failed", "succeeded"]
    assert "main 1" in run["attempts"][0]["error"]
    assert json.loads(run["result"]["body"]) == {"exitCodes": {"main": 0}}
