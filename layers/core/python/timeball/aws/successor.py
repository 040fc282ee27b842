"""A successor over Lambda: the executor's function invokes itself, and does not wait for the answer.

Such a call does not count among those that Lambda makes for a queue, whose number at a time is limited.
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
    """The event of a successor: the ARN of its queue, and until when (ms) it takes messages, whatever it holds."""

    queue_arn: str
    until: int


def parse_succession(event: Mapping[str, Any]) -> Succession | None:
    """Return the succession in an event; None if a queue has brought the event."""
    succession = event.get("succession")
    return Succession(succession["queue"], succession["until"]) if succession else None


@dataclass(frozen=True)
class LambdaSuccessor:
    """Invokes a function as a successor for one queue. The client is made when needed: few executors get so old."""

    client: Callable[[], "LambdaClient"]
    function: str
    queue_arn: str
    asker: Asker = BRISKLY

    def start(self, until: int) -> None:
        """Hand the call to Lambda. Raises UnavailableError."""
        event = {"Records": [], "succession": {"queue": self.queue_arn, "until": until}}
        payload = json.dumps(event).encode()
        self.asker.ask(
            lambda: self.client().invoke(FunctionName=self.function, InvocationType="Event", Payload=payload)
        )
