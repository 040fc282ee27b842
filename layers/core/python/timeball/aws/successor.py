"""A successor over Lambda: the executor's function calls itself, and does not wait for the answer.

Such a call is none of those that Lambda makes for a queue, of which there are only so many at a time.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from timeball.aws.patience import BRISKLY, Asker

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient


@dataclass(frozen=True)
class Succession:
    """What a successor is told: the ARN of its queue, and until when (ms) it takes what waits, whatever it holds."""

    queue_arn: str
    until: int


def parse_succession(event: Mapping[str, Any]) -> Succession | None:
    """Return what an event tells a successor; None: a queue has brought it."""
    told = event.get("succession")
    return Succession(told["queue"], told["until"]) if told else None


@dataclass(frozen=True)
class LambdaSuccessor:
    """Calls a function as a successor for one queue. Its client is made when needed: few executors grow so old."""

    client: Callable[[], "LambdaClient"]
    function: str
    queue_arn: str
    asker: Asker = BRISKLY

    def start(self, until: int) -> None:
        """Put the call into Lambda's hands. Raises UnavailableError."""
        event = {"Records": [], "succession": {"queue": self.queue_arn, "until": until}}
        payload = json.dumps(event).encode()
        self.asker.ask(
            lambda: self.client().invoke(FunctionName=self.function, InvocationType="Event", Payload=payload)
        )
