"""How AWS targets are called: once, within the timeout, and every error ends as an answer."""

import asyncio
import threading
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
    UnknownServiceError,
)

from tests.leap import leap
from tests.targets.calls import NOW, TARGETS, a_call, call_by
from timeball.domain.model.runs.values import Failed, Succeeded
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Answer, Call
from timeball.targets.aws.caller import aws_caller
from timeball.testing.virtual_clock import VirtualClock


class Broken:
    """A client whose every operation raises an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _: str) -> Any:
        def operation(**_: object) -> None:
            raise self._error

        return operation


@pytest.mark.parametrize(
    ("error", "called_at"),
    [
        (EndpointConnectionError(endpoint_url="https://x"), None),
        (ConnectTimeoutError(endpoint_url="https://x"), None),
        (ReadTimeoutError(endpoint_url="https://x"), NOW),  # it may have been done
        (ConnectionResetError(), NOW),
    ],
)
def test_a_connection_error_shows_whether_the_request_may_have_left(error: Exception, called_at: int | None) -> None:
    answer = call_by(lambda *_: Broken(error), a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.called_at, answer.is_down) == (Failed(may_retry=True), called_at, True)
    assert "sqs in eu-west-1" in (answer.error or "")


def test_a_client_that_cannot_be_created_is_a_call_that_never_left() -> None:
    def connect(*_: object) -> Any:
        raise UnknownServiceError(service_name="sqs", known_service_names="")

    answer = call_by(connect, a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.called_at) == (Failed(may_retry=True), None)


class TestASlowService:
    def test_is_answered_at_the_timeout_and_delays_no_other_call(self) -> None:
        asked, go_on = threading.Event(), threading.Event()

        class Slow:
            def __init__(self, service: str) -> None:
                self.service = service

            def invoke(self, **_: object) -> dict[str, Any]:
                asked.set()
                go_on.wait()
                return {}

            def send_message(self, **_: object) -> dict[str, Any]:
                return {"MessageId": "m"}

        async def main() -> list[Any]:
            async with aws_caller(VirtualClock(NOW), connect=lambda service, *_: Slow(service)) as caller:
                slow = asyncio.create_task(caller.call(a_call(TARGETS["lambda"], timeout=60)))
                quick = await caller.call(a_call(TARGETS["sqs"]))
                was_done = slow.done()
                await asyncio.to_thread(asked.wait)
                leap(60)
                return [await slow, quick, was_done]

        try:
            slow, quick, was_done = asyncio.run(main())
        finally:
            go_on.set()
        assert (quick.verdict, was_done) == (Succeeded(), False)
        assert (slow.verdict, slow.timed_out, slow.is_down) == (Failed(may_retry=True), True, True)
        assert slow.called_at == NOW

    def test_is_sent_nothing_after_its_call_is_over(self) -> None:
        made, sent = threading.Event(), list[str]()

        class Queue:
            def send_message(self, **_: object) -> dict[str, Any]:
                sent.append("sent")
                return {}

        def connect(*_: object) -> Any:
            made.wait()
            return Queue()

        async def main() -> Any:
            async with aws_caller(VirtualClock(NOW), connect=connect) as caller:
                answer = await caller.call(a_call(TARGETS["sqs"], timeout=0.1))
                made.set()
                return answer

        answer = asyncio.run(main())
        for thread in threading.enumerate():
            if thread.name.startswith("aws"):
                thread.join()
        assert (answer.called_at, answer.timed_out, sent) == (None, True, [])

    @pytest.mark.parametrize(("timeout", "waits"), [(1, 2), (2, 4), (30, 32), (300, 512), (840, 1024)])
    def test_its_client_waits_longer_than_the_call_and_never_more_than_twice_as_long(
        self, timeout: float, waits: int
    ) -> None:
        # There are two threads for each run of the executor's capacity, so calls that timed out leave one to the
        # others.
        asked = []

        def connect(service: str, region: str, seconds: int) -> Any:
            asked.append((service, region, seconds))
            return Broken(EndpointConnectionError(endpoint_url="x"))

        call_by(connect, a_call(TARGETS["lambda"], timeout=timeout))
        assert asked == [("lambda", "eu-west-1", waits)]


def test_a_target_that_reports_receives_the_token_of_its_attempt() -> None:
    bodies: list[Any] = []

    class Queue:
        def send_message(self, **arguments: Any) -> dict[str, Any]:
            bodies.append(arguments["MessageAttributes"].get("Timeball-Callback-Token"))
            return {"MessageId": "m"}

    for takes_report in (True, False):
        call_by(lambda *_: Queue(), a_call(TARGETS["sqs"], takes_report=takes_report))
    call = a_call(TARGETS["sqs"])
    assert bodies == [{"DataType": "String", "StringValue": f"token-{call.run}-2"}, None]


def test_a_payload_that_is_too_large_ends_the_run_with_a_sentence_and_without_a_call() -> None:
    answer = call_by(lambda *_: Broken(AssertionError()), a_call(TARGETS["ecs"], '"' + "x" * 8192 + '"'))
    assert (answer.verdict, answer.called_at) == (Failed(may_retry=False), None)
    assert answer.error == (
        "The payload cannot be sent. For a target of the type ecs this is too large: 8198 bytes of 6144."
    )


def test_a_webhook_is_not_called_here() -> None:
    call = a_call(TARGETS["sqs"], work=Work(HttpTarget("https://example.com")))
    assert call_by(lambda *_: Broken(AssertionError()), call).verdict == Failed(may_retry=False)


def test_an_error_on_the_way_fails_the_attempt_and_does_not_crash() -> None:
    def unsigned(*_: object) -> str:
        raise UnavailableError

    async def main(call: Call) -> Answer:
        async with aws_caller(VirtualClock(NOW), unsigned, lambda *_: Broken(AssertionError())) as caller:
            return await caller.call(call)

    for call in (
        a_call(TARGETS["sqs"], takes_report=True),
        a_call(TARGETS["stepFunctions"], "[" * 100_000),
    ):
        answer = asyncio.run(main(call))
        assert (answer.verdict, answer.called_at) == (Failed(may_retry=True), None)
        assert answer.error is not None


@pytest.mark.parametrize("payload", ['{"a": "\\ud800"}', '{"parents": {"p": 1e999}}'])
@pytest.mark.parametrize("kind", ["lambda", "stepFunctions", "eventBridge"])
def test_a_parents_result_that_aws_does_not_take_as_json_ends_the_run_with_a_sentence(kind: str, payload: str) -> None:
    answer = call_by(lambda *_: Broken(AssertionError()), a_call(TARGETS[kind], payload))
    assert (answer.verdict, answer.called_at) == (Failed(may_retry=False), None)
    assert (answer.error or "").startswith("A value holds ")


def test_a_request_that_botocore_refuses_fails_without_a_retry() -> None:
    answer = call_by(lambda *_: Broken(ParamValidationError(report="bad")), a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.status) == (Failed(may_retry=False), 400)
