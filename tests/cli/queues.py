"""A queue in memory, as SQS answers over HTTP, and messages as Timeball sends them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.client.in_memory import Transport
from tests.console.world import World
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.ids import RunId
from timeball.targets.envelope import as_headers, facts_of

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/work"


@dataclass
class Queue(httpx.BaseTransport):
    """Answers requests to SQS, and requests to the API by a world; `asked` lists the requests to SQS."""

    world: World
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    refuses: Mapping[str, Any] | None = None
    when_empty: Callable[[], None] = lambda: None
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._api = Transport(self.world)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host != "sqs.eu-west-1.amazonaws.com":
            return self._api.handle_request(request)
        body = json.loads(request.read())
        operation = request.headers["x-amz-target"].partition(".")[2]
        self.asked.append((operation, body))
        self.headers.append(dict(request.headers))
        if self.refuses is not None:
            return httpx.Response(400, json=self.refuses)
        if operation == "DeleteMessage":
            self.messages = [one for one in self.messages if one["ReceiptHandle"] != body["ReceiptHandle"]]
        if operation != "ReceiveMessage":
            return httpx.Response(200)
        if not self.messages:
            self.when_empty()
        return httpx.Response(200, json={"Messages": self.messages[:1]} if self.messages else {})

    @property
    def did(self) -> list[str]:
        """The operations in their order."""
        return [operation for operation, _ in self.asked]

    def send(self, run: RunId, attempt: int = 1, payload: str = "{}", also: Mapping[str, str] | None = None) -> None:
        """Put the message of an attempt into the queue, with its token."""
        secrets = self.world.memory.edge.signing_secrets
        assert secrets is not None
        call = next(one for one in self.world.target.calls if one.run == run)
        facts = as_headers({**facts_of(call, token_of(run, attempt, secrets()[0])), "attempt": attempt}) | dict(
            also or {}
        )
        attributes = {name: {"DataType": "String", "StringValue": fact} for name, fact in facts.items() if fact}
        self.messages.append({"ReceiptHandle": f"receipt-{run}", "Body": payload, "MessageAttributes": attributes})
