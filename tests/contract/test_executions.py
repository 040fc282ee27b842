"""Executions: what the fake says of them, AWS's own answers say too."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from timeball.aws.executions import AwsExecutions, of_execution, of_task
from timeball.ports.executions import UNDER_WAY, Executions, Standing, Unknown
from timeball.testing.memory_executions import MemoryExecutions

REGION = "eu-west-1"
NOBODYS = f"arn:aws:states:{REGION}:123456789012:execution:m:nobodys"


@dataclass
class Subject:
    """The port, and two executions that are under way."""

    executions: Executions
    arns: list[str]


@pytest.fixture(params=["memory", "moto: state machines", "moto: tasks"])
def subject(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Subject]:
    if request.param == "memory":
        executions = MemoryExecutions(lambda: 0)
        for arn in ("one", "two"):
            executions.start(arn, 1, Standing(is_over=True))
        yield Subject(executions, ["one", "two"])
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    make: Any = boto3.client
    with mock_aws(), ThreadPoolExecutor(2) as threads:
        started = _tasks(make) if "tasks" in request.param else _machines(make)
        yield Subject(AwsExecutions(lambda service, region: make(service, region_name=region), threads), started)


def _machines(make: Any) -> list[str]:
    client = make("stepfunctions", region_name=REGION)
    definition = json.dumps({"StartAt": "S", "States": {"S": {"Type": "Succeed"}}})
    role = "arn:aws:iam::123456789012:role/r"
    machine = client.create_state_machine(name="m", definition=definition, roleArn=role)["stateMachineArn"]
    return [client.start_execution(stateMachineArn=machine, name=name)["executionArn"] for name in ("a", "b")]


def _tasks(make: Any) -> list[str]:
    images = make("ec2", region_name=REGION)
    client = make("ecs", region_name=REGION)
    client.create_cluster(clusterName="c")
    client.register_task_definition(
        family="t", networkMode="awsvpc", containerDefinitions=[{"name": "main", "image": "busybox", "memory": 64}]
    )
    subnet = images.describe_subnets()["Subnets"][0]["SubnetId"]
    network = {"awsvpcConfiguration": {"subnets": [subnet], "securityGroups": []}}
    run = {"cluster": "c", "taskDefinition": "t", "launchType": "FARGATE", "networkConfiguration": network}
    return [client.run_task(**run)["tasks"][0]["taskArn"] for _ in range(2)]


def test_an_execution_is_under_way_until_it_is_stopped_and_a_repeat_stops_it_no_more(subject: Subject) -> None:
    executions, (one, two) = subject.executions, subject.arns
    assert executions.look([one, two]) == [UNDER_WAY, UNDER_WAY]
    assert executions.stop([one]) == executions.stop([one]) == [True]
    stopped, other = executions.look([one, two])
    assert stopped is not None
    assert (stopped.is_over, other) == (True, UNDER_WAY)  # moto says nothing of who stopped a task
    assert (executions.look([]), executions.stop([])) == ([], [])


def test_what_is_known_no_more_is_over(subject: Subject) -> None:
    (standing,) = subject.executions.look([NOBODYS])
    assert standing is not None
    assert (standing.is_over, bool(standing.error)) == (True, True)
    assert subject.executions.stop([NOBODYS]) == [True]


def test_of_what_aws_does_not_answer_nobody_knows() -> None:
    def connect(service: str, region: str) -> Any:
        raise OSError(service, region)

    with ThreadPoolExecutor(1) as threads:
        for executions in (AwsExecutions(connect, threads), Unknown()):
            assert executions.look([NOBODYS, "arn:aws:ecs:r:1:task/c/t"]) == [None, None]
            assert executions.stop([NOBODYS]) == [False]


@pytest.mark.parametrize(
    ("answer", "standing"),
    [
        ({"status": "RUNNING"}, UNDER_WAY),
        ({"status": "PENDING_REDRIVE"}, UNDER_WAY),
        ({"status": "SUCCEEDED", "output": '{"rows": 7}'}, Standing(is_over=True, body='{"rows": 7}')),
        ({"status": "SUCCEEDED"}, Standing(is_over=True)),
        (
            {"status": "FAILED", "error": "E", "cause": "no\nroom"},
            Standing(is_over=True, error="The execution ended as FAILED (E: no room)."),
        ),
        ({"status": "TIMED_OUT"}, Standing(is_over=True, error="The execution ended as TIMED_OUT.")),
        ({"status": "ABORTED"}, Standing(is_over=True, error="The execution ended as ABORTED.")),
    ],
)
def test_a_state_machines_execution_stands_as_its_status_says(answer: dict[str, Any], standing: Standing) -> None:
    assert of_execution(answer) == standing


def _task(*codes: int | None, status: str = "STOPPED", why: str = "", **beside: str) -> dict[str, Any]:
    containers = [{"name": f"c{place}", "exitCode": code} for place, code in enumerate(codes)]
    return {"lastStatus": status, "containers": containers, "stoppedReason": why, **beside}


@pytest.mark.parametrize(
    ("task", "standing"),
    [
        (_task(status="PENDING"), UNDER_WAY),
        (_task(None, status="RUNNING"), UNDER_WAY),
        (_task(0, status="DEPROVISIONING"), UNDER_WAY),
        (_task(0, 0), Standing(is_over=True, body='{"exitCodes":{"c0":0,"c1":0}}')),
        (_task(0, stopCode="EssentialContainerExited"), Standing(is_over=True, body='{"exitCodes":{"c0":0}}')),
        (_task(0, stopCode="UserInitiated"), Standing(is_over=True, error="The task stopped; exit codes: c0 0.")),
        (_task(0, 3, why="Essential"), Standing(is_over=True, error="The task stopped; exit codes: c1 3 (Essential).")),
        (_task(None), Standing(is_over=True, error="The task stopped; exit codes: c0 None.")),  # it never started
        (_task(why="no image"), Standing(is_over=True, error="The task stopped; exit codes: no container (no image).")),
    ],
)
def test_a_task_stands_as_its_containers_have_ended(task: dict[str, Any], standing: Standing) -> None:
    assert of_task(task) == standing
