"""The verdict for each answer and each error of AWS."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from tests.targets.calls import DONE, NOW, OF, RUN, TARGETS, Prepare, a_call, answer_of
from timeball.domain.model.runs.values import Accepted, Failed, Succeeded
from timeball.domain.model.terms.target import EcsTarget, InvocationType, LambdaTarget, StepFunctionsTarget


class Stream(StreamingBody):
    """The answer of a function."""

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
def test_an_accepted_request_succeeds_unless_the_target_must_report(kind: str, *, takes_report: bool) -> None:
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
def test_the_result_names_the_resource_that_was_created(kind: str, result: dict[str, str]) -> None:
    assert json.loads(answer_of(a_call(TARGETS[kind]), done(kind)).body) == result


class TestAFunction:
    def test_gives_its_answer_as_the_result_up_to_16_kb(self) -> None:
        answer = answer_of(a_call(TARGETS["lambda"]), done("lambda", Payload=Stream(b'{"parts": 3}')))
        assert answer.body == '{"parts": 3}'
        large = answer_of(a_call(TARGETS["lambda"]), done("lambda", Payload=Stream("ü".encode() * 1_000_000)))
        assert (large.verdict, len(large.body.encode())) == (Succeeded(), 16_384)

    def test_that_fails_counts_like_a_5xx(self) -> None:
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

    def test_that_is_sent_an_event_has_no_result(self) -> None:
        target = LambdaTarget("arn:aws:lambda:eu-west-1:123456789012:function:f", InvocationType.EVENT)
        assert answer_of(a_call(target), done("lambda", Payload=Stream(b""))).body == ""


@pytest.mark.parametrize(
    ("kind", "code", "status", "may_retry", "is_down"),
    [
        # Throttling, whatever its status: retry later.
        ("lambda", "TooManyRequestsException", 429, True, False),
        ("sqs", "RequestThrottled", 400, True, False),
        ("sns", "Throttled", 429, True, False),
        ("stepFunctions", "ExecutionLimitExceeded", 400, True, False),
        ("ecs", "ThrottlingException", 400, True, False),
        ("eventBridge", "ThrottlingException", 400, True, False),
        ("sqs", "KMS.ThrottlingException", 400, True, False),
        ("sns", "KMSThrottling", 400, True, False),
        ("stepFunctions", "KmsThrottlingException", 400, True, False),
        ("lambda", "EC2ThrottledException", 502, True, False),
        # AWS fails, or is not ready: retry later, and other runs of the host should wait too.
        (
            "lambda",
            "ResourceConflictException",
            409,
            True,
            True,
        ),  # it was idle, or is being changed
        ("lambda", "SnapStartNotReadyException", 409, True, True),
        ("lambda", "ServiceException", 500, True, True),
        ("sqs", "ServiceUnavailable", 503, True, True),
        ("ecs", "ServerException", 500, True, True),
        # Not allowed, not found, not possible: a retry would not succeed either.
        ("lambda", "AccessDeniedException", 403, False, False),
        ("lambda", "ResourceNotFoundException", 404, False, False),
        ("sqs", "AWS.SimpleQueueService.NonExistentQueue", 400, False, False),
        ("sns", "NotFound", 404, False, False),
        ("stepFunctions", "StateMachineDoesNotExist", 400, False, False),
        ("ecs", "ClusterNotFoundException", 400, False, False),
        ("eventBridge", "AccessDeniedException", 400, False, False),
    ],
)
def test_each_error_has_its_verdict(kind: str, code: str, status: int, *, may_retry: bool, is_down: bool) -> None:
    answer = answer_of(a_call(TARGETS[kind]), refused(kind, code, status))
    assert (answer.verdict, answer.is_down, answer.status) == (Failed(may_retry), is_down, status)
    assert answer.error == f"AWS refused the call: {code} (no)."


@pytest.mark.parametrize(("kind", "execution"), [("stepFunctions", "arn:e"), ("ecs", "arn:task")])
@pytest.mark.parametrize("takes_report", [False, True])
def test_a_followed_target_is_handed_over_with_the_name_of_its_execution(
    kind: str, execution: str, *, takes_report: bool
) -> None:
    target = TARGETS[kind]
    assert isinstance(target, StepFunctionsTarget | EcsTarget)
    answer = answer_of(a_call(replace(target, follow=True), takes_report=takes_report), done(kind))
    assert answer.verdict == Accepted(execution)


@pytest.mark.parametrize("qualifier", ["", ":live"])
def test_an_execution_that_was_started_before_is_followed_by_its_name(qualifier: str) -> None:
    target = StepFunctionsTarget(f"arn:aws:states:{OF}:stateMachine:m{qualifier}", follow=True)
    answer = answer_of(a_call(target), refused("stepFunctions", "ExecutionAlreadyExists", 400))
    assert answer.verdict == Accepted(f"arn:aws:states:{OF}:execution:m:acme.{RUN}-2")


def test_a_task_that_was_run_before_is_followed_by_the_arn_in_awss_answer() -> None:
    target = TARGETS["ecs"]
    assert isinstance(target, EcsTarget)

    def prepare(stub: Stubber) -> None:
        stub.add_client_error("run_task", "ConflictException", modeled_fields={"resourceIds": ["arn:task"]})

    assert answer_of(a_call(replace(target, follow=True)), prepare).verdict == Accepted("arn:task")


def test_a_job_may_list_a_status_that_is_retried() -> None:
    prepare = refused("lambda", "ResourceNotFoundException", 404)
    assert answer_of(a_call(TARGETS["lambda"], retry_on=("404",)), prepare).verdict == Failed(may_retry=True)


@pytest.mark.parametrize(
    ("kind", "beside", "may_retry", "is_down"),
    [
        # The answer has the status 200, but its one event, or one task, failed.
        ("eventBridge", {"Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "x"}]}, True, False),
        ("eventBridge", {"Entries": [{"ErrorCode": "InternalFailure", "ErrorMessage": "x"}]}, True, True),
        ("eventBridge", {"Entries": [{"ErrorCode": "NotAuthorized", "ErrorMessage": "x"}]}, False, False),
        ("ecs", {"tasks": [], "failures": [{"reason": "RESOURCE:MEMORY", "detail": "x"}]}, True, True),
        ("ecs", {"tasks": [], "failures": [{"reason": "EMPTY CAPACITY PROVIDER"}]}, True, True),
        ("ecs", {"tasks": [], "failures": [{"reason": "NO ACTIVE INSTANCES"}]}, True, True),
        ("ecs", {"tasks": [], "failures": [{"reason": "ATTRIBUTE"}]}, False, False),
        ("ecs", {"tasks": [], "failures": [{"reason": "MISSING"}]}, False, False),
        ("ecs", {"tasks": [], "failures": []}, False, False),
    ],
)
def test_an_answer_that_hides_an_error_fails_the_attempt(
    kind: str, beside: dict[str, Any], *, may_retry: bool, is_down: bool
) -> None:
    answer = answer_of(a_call(TARGETS[kind]), done(kind, **beside))
    assert (answer.verdict, answer.is_down) == (Failed(may_retry), is_down)


@pytest.mark.parametrize(
    ("code", "message", "may_retry"),
    [
        ("ClientException", "Capacity is unavailable at this time. Please try again later.", True),
        ("ClientException", "You've reached the limit on the number of tasks you can run concurrently", True),
        ("InvalidParameterException", "No Container Instances were found in your cluster.", True),
        ("ClientException", "TaskDefinition is inactive", False),
    ],
)
def test_a_cluster_without_room_is_recognized_by_the_words_of_ecs(code: str, message: str, *, may_retry: bool) -> None:
    answer = answer_of(a_call(TARGETS["ecs"]), refused("ecs", code, 400, message))
    assert (answer.verdict, answer.is_down) == (Failed(may_retry), may_retry)


def test_an_execution_that_this_attempt_started_before_is_not_started_again_and_is_no_failure() -> None:
    answer = answer_of(a_call(TARGETS["stepFunctions"]), refused("stepFunctions", "ExecutionAlreadyExists", 400))
    assert (answer.verdict, answer.error) == (Succeeded(), None)
