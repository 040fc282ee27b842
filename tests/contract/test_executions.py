"""Executions: the fake and AWS's own answers agree."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from timeball.aws.executions import AwsExecutions, of_execution, of_task
from timeball.ports.target import UNDER_WAY, UNKNOWN, Executions, ExecutionStatus, Unknown
from timeball.testing.memory_services import MemoryExecutions

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
            executions.start(arn, 1, ExecutionStatus(is_over=True))
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


def test_an_execution_is_under_way_until_it_is_stopped_and_a_repeated_stop_is_harmless(subject: Subject) -> None:
    executions, (one, two) = subject.executions, subject.arns
    assert executions.poll([one, two]) == [UNDER_WAY, UNDER_WAY]
    assert executions.stop([one]) == executions.stop([one]) == [True]
    stopped, other = executions.poll([one, two])
    assert stopped is not None
    assert (stopped.is_over, other) == (True, UNDER_WAY)  # moto does not record that a task was stopped
    assert (executions.poll([]), executions.stop([])) == ([], [])


def test_an_unknown_execution_is_reported_as_unknown_and_cannot_be_stopped(subject: Subject) -> None:
    assert subject.executions.poll([NOBODYS]) == [UNKNOWN]
    assert subject.executions.stop([NOBODYS]) == [False]


def test_a_task_that_ecs_reports_missing_is_unknown() -> None:
    make: Any = boto3.client
    client = make("ecs", region_name=REGION, aws_access_key_id="k", aws_secret_access_key="s")
    task = f"arn:aws:ecs:{REGION}:123456789012:task/c/t"
    with Stubber(client) as stub, ThreadPoolExecutor(1) as threads:
        stub.add_response("describe_tasks", {"tasks": [], "failures": [{"arn": task, "reason": "MISSING"}]})
        stub.add_client_error("stop_task", "InvalidParameterException", "The referenced task was not found.", 400)
        executions = AwsExecutions(lambda *_: client, threads)
        assert (executions.poll([task]), executions.stop([task])) == ([UNKNOWN], [False])


def test_an_execution_about_which_aws_does_not_answer_has_no_standing() -> None:
    def connect(service: str, region: str) -> Any:
        raise OSError(service, region)

    with ThreadPoolExecutor(1) as threads:
        for executions in (AwsExecutions(connect, threads), Unknown()):
            assert executions.poll([NOBODYS, "arn:aws:ecs:r:1:task/c/t"]) == [None, None]
            assert executions.stop([NOBODYS]) == [False]


def test_a_service_that_hangs_delays_a_poll_only_briefly_and_other_answers_are_kept() -> None:
    # The scan polls executions, and plans no jobs while it waits.
    go_on = threading.Event()

    class Client:
        def __init__(self, region: str) -> None:
            self.region = region

        def describe_execution(self, **_: str) -> dict[str, str]:
            if self.region == "hangs":
                go_on.wait()  # until both verbs have returned
            return {"status": "SUCCEEDED"}

        stop_execution = describe_execution

    answers = f"arn:aws:states:{REGION}:123456789012:execution:m:a"
    hanging = [f"arn:aws:states:hangs:123456789012:execution:m:{number}" for number in range(100)]
    with ThreadPoolExecutor(8) as threads:
        executions = AwsExecutions(lambda _, region: Client(region), threads, seconds=0.1)
        try:
            assert executions.poll([answers, *hanging]) == [ExecutionStatus(is_over=True), *[None] * 100]
            assert executions.stop(hanging) == [False] * 100
        finally:
            go_on.set()


@pytest.mark.parametrize(
    ("answer", "standing"),
    [
        ({"status": "RUNNING"}, UNDER_WAY),
        ({"status": "PENDING_REDRIVE"}, UNDER_WAY),
        ({"status": "RESTING"}, UNDER_WAY),  # a status that AWS may add
        ({"status": "SUCCEEDED", "output": '{"rows": 7}'}, ExecutionStatus(is_over=True, body='{"rows": 7}')),
        ({"status": "SUCCEEDED"}, ExecutionStatus(is_over=True)),
        (
            {"status": "FAILED", "error": "E", "cause": "no\nroom"},
            ExecutionStatus(is_over=True, error="The execution ended as FAILED (E: no room)."),
        ),
        ({"status": "TIMED_OUT"}, ExecutionStatus(is_over=True, error="The execution ended as TIMED_OUT.")),
        ({"status": "ABORTED"}, ExecutionStatus(is_over=True, error="The execution ended as ABORTED.")),
    ],
)
def test_a_state_machines_execution_stands_as_its_status_says(
    answer: dict[str, Any], standing: ExecutionStatus
) -> None:
    assert of_execution(answer) == standing


def test_a_task_has_succeeded_if_the_container_that_receives_the_run_has() -> None:
    # Containers beside it, such as a log router, are killed when it ends, and seldom exit with 0.
    told = {"name": "c0", "environment": [{"name": "TIMEBALL_RUN_ID", "value": "r"}]}
    beside = {"name": "c1", "environment": [{"name": "LEVEL", "value": "3"}]}
    overrides = {"containerOverrides": [beside, {"name": "c2"}, told]}
    done = {**_task(0, 137, None, stopCode="EssentialContainerExited"), "overrides": overrides}
    assert of_task(done) == ExecutionStatus(is_over=True, body='{"exitCodes":{"c0":0,"c1":137,"c2":null}}')
    failed = {**_task(3, 0, stopCode="EssentialContainerExited"), "overrides": overrides}
    assert of_task(failed) == ExecutionStatus(is_over=True, error="The task stopped; exit codes: c0 3.")


def _task(*codes: int | None, status: str = "STOPPED", why: str = "", **beside: str) -> dict[str, Any]:
    containers = [{"name": f"c{place}", "exitCode": code} for place, code in enumerate(codes)]
    return {"lastStatus": status, "containers": containers, "stoppedReason": why, **beside}


@pytest.mark.parametrize(
    ("task", "standing"),
    [
        (_task(status="PENDING"), UNDER_WAY),
        (_task(None, status="RUNNING"), UNDER_WAY),
        (_task(0, status="DEPROVISIONING"), UNDER_WAY),
        (_task(0, 0), ExecutionStatus(is_over=True, body='{"exitCodes":{"c0":0,"c1":0}}')),
        (_task(0, stopCode="EssentialContainerExited"), ExecutionStatus(is_over=True, body='{"exitCodes":{"c0":0}}')),
        (
            _task(0, stopCode="UserInitiated"),
            ExecutionStatus(is_over=True, error="The task stopped; exit codes: c0 0."),
        ),
        (
            _task(0, 3, why="Essential"),
            ExecutionStatus(is_over=True, error="The task stopped; exit codes: c1 3 (Essential)."),
        ),
        (
            _task(None),
            ExecutionStatus(is_over=True, error="The task stopped; exit codes: c0 None."),
        ),  # it never started
        (
            _task(why="no image"),
            ExecutionStatus(is_over=True, error="The task stopped; exit codes: no container (no image)."),
        ),
    ],
)
def test_a_task_stands_as_its_containers_have_ended(task: dict[str, Any], standing: ExecutionStatus) -> None:
    assert of_task(task) == standing
