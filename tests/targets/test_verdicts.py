"""What AWS's answers, and its errors, make of an attempt."""

import asyncio
import io
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import (
    ConnectTimeoutError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
    UnknownServiceError,
)
from botocore.response import StreamingBody

from tests.targets.calls import DONE, NOW, OF, RUN, TARGETS, Prepare, a_call, answer_of, call_by
from timeball.domain.model.target import EcsTarget, HttpTarget, Invocation, LambdaTarget, StepFunctionsTarget
from timeball.domain.model.verdict import Accepted, Failed, Succeeded
from timeball.domain.model.work import Work
from timeball.targets.aws.caller import aws_caller
from timeball.testing.virtual_clock import VirtualClock


class Stream(StreamingBody):
    """A function's answer."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), len(content))


def done(kind: str, **beside: Any) -> Prepare:
    operation, answer = DONE[kind.split(maxsplit=1)[0]]
    return lambda stub: stub.add_response(operation, {**answer, **beside})


def refused(kind: str, code: str, status: int, message: str = "no") -> Prepare:
    operation, _ = DONE[kind.split(maxsplit=1)[0]]
    return lambda stub: stub.add_client_error(operation, code, message, status)


@pytest.mark.parametrize("takes_report", [False, True])
@pytest.mark.parametrize("kind", TARGETS)
def test_what_was_handed_over_is_done_unless_the_target_is_to_report(kind: str, *, takes_report: bool) -> None:
    payload = {"Payload": Stream(b"null")} if kind == "lambda" else {}
    answer = answer_of(a_call(TARGETS[kind], takes_report=takes_report), done(kind, **payload))
    assert answer.verdict == (Accepted() if takes_report else Succeeded())
    assert (answer.called_at, answer.is_down, answer.error, answer.status) == (NOW, False, None, 200)


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("sqs", {"messageId": "m-1"}),
        ("sns", {"messageId": "m-1"}),
        ("stepFunctions", {"executionArn": "arn:e"}),
        ("ecs", {"taskArn": "arn:task"}),
        ("eventBridge", {"eventId": "e-1"}),
    ],
)
def test_the_result_names_what_was_made(kind: str, result: dict[str, str]) -> None:
    assert json.loads(answer_of(a_call(TARGETS[kind]), done(kind)).body) == result


class TestAFunction:
    def test_gives_its_answer_as_the_result_up_to_16_kb(self) -> None:
        answer = answer_of(a_call(TARGETS["lambda"]), done("lambda", Payload=Stream(b'{"parts": 3}')))
        assert answer.body == '{"parts": 3}'
        large = answer_of(a_call(TARGETS["lambda"]), done("lambda", Payload=Stream("ü".encode() * 1_000_000)))
        assert (large.verdict, len(large.body.encode())) == (Succeeded(), 16_384)

    def test_that_fails_counts_as_a_5xx_does(self) -> None:
        said = Stream(b'{"errorMessage": "no\\nroom", "errorType": "ValueError"}')
        prepare = done("lambda", FunctionError="Unhandled", Payload=said)
        answer = answer_of(a_call(TARGETS["lambda"]), prepare)
        assert (answer.verdict, answer.is_down) == (Failed(may_retry=True), True)
        assert answer.error == "The function failed (no room)."
        assert "ValueError" in answer.body
        said = Stream(b"not even JSON")
        strict = answer_of(
            a_call(TARGETS["lambda"], retry_on=("4xx",)), done("lambda", FunctionError="X", Payload=said)
        )
        assert (strict.verdict, strict.error) == (Failed(may_retry=False), "The function failed.")

    def test_that_is_handed_an_event_has_none(self) -> None:
        target = LambdaTarget("arn:aws:lambda:eu-west-1:123456789012:function:f", Invocation.EVENT)
        assert answer_of(a_call(target), done("lambda", Payload=Stream(b""))).body == ""


@pytest.mark.parametrize(
    ("kind", "code", "status", "may_retry", "is_down"),
    [
        # Throttling, whatever its status: later.
        ("lambda", "TooManyRequestsException", 429, True, False),
        ("sqs", "RequestThrottled", 400, True, False),
        ("sns", "Throttled", 429, True, False),
        ("stepFunctions", "ExecutionLimitExceeded", 400, True, False),
        ("ecs", "ThrottlingException", 400, True, False),
        ("eventBridge", "ThrottlingException", 400, True, False),
        # AWS fails: later, and others had better wait too.
        ("lambda", "ServiceException", 500, True, True),
        ("sqs", "ServiceUnavailable", 503, True, True),
        ("ecs", "ServerException", 500, True, True),
        # Not allowed, not there, not possible: it will not be the next time either.
        ("lambda", "AccessDeniedException", 403, False, False),
        ("lambda", "ResourceNotFoundException", 404, False, False),
        ("sqs", "AWS.SimpleQueueService.NonExistentQueue", 400, False, False),
        ("sns", "NotFound", 404, False, False),
        ("stepFunctions", "StateMachineDoesNotExist", 400, False, False),
        ("ecs", "ClusterNotFoundException", 400, False, False),
        ("eventBridge", "AccessDeniedException", 400, False, False),
    ],
)
def test_an_error_is_judged_by_what_it_is_about(
    kind: str, code: str, status: int, *, may_retry: bool, is_down: bool
) -> None:
    answer = answer_of(a_call(TARGETS[kind]), refused(kind, code, status))
    assert (answer.verdict, answer.is_down, answer.status) == (Failed(may_retry), is_down, status)
    assert answer.error == f"AWS refused the call: {code} (no)."


@pytest.mark.parametrize(("kind", "execution"), [("stepFunctions", "arn:e"), ("ecs", "arn:task")])
@pytest.mark.parametrize("takes_report", [False, True])
def test_what_is_followed_is_handed_over_with_the_name_of_what_was_started(
    kind: str, execution: str, *, takes_report: bool
) -> None:
    target = TARGETS[kind]
    assert isinstance(target, StepFunctionsTarget | EcsTarget)
    answer = answer_of(a_call(replace(target, follow=True), takes_report=takes_report), done(kind))
    assert answer.verdict == Accepted(execution)


@pytest.mark.parametrize("qualifier", ["", ":live"])
def test_what_was_started_before_is_followed_by_its_name(qualifier: str) -> None:
    target = StepFunctionsTarget(f"arn:aws:states:{OF}:stateMachine:m{qualifier}", follow=True)
    answer = answer_of(a_call(target), refused("stepFunctions", "ExecutionAlreadyExists", 400))
    assert answer.verdict == Accepted(f"arn:aws:states:{OF}:execution:m:{RUN}-2")


def test_a_job_may_hold_a_status_for_worth_another_try() -> None:
    prepare = refused("lambda", "ResourceNotFoundException", 404)
    assert answer_of(a_call(TARGETS["lambda"], retry_on=("404",)), prepare).verdict == Failed(may_retry=True)


@pytest.mark.parametrize(
    ("kind", "beside", "may_retry", "is_down"),
    [
        # An answer with the status 200 whose one event, or one task, came to nothing.
        ("eventBridge", {"Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "x"}]}, True, False),
        ("eventBridge", {"Entries": [{"ErrorCode": "InternalFailure", "ErrorMessage": "x"}]}, True, True),
        ("eventBridge", {"Entries": [{"ErrorCode": "NotAuthorized", "ErrorMessage": "x"}]}, False, False),
        ("ecs", {"tasks": [], "failures": [{"reason": "RESOURCE:MEMORY", "detail": "x"}]}, True, True),
        ("ecs", {"tasks": [], "failures": [{"reason": "MISSING"}]}, False, False),
        ("ecs", {"tasks": [], "failures": []}, False, False),
    ],
)
def test_an_answer_that_hides_an_error_is_one(
    kind: str, beside: dict[str, Any], *, may_retry: bool, is_down: bool
) -> None:
    answer = answer_of(a_call(TARGETS[kind]), done(kind, **beside))
    assert (answer.verdict, answer.is_down) == (Failed(may_retry), is_down)


def test_an_execution_that_was_started_before_for_this_attempt_is_not_started_again_and_is_no_failure() -> None:
    answer = answer_of(a_call(TARGETS["stepFunctions"]), refused("stepFunctions", "ExecutionAlreadyExists", 400))
    assert (answer.verdict, answer.error) == (Succeeded(), None)


class Broken:
    """A client whose every operation ends in an error."""

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
def test_a_connection_that_fails_tells_whether_the_request_may_have_left(
    error: Exception, called_at: int | None
) -> None:
    answer = call_by(lambda *_: Broken(error), a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.called_at, answer.is_down) == (Failed(may_retry=True), called_at, True)
    assert "sqs in eu-west-1" in (answer.error or "")


def test_a_client_that_cannot_be_made_is_a_call_that_never_left() -> None:
    def connect(*_: object) -> Any:
        raise UnknownServiceError(service_name="sqs", known_service_names="")

    answer = call_by(connect, a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.called_at) == (Failed(may_retry=True), None)


class TestASlowService:
    def test_is_answered_at_the_timeout_and_holds_up_no_other_call(self) -> None:
        go_on = threading.Event()

        class Slow:
            def __init__(self, service: str) -> None:
                self.service = service

            def invoke(self, **_: object) -> dict[str, Any]:
                go_on.wait(10)
                return {}

            def send_message(self, **_: object) -> dict[str, Any]:
                return {"MessageId": "m"}

        async def main() -> list[Any]:
            async with aws_caller(VirtualClock(NOW), connect=lambda service, *_: Slow(service)) as caller:
                calls = [a_call(TARGETS["lambda"], timeout=0.3), a_call(TARGETS["sqs"])]
                began = time.monotonic()
                slow = asyncio.create_task(caller.call(calls[0]))
                quick = await caller.call(calls[1])
                between = time.monotonic() - began
                return [await slow, quick, between]

        try:
            slow, quick, between = asyncio.run(main())
        finally:
            go_on.set()
        assert (quick.verdict, between < 0.3) == (Succeeded(), True)
        assert (slow.verdict, slow.timed_out, slow.is_down) == (Failed(may_retry=True), True, True)
        assert slow.called_at == NOW

    def test_is_sent_nothing_after_its_call_is_over(self) -> None:
        made, sent = threading.Event(), list[str]()

        class Queue:
            def send_message(self, **_: object) -> dict[str, Any]:
                sent.append("sent")
                return {}

        def connect(*_: object) -> Any:
            made.wait(10)
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

    @pytest.mark.parametrize(("timeout", "waits"), [(1, 30), (30, 120), (300, 900), (840, 900)])
    def test_is_waited_for_by_its_client_a_little_longer_than_by_the_call(self, timeout: float, waits: int) -> None:
        asked = []

        def connect(service: str, region: str, seconds: int) -> Any:
            asked.append((service, region, seconds))
            return Broken(EndpointConnectionError(endpoint_url="x"))

        call_by(connect, a_call(TARGETS["lambda"], timeout=timeout))
        assert asked == [("lambda", "eu-west-1", waits)]


def test_a_target_that_reports_is_given_the_token_of_its_attempt() -> None:
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


def test_what_botocore_itself_refuses_is_a_failure_that_no_retry_mends() -> None:
    answer = call_by(lambda *_: Broken(ParamValidationError(report="bad")), a_call(TARGETS["sqs"]))
    assert (answer.verdict, answer.status) == (Failed(may_retry=False), 400)
