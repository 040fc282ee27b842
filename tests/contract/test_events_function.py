"""The events function as Lambda calls it, with AWS mocked: an unreadable message does not stop the others."""

import json
from typing import Any

from functions.events import handler
from tests.contract.test_executor_function import Invocation, sqs
from timeball.runtime import wiring

__all__ = ["sqs"]  # the fixture: AWS as the functions find it

DEEP = "[" * 100_000
ENDED = {"source": "aws.states", "detail": {"status": "SUCCEEDED", "executionArn": "arn", "input": DEEP}}


def test_a_message_that_nests_too_deep_is_kept_and_the_rest_of_its_batch_is_processed(sqs: Any) -> None:
    bodies = [DEEP, json.dumps(ENDED), '{"source":"aws.ecs","detail":{}}', "no JSON"]
    records = [{"messageId": str(number), "body": body} for number, body in enumerate(bodies)]
    assert handler({"Records": records}, Invocation(left_ms=60_000)) == {"batchItemFailures": []}
    url = wiring.environment().queue_unreadable
    kept = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert sorted(one["Body"][:10] for one in kept) == [DEEP[:10], "no JSON"]
