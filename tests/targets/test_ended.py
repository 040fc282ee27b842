"""An AWS event names the run whose execution is over; an event about any other execution is ignored."""

import json
from typing import Any

import pytest

from tests.targets.calls import RUN, TARGETS, a_call
from timeball.aws.executions import EndedExecution, is_of_executions, parse_ended
from timeball.domain.model.terms.target import EcsTarget, StepFunctionsTarget
from timeball.ports.target import ExecutionStatus
from timeball.targets.aws.requests import request_of
from timeball.targets.envelope import facts_of

TOKEN = "tba_acme_2_0"
EXECUTION, TASK = "arn:aws:states:eu-west-1:123456789012:execution:m:x", "arn:aws:ecs:eu-west-1:123456789012:task/c/x"


def _event(source: str, **detail: Any) -> str:
    return json.dumps({"source": source, "detail-type": "…", "detail": detail})


def _of_machine(status: str = "SUCCEEDED", token: str | None = TOKEN, **detail: Any) -> str:
    target = TARGETS["stepFunctions"]
    assert isinstance(target, StepFunctionsTarget)
    call = a_call(target)
    asked = request_of(target, call, facts_of(call, token)).arguments
    return _event("aws.states", **{"status": status, "input": asked["input"], "executionArn": EXECUTION, **detail})


def _of_task(token: str | None = TOKEN, **detail: Any) -> str:
    target = TARGETS["ecs"]
    assert isinstance(target, EcsTarget)
    call = a_call(target)
    asked = request_of(target, call, facts_of(call, token)).arguments
    stopped = {
        "taskArn": TASK,
        "lastStatus": "STOPPED",
        "containers": [{"name": "main", "exitCode": 0}],
        "overrides": asked["overrides"],
    }
    return _event("aws.ecs", **{**stopped, **detail})


@pytest.mark.parametrize(
    ("body", "standing"),
    [
        (_of_machine(output='{"rows": 7}'), ExecutionStatus(is_over=True, body='{"rows": 7}')),
        (
            _of_machine("FAILED", error="E", cause="c"),
            ExecutionStatus(is_over=True, error="The execution ended as FAILED (E: c)."),
        ),
        (_of_task(), ExecutionStatus(is_over=True, body='{"exitCodes":{"main":0}}')),
    ],
)
def test_an_event_names_its_run_by_the_input_of_its_execution(body: str, standing: ExecutionStatus) -> None:
    assert is_of_executions(body)
    assert parse_ended(body) == EndedExecution(str(RUN), TOKEN, TASK if "aws.ecs" in body else EXECUTION, standing)


@pytest.mark.parametrize(
    "body",
    [
        _of_machine("RUNNING"),
        _of_machine(token=None),  # a run that does not follow it has started it
        _of_machine(input=None),  # AWS leaves out an input that is too large
        _of_machine(input="[1]"),
        _of_machine(input='{"timeball": 1}'),
        _of_task(lastStatus="DEPROVISIONING"),
        _of_task(token=None),
        _of_task(overrides={}),
        _of_task(overrides=None),
        _of_task(overrides={"containerOverrides": [{"environment": [{"name": "TIMEBALL_RUN_ID"}, {}]}]}),
        _of_task(overrides={"containerOverrides": [1]}),
        _of_machine("RESTING"),
        _of_machine(executionArn=None),
        json.dumps({"source": "aws.states", "detail": 7}),
        json.dumps({"source": "aws.states"}),
    ],
)
def test_an_event_about_a_live_or_unknown_execution_names_no_run(body: str) -> None:
    assert is_of_executions(body)
    assert parse_ended(body) is None


@pytest.mark.parametrize("body", ["", "[]", "{", json.dumps({"source": "shop", "detail": {}})])
def test_any_other_message_is_no_such_event(body: str) -> None:
    assert not is_of_executions(body)
