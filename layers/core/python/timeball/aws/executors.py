"""The executors, over Lambda.

Their pollers are the event source mappings of their queues, in provisioned mode. A successor is a call in which the
executor's function invokes itself, without waiting for the answer: such a call does not count among those that Lambda
makes for a queue, whose number at a time is limited. For a trial an executor is invoked, because only executors may
call targets and read their secrets.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from timeball.aws.dynamodb.table.codec import from_text, to_text
from timeball.aws.dynamodb.table.mapper import to_work, work_text
from timeball.aws.request_retries import BRISKLY, Asker, Patience
from timeball.domain.sharing.executors import PollerBounds, Provisioned
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Trial, Tried

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient


@dataclass(frozen=True)
class MappingPollers:
    """The pollers of some mappings, by priority. The client is made when needed."""

    client: Callable[[], "LambdaClient"]
    mappings: Mapping[str, Provisioned]
    asker: Asker = BRISKLY

    @property
    def bounds(self) -> Mapping[str, PollerBounds]:
        """Return the minimum and the maximum of ready pollers, by priority."""
        return {priority: one.bounds for priority, one in self.mappings.items()}

    def ready(self) -> Mapping[str, int]:
        """Return the minimum of each mapping. Raises UnavailableError."""
        return {priority: self._least(one.mapping) for priority, one in self.mappings.items()}

    def make_ready(self, priority: str, pollers: int) -> None:
        """Set the minimum of a mapping, and keep its maximum.

        A mapping that is being changed refuses it. Raises UnavailableError, and the error of a permanent refusal.
        """
        uuid, most = self.mappings[priority].mapping, self.mappings[priority].most
        config = {"MinimumPollers": pollers, "MaximumPollers": most}
        self.asker.ask_once(
            lambda: self.client().update_event_source_mapping(UUID=uuid, ProvisionedPollerConfig=config)  # type: ignore[arg-type]
        )

    def _least(self, uuid: str) -> int:
        answer = self.asker.ask(lambda: self.client().get_event_source_mapping(UUID=uuid))
        return answer["ProvisionedPollerConfig"]["MinimumPollers"]


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


LONGEST_SECONDS: Final = 20
"""How long a target may take: its executor may first start cold, and API Gateway gives up after 30 s."""

TRYING: Final = Asker(Patience(connect_seconds=1, read_seconds=LONGEST_SECONDS + 5, longest_seconds=27))
_TRIAL: Final = "trial"


class ExecutorTrials:
    """An executor, by its name. The client is made when it is first needed."""

    def __init__(self, client: Callable[[], Any], function: str, asker: Asker = TRYING) -> None:
        self._client, self._function, self._asker = client, function, asker

    def make(self, trial: Trial) -> Tried:
        """Let the executor call the target, once."""
        asked = {"tenant": trial.tenant, "work": work_text(trial.work), "timeoutSeconds": trial.timeout_seconds}
        event = json.dumps({_TRIAL: asked}).encode()
        answer = self._asker.ask_once(lambda: self._client().invoke(FunctionName=self._function, Payload=event))
        trial_answer = answer["Payload"].read()
        if "FunctionError" in answer:
            raise UnavailableError("the executor of a trial has failed")
        tried: Tried = from_text(Tried, json.loads(trial_answer)[_TRIAL])
        return tried


def trial_in(event: Mapping[str, Any]) -> Trial | None:
    """Return the trial that an event of a function asks for, if it does."""
    asked = event.get(_TRIAL)
    return None if asked is None else Trial(asked["tenant"], to_work(asked["work"]), asked["timeoutSeconds"])


def trial_answer(tried: Tried) -> dict[str, str]:
    """Return the answer of a function that has made a trial."""
    return {_TRIAL: to_text(tried)}
