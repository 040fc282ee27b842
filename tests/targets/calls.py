"""Calls of AWS targets, and a caller with botocore's own clients, whose answers a test gives."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.stub import Stubber

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT, Work
from timeball.domain.model.terms.target import (
    EcsTarget,
    EventBridgeTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
)
from timeball.domain.time.instants import parse_instant
from timeball.ports.target import Answer, Call
from timeball.targets.aws.caller import aws_caller
from timeball.testing.virtual_clock import VirtualClock

NOW = parse_instant("2026-11-21T09:30:00.123Z")
RUN = RunId(JobKey("acme", "nightly"), NOW - 123, Origin.SCHEDULE)
OF = "eu-west-1:123456789012"
TARGETS: Final[Mapping[str, Target]] = {
    "lambda": LambdaTarget(f"arn:aws:lambda:{OF}:function:f:live"),
    "sqs": SqsTarget(f"arn:aws:sqs:{OF}:q"),
    "sqs FIFO": SqsTarget(f"arn:aws:sqs:{OF}:q.fifo"),
    "sns": SnsTarget(f"arn:aws:sns:{OF}:t", "Due"),
    "sns FIFO": SnsTarget(f"arn:aws:sns:{OF}:t.fifo", None, "group"),
    "stepFunctions": StepFunctionsTarget(f"arn:aws:states:{OF}:stateMachine:m"),
    "ecs": EcsTarget(
        f"arn:aws:ecs:{OF}:cluster/c", f"arn:aws:ecs:{OF}:task-definition/t:3", "main", subnets=("subnet-1",)
    ),
    "eventBridge": EventBridgeTarget(f"arn:aws:events:{OF}:event-bus/b", "acme", "Due"),
}
DONE: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    # The operation of a type, and an answer that reports success.
    "lambda": ("invoke", {"StatusCode": 200}),
    "sqs": ("send_message", {"MessageId": "m-1"}),
    "sns": ("publish", {"MessageId": "m-1"}),
    "stepFunctions": ("start_execution", {"executionArn": "arn:e", "startDate": NOW // 1000}),
    "ecs": ("run_task", {"tasks": [{"taskArn": "arn:task"}], "failures": []}),
    "eventBridge": ("put_events", {"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]}),
}

Prepare = Callable[[Stubber], None]


def a_call(target: Target, payload: str | None = '{"n": 1}', timeout: float = 10, **changes: Any) -> Call:
    call = Call(RUN, 2, Work(target, payload), timeout, tuple(map(str, RETRIED_BY_DEFAULT)), takes_report=False)
    return replace(call, **changes)


def client(service: str, region: str = "eu-west-1") -> Any:
    make: Any = boto3.client
    once = Config(retries={"total_max_attempts": 1})
    return make(service, region_name=region, aws_access_key_id="k", aws_secret_access_key="s", config=once)


def answer_of(call: Call, prepare: Prepare) -> Answer:
    """Make a call whose client gives the answers that a test prepares, and validates requests by botocore's model."""

    def connect(service: str, region: str, _: int) -> Any:
        stubbed = client(service, region)
        stubber = Stubber(stubbed)
        prepare(stubber)
        stubber.activate()
        return stubbed

    return call_by(connect, call)


def call_by(connect: Any, call: Call, clock: VirtualClock | None = None) -> Answer:
    async def main() -> Answer:
        clock_ = clock or VirtualClock(NOW)
        async with aws_caller(clock_, lambda run, attempt: f"token-{run}-{attempt}", connect) as caller:
            return await caller.call(call)

    return asyncio.run(main())
