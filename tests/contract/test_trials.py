"""A trial goes to an executor and comes back as it is, also through a Lambda function that answers text."""

import io
import json
from typing import Any

import pytest

from timeball.aws.trials import LONGEST_SECONDS, TRYING, ExecutorTrials, told, trial_in
from timeball.domain.model.terms.target import HttpTarget, SqsTarget
from timeball.domain.model.terms.work import Work
from timeball.ports.errors import UnavailableError
from timeball.ports.trials import Trial, Tried

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
    """Lambda with one function that notes what it is asked, and has failed if it is told so."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[Trial | None] = []

    def invoke(self, **given: Any) -> dict[str, Any]:
        assert given["FunctionName"] == "Timeball-execute-low"
        self.asked.append(trial_in(json.loads(given["Payload"])))
        answer = {"errorType": "Timeout"} if self.fails else told(TRIED)
        failed = {"FunctionError": "Unhandled"} if self.fails else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


@pytest.mark.parametrize("trial", TRIALS)
def test_what_is_asked_and_what_came_of_it_arrive_as_they_are(trial: Trial) -> None:
    function = Function()
    assert ExecutorTrials(lambda: function, "Timeball-execute-low", TRYING).make(trial) == TRIED
    assert function.asked == [trial]


def test_of_an_executor_that_has_failed_nothing_is_known_and_it_is_not_asked_again() -> None:
    function = Function(fails=True)
    with pytest.raises(UnavailableError):
        ExecutorTrials(lambda: function, "Timeball-execute-low", TRYING).make(TRIALS[0])
    assert len(function.asked) == 1


def test_an_executor_is_waited_for_longer_than_a_target_may_take_and_shorter_than_the_gateway_waits() -> None:
    assert LONGEST_SECONDS < TRYING.patience.try_seconds < TRYING.patience.longest_seconds < 28


def test_messages_ask_for_no_trial() -> None:
    assert trial_in({"Records": []}) is None
