"""Each type of target of AWS, called by the executors under their own rights, and told of its run."""

import io
import json
import sys
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.emulator import ACCOUNT, REGION
from local.stage import Stage
from tests.end_to_end.steps import ledger, until

pytestmark = pytest.mark.xdist_group("end_to_end")

NAME = "timeball-demo-{}"
OF = f"{REGION}:{ACCOUNT}"
CODE = """
def answer(event, context):
    if event["fail"]:
        raise ValueError("no room")
    return {"seen": event}
"""
FACTS = {"runId", "jobId", "attempt", "fireTime", "depth", "scheduledBy"}


@dataclass(frozen=True)
class Account:
    """What there is to call, made with the rights of the account's owner."""

    stage: Stage

    def client(self, service: str) -> Any:
        return self.stage.emulator.client(service)

    def queue(self, name: str, **attributes: str) -> str:
        """Make a queue, and return its ARN."""
        self.client("sqs").create_queue(QueueName=NAME.format(name), Attributes=attributes)
        return f"arn:aws:sqs:{OF}:{NAME.format(name)}"

    def let_send(self, service: str, arn: str) -> None:
        """Let a service of AWS send to a queue."""
        may = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sqs:SendMessage", "Resource": arn}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
        sqs = self.client("sqs")
        url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})

    def role(self) -> str:
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        roles = self.client("iam")
        with suppress(roles.exceptions.EntityAlreadyExistsException):
            roles.create_role(RoleName=NAME.format("role"), AssumeRolePolicyDocument=document)
        return f"arn:aws:iam::{ACCOUNT}:role/{NAME.format('role')}"

    def received(self, arn: str) -> dict[str, Any]:
        """Wait for a message, take it, and return it."""
        sqs, found = self.client("sqs"), []
        url = sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]

        def receive() -> bool:
            answer = sqs.receive_message(
                QueueUrl=url, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=1
            )
            found.extend(answer.get("Messages", []))
            return bool(found)

        until(receive, otherwise=f"nothing came to {arn}")
        sqs.delete_message(QueueUrl=url, ReceiptHandle=found[0]["ReceiptHandle"])
        message: dict[str, Any] = found[0]
        return message


@pytest.fixture(scope="module")
def account(stage: Stage) -> Account:
    return Account(stage)


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


def called(client: ApiClient, target: dict[str, Any], status: str = "succeeded", **fields: object) -> dict[str, Any]:
    """Make a job that calls a target now, wait for the end of its run, and return that."""
    job = client.create({"target": target, "payload": {"order": 7, "fail": False}, **fields})
    until(lambda: [run["status"] for run in ledger(client, job)] == [status], otherwise=f"no run of {job} {status}")
    run: dict[str, Any] = client.send("GET", f"/v1/runs/{ledger(client, job)[0]['runId']}").body
    return run


def facts_in(message: dict[str, Any]) -> dict[str, str]:
    return {name: one["StringValue"] for name, one in message["MessageAttributes"].items()}


class TestAFunction:
    def test_is_called_with_the_payload_and_gives_the_result(self, client: ApiClient, function: str) -> None:
        run = called(client, {"type": "lambda", "functionArn": function})
        seen = json.loads(run["result"]["body"])["seen"]
        assert (seen["order"], seen["timeball"].keys(), seen["timeball"]["runId"]) == (7, FACTS, run["runId"])

    def test_that_fails_makes_its_run_fail_with_what_it_said(self, client: ApiClient, function: str) -> None:
        target = {"type": "lambda", "functionArn": function}
        run = called(client, target, "failed", payload={"fail": True}, maxRetries=0)
        assert "no room" in run["attempts"][0]["error"]

    def test_that_is_not_there_makes_its_run_fail_without_another_try(self, client: ApiClient) -> None:
        target = {"type": "lambda", "functionArn": f"arn:aws:lambda:{OF}:function:{NAME.format('nobody')}"}
        run = called(client, target, "failed")
        assert "ResourceNotFoundException" in run["attempts"][0]["error"]


def test_a_queue_gets_the_payload_and_the_facts_as_attributes(client: ApiClient, account: Account) -> None:
    arn = account.queue("queue")
    run = called(client, {"type": "sqs", "queueArn": arn})
    message = account.received(arn)
    assert (json.loads(message["Body"])["order"], facts_in(message)["Timeball-Run-Id"]) == (7, run["runId"])


def test_a_fifo_queue_groups_messages_by_their_job(client: ApiClient, account: Account) -> None:
    arn = account.queue("queue.fifo", FifoQueue="true")
    run = called(client, {"type": "sqs", "queueArn": arn})
    message = account.received(arn)
    assert message["Attributes"]["MessageGroupId"] == run["runId"].partition(".")[0]
    assert message["Attributes"]["MessageDeduplicationId"]


def test_whoever_works_on_a_queue_reports_with_the_token_of_the_message(client: ApiClient, account: Account) -> None:
    arn = account.queue("work")
    job = client.create({"target": {"type": "sqs", "queueArn": arn}, "completion": "callback", "heartbeatSeconds": 60})
    facts = facts_in(account.received(arn))
    until(lambda: [run["status"] for run in ledger(client, job)] == ["running"])
    worker = ApiClient(client.url, facts["Timeball-Callback-Token"])
    body = json.dumps({"attempt": int(facts["Timeball-Attempt"]), "result": {"done": 1}}).encode()
    answer = worker.send("POST", f"/v1/runs/{facts['Timeball-Run-Id']}/complete", body)
    assert answer.status == 200, answer.text
    until(lambda: [run["status"] for run in ledger(client, job)] == ["succeeded"])


def test_a_topic_passes_the_payload_and_the_attributes_on(client: ApiClient, account: Account) -> None:
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
    machines = account.client("stepfunctions")
    definition = json.dumps({"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}})
    machine = machines.create_state_machine(name=NAME.format("machine"), roleArn=account.role(), definition=definition)[
        "stateMachineArn"
    ]
    run = called(client, {"type": "stepFunctions", "stateMachineArn": machine})
    (execution,) = machines.list_executions(stateMachineArn=machine)["executions"]
    assert json.loads(run["result"]["body"]) == {"executionArn": execution["executionArn"]}
    told = json.loads(machines.describe_execution(executionArn=execution["executionArn"])["input"])
    assert (told["order"], told["timeball"]["runId"]) == (7, run["runId"])


def test_a_task_of_ecs_is_run_with_the_facts_in_its_environment(client: ApiClient, account: Account) -> None:
    ecs = account.client("ecs")
    cluster = ecs.create_cluster(clusterName=NAME.format("cluster"))["cluster"]["clusterArn"]
    container = {"name": "main", "image": "busybox", "memory": 64}
    definition = ecs.register_task_definition(family=NAME.format("task"), containerDefinitions=[container])
    arn = definition["taskDefinition"]["taskDefinitionArn"]
    run = called(client, {"type": "ecs", "clusterArn": cluster, "taskDefinitionArn": arn, "containerName": "main"})
    task = json.loads(run["result"]["body"])["taskArn"]
    (found,) = ecs.describe_tasks(cluster=cluster, tasks=[task])["tasks"]
    (override,) = found["overrides"]["containerOverrides"]
    variables = {one["name"]: one["value"] for one in override["environment"]}
    assert (variables["TIMEBALL_RUN_ID"], json.loads(variables["TIMEBALL_PAYLOAD"])["order"]) == (run["runId"], 7)


def test_a_followed_execution_ends_its_run_and_is_stopped_when_that_is_cancelled(
    client: ApiClient, account: Account
) -> None:
    machines = account.client("stepfunctions")

    def machine(name: str, state: dict[str, Any]) -> str:
        definition = json.dumps({"StartAt": "Only", "States": {"Only": state}})
        made = machines.create_state_machine(name=NAME.format(name), roleArn=account.role(), definition=definition)
        arn: str = made["stateMachineArn"]
        return arn

    waits = machine("waits", {"Type": "Wait", "Seconds": 3600, "End": True})
    fails = machine("fails", {"Type": "Fail", "Error": "NoRoom", "Cause": "It is full."})
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


def test_the_end_of_a_followed_execution_is_told_by_an_event_before_the_first_look(
    client: ApiClient, account: Account
) -> None:
    machines = account.client("stepfunctions")
    definition = json.dumps({"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 3, "End": True}}})
    made = machines.create_state_machine(name=NAME.format("short"), roleArn=account.role(), definition=definition)
    run = called(client, {"type": "stepFunctions", "stateMachineArn": made["stateMachineArn"], "follow": True})
    (attempt,) = run["attempts"]
    assert (attempt["outcome"], 3_000 <= attempt["durationMs"] < 14_000) == ("succeeded", True)


def test_a_followed_task_of_ecs_is_stopped_when_its_run_is_cancelled(client: ApiClient, account: Account) -> None:
    ecs = account.client("ecs")
    cluster = ecs.create_cluster(clusterName=NAME.format("follow"))["cluster"]["clusterArn"]
    container = {"name": "main", "image": "busybox", "memory": 64}
    definition = ecs.register_task_definition(family=NAME.format("follow"), containerDefinitions=[container])
    arn = definition["taskDefinition"]["taskDefinitionArn"]
    target = {"type": "ecs", "clusterArn": cluster, "taskDefinitionArn": arn, "containerName": "main", "follow": True}
    job = client.create({"target": target})
    until(lambda: [run["status"] for run in ledger(client, job)] == ["running"])
    run_id = ledger(client, job)[0]["runId"]
    until(lambda: client.get(f"/v1/runs/{run_id}")["callback"] is not None)
    task = client.get(f"/v1/runs/{run_id}")["callback"]["execution"]
    assert client.send("POST", f"/v1/runs/{run_id}/cancel").status == 200
    until(lambda: ledger(client, job)[0]["status"] == "cancelled")
    (found,) = ecs.describe_tasks(cluster=cluster, tasks=[task])["tasks"]
    assert found["lastStatus"] == "STOPPED"


def test_what_is_not_on_the_list_of_the_stage_is_refused(client: ApiClient) -> None:
    arn = f"arn:aws:lambda:{OF}:function:somebody-elses"
    answer = client.send("POST", "/v1/jobs", json.dumps({"target": {"type": "lambda", "functionArn": arn}}).encode())
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, "target.functionArn")
