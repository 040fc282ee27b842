"""The stack's bus over EventBridge: events go onto it ten at once, and each pattern has a rule that leads to a queue.

What a rule matches comes to the queue as the event and the rule's name, so that who receives it needs to match nothing.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from timeball.aws.patience import PATIENTLY, Asker, is_unknown
from timeball.domain.model.terms.event import (
    BUS_SOURCE,
    MOST_BYTES,
    BusRule,
    Event,
    Subscription,
    bus_pattern,
    from_the_bus,
    on_the_bus,
)
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import PatternRefusedError, Refusal, RulesUsedUpError

if TYPE_CHECKING:
    from types_boto3_events import EventBridgeClient
    from types_boto3_events.type_defs import PutEventsRequestEntryTypeDef

log = logging.getLogger(__name__)

BATCH: Final = 10
_TARGET: Final = "events"
_IN_BETWEEN: Final = ("ConcurrentModificationException", "ResourceNotFoundException")
"""What is told of a rule that somebody else writes, or removes, at the same time."""


class UnreadableEventError(Exception):
    """A message holds no event that a rule of Timeball's has matched."""


@dataclass(frozen=True)
class BusNames:
    """What there is of a bus: its name, the queue that its rules lead to, and where goes what that does not take."""

    bus: str
    queue_arn: str
    undelivered_arn: str


def parse_matched(record: Mapping[str, Any]) -> tuple[BusRule, Event]:
    """Return the rule and the event in a record of a Lambda event. Raises UnreadableEventError."""
    try:
        body = json.loads(record["body"])
        rule = BusRule.parse(body["rule"])
        if rule is not None:
            return rule, from_the_bus(rule.key.tenant, body["event"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableEventError(f"message {record.get('messageId')} cannot be read") from error
    raise UnreadableEventError(f"message {record.get('messageId')} names no rule")


class EventBridgeBus:
    """One bus. Its client is made when it is first needed: few requests have to do with events."""

    def __init__(self, client: Callable[[], "EventBridgeClient"], names: BusNames, asker: Asker = PATIENTLY) -> None:
        self._client, self._names, self._asker = client, names, asker

    def put(self, events: Sequence[Event]) -> list[Refusal | None]:
        """Put events onto the bus; those that are throttled are asked for again, together."""
        until = self._asker.deadline()
        return [outcome for batch in _batches(events) for outcome in self._put_batch(batch, until)]

    def _put_batch(self, events: Sequence[Event], until: float) -> list[Refusal | None]:
        outcomes: dict[int, Refusal | None] = {}

        def put() -> None:
            asking = [position for position in range(len(events)) if position not in outcomes]
            entries = [self._entry(events[position]) for position in asking]
            answer = self._client().put_events(Entries=entries)
            for position, entry in zip(asking, answer["Entries"], strict=True):
                code = entry.get("ErrorCode")
                if code is None or not _is_passing(code):
                    outcomes[position] = None if code is None else Refusal(entry.get("ErrorMessage", code))
            if len(outcomes) < len(events):
                raise UnavailableError("EventBridge did not take all events")

        try:
            self._asker.ask(put, until)
        except UnavailableError as unavailable:
            log.warning("events not put: %s", unavailable)
        unknown = Refusal("EventBridge did not answer.", is_unknown=True)
        return [outcomes.get(position, unknown) for position in range(len(events))]

    def ensure(self, subscription: Subscription) -> None:
        """Make the rule of a subscription and lead it to the queue; both are as before if they are there."""
        name = str(subscription.rule)

        def ensure() -> Exception | None:
            from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

            try:
                self._client().put_rule(
                    Name=name, EventBusName=self._names.bus, EventPattern=bus_pattern(subscription), State="ENABLED"
                )
                answer = self._client().put_targets(
                    Rule=name, EventBusName=self._names.bus, Targets=[_target(name, self._names)]
                )
            except ClientError as error:
                return _refused(error)
            if answer["FailedEntryCount"]:
                raise UnavailableError(str(answer["FailedEntries"]))
            return None

        refused = self._asker.ask(ensure)
        if refused is not None:
            raise refused

    def remove(self, rules: Sequence[BusRule]) -> None:
        """Remove each rule, its target first, as EventBridge wants it."""
        for rule in rules:
            self._asker.ask(lambda rule=rule: self._remove(str(rule)))  # type: ignore[misc]  # mypy#15459

    def _remove(self, name: str) -> None:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

        try:
            self._client().remove_targets(Rule=name, EventBusName=self._names.bus, Ids=[_TARGET])
            self._client().delete_rule(Name=name, EventBusName=self._names.bus)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConcurrentModificationException":
                raise UnavailableError(str(error)) from error
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise

    def rules(self) -> list[BusRule]:
        """Return all rules of Timeball's, page by page."""
        found: list[BusRule] = []
        page: dict[str, str] = {}
        while True:
            answer = self._asker.ask(
                lambda page=page: self._client().list_rules(EventBusName=self._names.bus, **page)  # type: ignore[misc]
            )
            found += [rule for one in answer["Rules"] if (rule := BusRule.parse(one["Name"])) is not None]
            if not answer.get("NextToken"):
                return found
            page = {"NextToken": answer["NextToken"]}

    def _entry(self, event: Event) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self._names.bus,
            "Source": BUS_SOURCE,
            "DetailType": event.tenant,
            "Detail": on_the_bus(event),
        }


def _batches(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Yield what goes in one request: ten events at most, and not more bytes than one event may have."""
    batch: list[Event] = []
    size = 0
    for event in events:
        if batch and (len(batch) == BATCH or size + event.size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += event.size
    if batch:
        yield batch


def _is_passing(code: str) -> bool:
    """Say whether an error says nothing about an event itself."""
    return is_unknown(code) or code in ("InternalFailure", "InternalException", "ServiceUnavailable")


def _target(name: str, names: BusNames) -> Any:  # noqa: ANN401 - as boto3 takes it
    return {
        "Id": _TARGET,
        "Arn": names.queue_arn,
        "DeadLetterConfig": {"Arn": names.undelivered_arn},
        "InputTransformer": {
            "InputPathsMap": {"event": "$.detail"},
            "InputTemplate": f'{{"rule":"{name}","event":<event>}}',
        },
    }


def _refused(error: Any) -> Exception:  # noqa: ANN401 - a ClientError, which is imported late
    """Return what EventBridge says against a rule. Raises UnavailableError, and the error if it says none such."""
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code in _IN_BETWEEN:
        raise UnavailableError(message) from error
    if code == "LimitExceededException":
        return RulesUsedUpError(message)
    if code in ("InvalidEventPatternException", "ValidationException"):
        return PatternRefusedError(message)
    raise error
