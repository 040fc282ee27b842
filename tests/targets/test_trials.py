"""A trial of an AWS target: the request to it, and its answer."""

import asyncio
from typing import Any

from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import SqsTarget, StepFunctionsTarget
from timeball.ports.target import Trial, Tried
from timeball.targets.aws.caller import aws_caller
from timeball.targets.calls import Trace, make_trial
from timeball.testing.virtual_clock import VirtualClock

NOW = 1_795_253_400_123
QUEUE = "arn:aws:sqs:eu-west-1:123456789012:invoices"


class Queues:
    """A client of SQS on which every queue exists."""

    def send_message(self, **_: Any) -> dict[str, Any]:
        return {"MessageId": "m-1", "ResponseMetadata": {"HTTPStatusCode": 200}}


class Machines:
    """A client of Step Functions on which every state machine exists; it records its requests."""

    def __init__(self) -> None:
        self.input = ""

    def start_execution(self, **arguments: Any) -> dict[str, Any]:
        self.input = arguments["input"]
        return {"executionArn": "arn:e"}


def test_its_target_gets_no_token_because_there_is_no_run_to_report_on() -> None:
    machines = Machines()
    followed = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:m", follow=True)

    async def main() -> Tried:
        trace, clock = Trace(), VirtualClock(NOW)
        async with aws_caller(clock, lambda *_: "tba_secret", lambda *_: machines, trace) as caller:
            return await make_trial(caller, trace, Trial("acme", Work(followed, "{}"), 5), NOW)

    tried = asyncio.run(main())
    assert (tried.verdict, "tba_secret" in machines.input, "tba_secret" in str(tried)) == ("accepted", False, False)


def test_it_shows_the_operation_its_arguments_and_the_answer() -> None:
    async def main() -> Tried:
        trace, clock = Trace(), VirtualClock(NOW)
        async with aws_caller(clock, connect=lambda *_: Queues(), trace=trace) as caller:
            return await make_trial(caller, trace, Trial("acme", Work(SqsTarget(QUEUE), '{"n":1}'), 5), NOW)

    tried = asyncio.run(main())
    assert (tried.verdict, tried.error, dict(tried.took_ms)) == ("succeeded", None, {"total": 0})
    assert "m-1" in tried.body
    assert {name: tried.request[name] for name in ("service", "region", "operation")} == {
        "service": "sqs",
        "region": "eu-west-1",
        "operation": "send_message",
    }
    assert tried.request["arguments"]["MessageBody"] == '{"n":1}'
    told = tried.request["arguments"]["MessageAttributes"]["Timeball-Run-Id"]["StringValue"]
    assert told == f"timeball-trial.{NOW}.m"
