"""A trial reaches an executor and comes back unchanged, also through a Lambda function that answers in text."""

import io
import json
from typing import Any

import pytest

from timeball.aws.executors import LONGEST_SECONDS, TRYING, ExecutorTrials, trial_answer, trial_in
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget, SqsTarget
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Trial, Tried

TRIED = Tried(
    "failed",
    may_retry=False,
    status=None,
    body="ä",
    error="No.",
    request={"method": "POST", "headers": {"a": None}},
    headers={"b": "c"},
    took_ms={"total": 3},
    signatures=2,
)
TRIALS = [
    Trial(
        "acme", Work(HttpTarget("https://h.example/", headers={"X-Key": "abc"}, body='"{{jobId}}"'), '{"ä":"\\n"}'), 5
    ),
    Trial("acme", Work(SqsTarget("arn:aws:sqs:eu-west-1:123456789012:q")), 20),
]


class Function:
    """A Lambda client with one function, which records its requests and fails if it is told to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[Trial | None] = []

    def invoke(self, **given: Any) -> dict[str, Any]:
        assert given["FunctionName"] == "Timeball-execute-low"
        self.asked.append(trial_in(json.loads(given["Payload"])))
        answer = {"errorType": "Timeout"} if self.fails else trial_answer(TRIED)
        failed = {"FunctionError": "Unhandled"} if self.fails else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


@pytest.mark.parametrize("trial", TRIALS)
def test_a_trial_and_its_result_arrive_unchanged(trial: Trial) -> None:
    function = Function()
    assert ExecutorTrials(lambda: function, "Timeball-execute-low", TRYING).make(trial) == TRIED
    assert function.asked == [trial]


def test_a_trial_whose_executor_failed_is_unknown_and_not_repeated() -> None:
    function = Function(fails=True)
    with pytest.raises(UnavailableError):
        ExecutorTrials(lambda: function, "Timeball-execute-low", TRYING).make(TRIALS[0])
    assert len(function.asked) == 1


def test_the_wait_for_an_executor_is_longer_than_a_targets_and_shorter_than_the_gateways() -> None:
    assert LONGEST_SECONDS < TRYING.patience.try_seconds < TRYING.patience.longest_seconds < 28


def test_messages_of_a_queue_contain_no_trial() -> None:
    assert trial_in({"Records": []}) is None
