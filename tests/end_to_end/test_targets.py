"""Each type of AWS target: executors call it under their own rights, and pass the facts of its run."""

import io
import json
import sys
import zipfile
from typing import Any

import pytest

from local.demo_client import ApiClient
from tests.end_to_end.account import NAME, OF, Account
from tests.end_to_end.steps import called, ledger, until

pytestmark = pytest.mark.xdist_group("end_to_end")

CODE = """
def answer(event, context):
    if event["fail"]:
        raise ValueError("no room")
    return {"seen": event}
"""
FACTS = {"tenant", "runId", "jobId", "attempt", "fireTime", "depth", "scheduledBy"}


@pytest.fixture(scope="module")
def function(account: Account) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("hook.py", CODE)
    account.client("lambda").create_function(
        FunctionName=NAME.format("hook"),
        Runtime=f"python{sys.version_info.major}.{sys.version_info.minor}",
        Handler="hook.answer",
        Role=account.role(),
        Code={"ZipFile": archive.getvalue()},
    )
    return f"arn:aws:lambda:{OF}:function:{NAME.format('hook')}"


def facts_in(message: dict[str, Any]) -> dict[str, str]:
    return {name: one["StringValue"] for name, one in message["MessageAttributes"].items()}


class TestAFunction:
    def test_it_is_called_with_the_payload_and_returns_the_result(self, client: ApiClient, function: str) -> None:
        run = called(client, {"type": "lambda", "functionArn": function})
        seen = json.loads(run["result"]["body"])["seen"]
        assert (seen["order"], seen["timeball"].keys(), seen["timeball"]["runId"]) == (7, FACTS, run["runId"])

    def test_its_run_fails_with_the_functions_error(self, client: ApiClient, function: str) -> None:
        target = {"type": "lambda", "functionArn": function}
        run = called(client, target, "failed", payload={"fail": True}, maxRetries=0)
        assert "no room" in run["attempts"][0]["error"]

    def test_the_run_of_a_missing_function_fails_without_another_try(self, client: ApiClient) -> None:
        target = {"type": "lambda", "functionArn": f"arn:aws:lambda:{OF}:function:{NAME.format('nobody')}"}
        run = called(client, target, "failed")
        assert "ResourceNotFoundException" in run["attempts"][0]["error"]


def test_a_queue_gets_the_payload_and_the_facts_as_attributes(client: ApiClient, account: Account) -> None:
    arn = account.queue("queue")
    run = called(client, {"type": "sqs", "queueArn": arn})
    message = account.received(arn)
    assert (json.loads(message["Body"])["order"], facts_in(message)["Timeball-Run-Id"]) == (7, run["runId"])


def test_a_fifo_queue_groups_messages_by_their_tenant_and_job(client: ApiClient, account: Account) -> None:
    arn = account.queue("queue.fifo", FifoQueue="true")
    run = called(client, {"type": "sqs", "queueArn": arn})
    message = account.received(arn)
    group = f"{facts_in(message)['Timeball-Tenant']}.{run['runId'].partition('.')[0]}"
    assert message["Attributes"]["MessageGroupId"] == group
    assert message["Attributes"]["MessageDeduplicationId"]


def test_a_worker_reports_with_the_token_of_the_queues_message(client: ApiClient, account: Account) -> None:
    arn = account.queue("work")
    job = client.create({"target": {"type": "sqs", "queueArn": arn}, "completion": "callback", "heartbeatSeconds": 60})
    facts = facts_in(account.received(arn))
    until(lambda: [run["status"] for run in ledger(client, job)] == ["running"])
    worker = ApiClient(client.url, facts["Timeball-Callback-Token"])
    body = json.dumps({"attempt": int(facts["Timeball-Attempt"]), "result": {"done": 1}}).encode()
    answer = worker.send("POST", f"/v1/runs/{facts['Timeball-Run-Id']}/complete", body)
    assert answer.status == 200, answer.text
    until(lambda: [run["status"] for run in ledger(client, job)] == ["succeeded"])


def test_a_topic_forwards_the_payload_and_the_attributes(client: ApiClient, account: Account) -> None:
    arn, topics = account.queue("of-topic"), account.client("sns")
    topic = topics.create_topic(Name=NAME.format("topic"))["TopicArn"]
    account.let_send("sns.amazonaws.com", arn)
    topics.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    run = called(client, {"type": "sns", "topicArn": topic, "subject": "Due"})
    message = account.received(arn)
    assert (json.loads(message["Body"])["order"], facts_in(message)["Timeball-Run-Id"]) == (7, run["runId"])


def test_a_bus_gets_an_event_with_the_facts_in_its_detail(client: ApiClient, account: Account) -> None:
    arn, events = account.queue("of-bus"), account.client("events")
    name = NAME.format("bus")
    bus = events.create_event_bus(Name=name)["EventBusArn"]
    events.put_rule(Name=name, EventBusName=name, EventPattern=json.dumps({"source": ["acme"], "detail-type": ["Due"]}))
    events.put_targets(Rule=name, EventBusName=name, Targets=[{"Id": "queue", "Arn": arn}])
    run = called(client, {"type": "eventBridge", "busArn": bus, "source": "acme", "detailType": "Due"})
    detail = json.loads(account.received(arn)["Body"])["detail"]
    assert (detail["order"], detail["timeball"]["runId"]) == (7, run["runId"])


def test_a_state_machine_is_started_once_with_the_facts_in_its_input(client: ApiClient, account: Account) -> None:
    machines, machine = account.client("stepfunctions"), account.machine("machine", Type="Succeed")
    run = called(client, {"type": "stepFunctions", "stateMachineArn": machine})
    (execution,) = machines.list_executions(stateMachineArn=machine)["executions"]
    assert json.loads(run["result"]["body"]) == {"executionArn": execution["executionArn"]}
    told = json.loads(machines.describe_execution(executionArn=execution["executionArn"])["input"])
    assert (told["order"], told["timeball"]["runId"]) == (7, run["runId"])


def test_a_task_of_ecs_is_run_with_the_facts_in_its_environment(client: ApiClient, account: Account) -> None:
    target = account.task("task")
    run = called(client, target)
    task = json.loads(run["result"]["body"])["taskArn"]
    (found,) = account.client("ecs").describe_tasks(cluster=target["clusterArn"], tasks=[task])["tasks"]
    (override,) = found["overrides"]["containerOverrides"]
    variables = {one["name"]: one["value"] for one in override["environment"]}
    assert (variables["TIMEBALL_RUN_ID"], json.loads(variables["TIMEBALL_PAYLOAD"])["order"]) == (run["runId"], 7)


def test_a_target_that_is_not_on_the_list_of_the_stage_is_refused(client: ApiClient) -> None:
    arn = f"arn:aws:lambda:{OF}:function:somebody-elses"
    answer = client.send("POST", "/v1/jobs", json.dumps({"target": {"type": "lambda", "functionArn": arn}}).encode())
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, "target.functionArn")
