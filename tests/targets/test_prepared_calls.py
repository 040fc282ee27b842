"""A call of AWS is prepared before its instant, and nothing is sent."""

import asyncio
from typing import Any

import pytest

from tests.engine.play import NotingCaller
from tests.targets.calls import NOW, TARGETS, a_call
from timeball.domain.model.ids import RunId
from timeball.domain.model.terms.target import HttpTarget
from timeball.targets.aws.caller import aws_caller
from timeball.targets.calls import TargetCaller
from timeball.testing.virtual_clock import VirtualClock


@pytest.mark.parametrize(("reports", "signed"), [(True, [2]), (False, [])])
def test_its_client_is_created_and_the_token_of_a_reporting_target_is_signed(
    *, reports: bool, signed: list[int]
) -> None:
    connected, tokens = list[tuple[str, str, int]](), list[int]()

    def sign(_: RunId, attempt: int) -> str:
        tokens.append(attempt)
        return "tba_x"

    def connect(service: str, region: str, seconds: int) -> object:
        connected.append((service, region, seconds))
        return object()  # every use of it fails

    async def main() -> None:
        async with aws_caller(VirtualClock(NOW), sign, connect) as caller:
            await caller.prepare(a_call(TARGETS["sqs"], takes_report=reports))

    asyncio.run(main())
    assert (connected, tokens) == ([("sqs", "eu-west-1", 16)], signed)


def test_a_client_that_cannot_be_created_is_left_to_the_call() -> None:
    def connect(*_: object) -> Any:
        raise ValueError("no such region")

    async def main() -> None:
        async with aws_caller(VirtualClock(NOW), connect=connect) as caller:
            await caller.prepare(a_call(TARGETS["lambda"]))

    asyncio.run(main())


def test_each_adapter_prepares_its_own_calls() -> None:
    http, aws = (NotingCaller(VirtualClock(NOW)) for _ in range(2))
    caller = TargetCaller(http, aws)
    webhook, function = a_call(HttpTarget("https://shop.example")), a_call(TARGETS["lambda"])
    for call in (webhook, function):
        asyncio.run(caller.prepare(call))
    assert ([call for _, call in http.prepared], [call for _, call in aws.prepared]) == ([webhook], [function])
