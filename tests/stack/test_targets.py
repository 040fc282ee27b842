"""Executors may call exactly the AWS targets that the setting lists, each by its one action; no other function may."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.stack.conftest import Synthesized, synthesized
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.runtime.wiring import stack_name
from timeball.setting import SettingsError
from timeball.targets.aws.allowed import AllowedArn, AllowedArns
from timeball.targets.envelope import as_json

OF = "eu-west-1:123456789012"
FUNCTION, QUEUE = f"arn:aws:lambda:{OF}:function:reports-*", f"arn:aws:sqs:{OF}:jobs"
CLUSTER, TASK = f"arn:aws:ecs:{OF}:cluster/nightly", f"arn:aws:ecs:{OF}:task-definition/invoices:*"
ROLE = "arn:aws:iam::123456789012:role/invoices"


def _of_targets(stack: Synthesized, function: str) -> list[dict[str, Any]]:
    role = stack.functions()[function]["Role"]["Fn::GetAtt"][0]
    return [
        statement
        for policy in stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if ":123456789012:" in json.dumps(statement["Resource"])
    ]


def test_executors_may_perform_exactly_the_action_that_calls_each_listed_target(tmp_path: Path) -> None:
    network = f"arn:aws:ec2:{OF}:subnet/*=acme,arn:aws:ec2:{OF}:security-group/sg-1"
    listed = f"{FUNCTION},{QUEUE}=acme+globex,{CLUSTER}=acme,{TASK},{ROLE},{network}"
    stack = synthesized(tmp_path, "small", targets=listed)
    for priority in ("high", "normal", "low"):
        granted = {
            resource: (one["Action"], one.get("Condition"))
            for one in _of_targets(stack, f"execute-{priority}")
            for resource in (one["Resource"] if isinstance(one["Resource"], list) else [one["Resource"]])
            if isinstance(resource, str)  # the stack's own queues are in the list, too
        }
        assert granted == {
            FUNCTION: ("lambda:InvokeFunction", None),
            QUEUE: ("sqs:SendMessage", None),
            ROLE: ("iam:PassRole", {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}),
            TASK: ("ecs:RunTask", {"ArnLike": {"ecs:cluster": [CLUSTER]}}),
        }
    tasks = f"arn:aws:ecs:{OF}:task/nightly/*"
    assert [(one["Action"], one["Resource"]) for one in _of_targets(stack, "scan")] == [
        (["ecs:DescribeTasks", "ecs:StopTask"], tasks)
    ]
    for function in stack.functions().keys() - {"scan", "execute-high", "execute-normal", "execute-low"}:
        assert _of_targets(stack, function) == []
    (api,) = [body for name, body in stack.functions().items() if name == "api"]
    assert api["Environment"]["Variables"]["TIMEBALL_TARGETS"] == listed


def test_the_queue_of_events_receives_the_ends_of_executions_of_listed_targets(tmp_path: Path) -> None:
    machine = f"arn:aws:states:{OF}:stateMachine:nightly-*"
    stack = synthesized(tmp_path, "small", targets=f"{machine},{CLUSTER}")
    made = [one["Properties"] for one in stack.resources("AWS::Events::Rule").values()]
    rules = {one["EventPattern"]["source"][0]: one for one in made if "EventPattern" in one}
    of_machines, of_tasks = (rules[source] for source in ("aws.states", "aws.ecs"))
    assert of_machines["EventPattern"]["detail"]["stateMachineArn"] == [{"prefix": machine.removesuffix("*")}]
    assert of_tasks["EventPattern"]["detail"]["clusterArn"] == [{"prefix": CLUSTER}]
    for rule in (of_machines, of_tasks):
        assert "QueuesEvents" in json.dumps(rule["Targets"])
    # A state machine may also run executions of others: their ends must not fill the queue of tenants' events.
    ((_, begun_with),) = of_machines["EventPattern"]["detail"]["input"][0].items()
    token = {"callbackToken": token_of(RunId(JobKey("acme", "nightly"), 1, Origin.SCHEDULE), 1, "s")}
    inputs = [as_json(token, '{"n": 1}'), as_json({"runId": "x"}, '{"n": 1}'), "{}", '{"callbackToken": "mine"}']
    assert [fnmatchcase(text, begun_with) for text in inputs] == [True, False, False, False]
    assert of_tasks["EventPattern"]["detail"]["startedBy"] == [{"prefix": "timeball/"}]


def _granted(stack: Synthesized, function: str, action: str) -> list[str]:
    (granted,) = [one["Resource"] for one in _of_targets(stack, function) if action in one["Action"]]
    return granted if isinstance(granted, list) else [granted]


def test_a_version_or_alias_of_a_state_machine_is_started_and_followed_by_the_right_to_the_machine(
    tmp_path: Path,
) -> None:
    # IAM has no narrower right: AWS checks versions and aliases by the machine's ARN, and names executions by it.
    machine = f"arn:aws:states:{OF}:stateMachine:nightly"
    stack = synthesized(tmp_path, "small", targets=f"{machine}:live,{machine}:7")
    assert _granted(stack, "execute-low", "states:StartExecution") == [machine]
    assert _granted(stack, "scan", "states:DescribeExecution") == [f"arn:aws:states:{OF}:execution:nightly:*"]


def test_a_task_definition_without_a_revision_is_run_by_the_right_to_all_revisions(tmp_path: Path) -> None:
    # AWS runs the newest revision, and checks the right to that.
    family = f"arn:aws:ecs:{OF}:task-definition/invoices"
    stack = synthesized(tmp_path, "small", targets=f"{CLUSTER},{family},{family}-b:3,{family}-c*")
    granted = _granted(stack, "execute-low", "ecs:RunTask")
    assert sorted(granted) == sorted([f"{family}:*", f"{family}-b:3", f"{family}-c*"])


@pytest.mark.parametrize(("count", "length"), [(37, 2), (15, 80)])
def test_no_rules_pattern_exceeds_eventbridges_limit_and_every_listed_machine_is_in_one(
    count: int, length: int, tmp_path: Path
) -> None:
    machines = [f"arn:aws:states:{OF}:stateMachine:{number:0{length}}" for number in range(count)]
    stack = synthesized(tmp_path, "small", targets=",".join(machines))
    made = [one["Properties"] for one in stack.resources("AWS::Events::Rule").values()]
    patterns = [one["EventPattern"] for one in made if one.get("EventPattern", {}).get("source") == ["aws.states"]]
    assert max(len(json.dumps(pattern)) for pattern in patterns) <= 2048
    assert [one["prefix"] for pattern in patterns for one in pattern["detail"]["stateMachineArn"]] == machines


@pytest.mark.parametrize("function", ["api", "admin"])
def test_the_api_recognizes_timeballs_own_resources_by_their_names(
    function: str, stack: Synthesized, monkeypatch: pytest.MonkeyPatch
) -> None:
    # CloudFormation names a resource without a name of its own, beginning with the stack's name.
    own = [
        f"arn:aws:x:{OF}:{begin}{body['Properties'][named]}"
        for begin, kind, named in (
            ("function:", "AWS::Lambda::Function", "FunctionName"),
            ("stateMachine:", "AWS::StepFunctions::StateMachine", "StateMachineName"),
            ("event-bus/", "AWS::Events::EventBus", "Name"),
        )
        for body in stack.resources(kind).values()
    ]
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", stack.functions()[function]["FunctionName"])
    assert len(own) > len(stack.functions()) + 1
    assert not [arn for arn in own if AllowedArns((AllowedArn(arn),), stack_name()).covers(arn, "acme")]


def test_by_default_executors_may_call_no_aws_resource_but_their_own(stack: Synthesized) -> None:
    calls = ("sns:Publish", "states:StartExecution", "ecs:RunTask", "iam:PassRole")
    for name, policy in stack.resources("AWS::IAM::Policy").items():
        if "execute" in name.lower():
            assert not [call for call in calls if call in json.dumps(policy)]


@pytest.mark.parametrize("text", ["reports", "arn:aws:s3:::bucket", f"{FUNCTION} {QUEUE}", f"arn:aws:sqs:{'x' * 501}"])
def test_an_invalid_list_of_arns_is_refused_before_anything_is_deployed(text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="timeball:targets"):
        synthesized(tmp_path, "small", targets=text)
