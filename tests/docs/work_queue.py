"""A queue of SQS in memory, as `timeball worker` asks for it: a target puts runs into it."""

import threading
import uuid
from collections.abc import Mapping
from typing import Any

from tests.api.client import SECRET
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.runs.values import Accepted
from timeball.ports.target import Answer, Call
from timeball.targets.envelope import as_headers, facts_of

ARN = "arn:aws:sqs:eu-west-1:123456789012:timeball-work"
WITHIN_SECONDS = 30
_LONG_POLL_SECONDS = 2.0


class WorkQueue:
    """Messages that wait, and those that a worker has received."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[dict[str, Any]] = []
        self._received: set[str] = set()

    def put(self, call: Call, now: int) -> Answer:
        """Put a run into the queue, as an executor does."""
        facts = as_headers(facts_of(call, token_of(call.run, call.attempt, SECRET)))
        attributes = {name: {"DataType": "String", "StringValue": fact} for name, fact in facts.items()}
        message = {
            "ReceiptHandle": uuid.uuid4().hex,
            "Body": call.work.payload or "{}",
            "MessageAttributes": attributes,
        }
        with self._changed:
            self._waiting.append(message)
            self._changed.notify_all()
        return Answer(Accepted(), now, now)

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request of SQS."""
        with self._changed:
            if operation == "ReceiveMessage":
                self._changed.wait_for(lambda: self._waiting, _LONG_POLL_SECONDS)
                messages, self._waiting = self._waiting[:1], self._waiting[1:]
                self._received.update(message["ReceiptHandle"] for message in messages)
                return {"Messages": messages}
            if operation == "DeleteMessage":
                self._received.discard(request["ReceiptHandle"])
                self._changed.notify_all()
        return {}

    def wait_for_workers(self) -> None:
        """Return when a worker has done all that is in the queue. Raises TimeoutError if none does."""
        with self._changed:
            if not self._changed.wait_for(lambda: not (self._waiting or self._received), WITHIN_SECONDS):
                raise TimeoutError("No worker of the page does what is in its queue.")
