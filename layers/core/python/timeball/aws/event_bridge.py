"""The stack's bus over EventBridge: up to ten events per request, and each pattern has a rule that leads to a queue.

A match comes to the queue as the event and the rule's name, so its receiver need not match anything.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from timeball.aws.request_retries import PATIENTLY, Asker, is_unknown, side_by_side
from timeball.domain.lifecycle import SOURCE, LifecycleEvent
from timeball.domain.model.terms.event import (
    BUS_SOURCE,
    MOST_BYTES,
    BusRule,
    Event,
    Matched,
    Subscription,
    bus_pattern,
    from_the_bus,
    on_the_bus,
)
from timeball.ports.errors import UnavailableError
from timeball.ports.event_bus import EventRefusal, PatternRefusedError, RulesUsedUpError

if TYPE_CHECKING:
    from types_boto3_events import EventBridgeClient
    from types_boto3_events.type_defs import PutEventsRequestEntryTypeDef
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

log = logging.getLogger(__name__)

_Item = TypeVar("_Item")
BATCH: Final = 10
_TARGET: Final = "events"
_LONGEST_DELAY_SECONDS: Final = 900
_IN_BETWEEN: Final = ("ConcurrentModificationException", "ResourceNotFoundException")
"""The errors for a rule that another process writes, or removes, at the same time."""


class UnreadableEventError(Exception):
    """A message holds no event that a rule of Timeball has matched."""


@dataclass(frozen=True)
class BusNames:
    """The names of a bus: its own, that of the queue of its rules, and that of the queue for undelivered events.

    The URL of the queue is set only in the one function that puts off matches.
    """

    bus: str
    queue_arn: str
    undelivered_arn: str
    queue_url: str = ""


def parse_matched(record: Mapping[str, Any]) -> Matched:
    """Return the match in a record of a Lambda event. Raises UnreadableEventError."""
    try:
        body = json.loads(record["body"])
        rule = BusRule.parse(body["rule"])
        if rule is not None:
            after, again = str(body.get("after", "")), "after" in body
            return Matched(rule, from_the_bus(rule.key.tenant, body["event"]), after, again)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableEventError(f"message {record.get('messageId')} cannot be read") from error
    raise UnreadableEventError(f"message {record.get('messageId')} names no rule")


class EventBridgeBus:
    """One bus. Its client is made when it is first needed: few requests concern events."""

    def __init__(
        self,
        client: Callable[[], "EventBridgeClient"],
        names: BusNames,
        asker: Asker = PATIENTLY,
        queue: Callable[[], "SQSClient"] | None = None,
    ) -> None:
        self._client, self._names, self._asker, self._queue = client, names, asker, queue

    def put(self, events: Sequence[Event]) -> list[EventRefusal | None]:
        """Put events onto the bus; throttled events are sent again, together."""
        until = self._asker.deadline()
        batches = _in_requests([self._entry(event) for event in events], _size)
        return [outcome for batch in batches for outcome in _put(self._client(), batch, self._asker, until)]

    def ensure(self, subscription: Subscription) -> None:
        """Make the rule of a subscription and lead it to the queue; both stay as they are if they exist."""
        name = str(subscription.rule)

        def ensure() -> Exception | None:
            from botocore.exceptions import ClientError  # noqa: PLC0415 - only in functions that call AWS

            try:
                self._client().put_rule(
                    Name=name, EventBusName=self._names.bus, EventPattern=bus_pattern(subscription), State="ENABLED"
                )
                answer = self._client().put_targets(
                    Rule=name, EventBusName=self._names.bus, Targets=[_target(subscription.rule, self._names)]
                )
            except ClientError as error:
                return _refused(error)
            if answer["FailedEntryCount"]:
                raise UnavailableError(str(answer["FailedEntries"]))
            return None

        refused = self._asker.ask(ensure)
        if refused is not None:
            raise refused

    def put_off(self, matched: Sequence[tuple[Matched, int]]) -> list[bool]:
        """Send each match to the queue again, in its tenant's message group."""
        until, taken = self._asker.deadline(), set[int]()
        entries: list[SendMessageBatchRequestEntryTypeDef] = [
            {
                "Id": str(position),
                "MessageBody": _queued(one),
                "DelaySeconds": min(max(seconds, 0), _LONGEST_DELAY_SECONDS),
                "MessageGroupId": one.rule.key.tenant,
            }
            for position, (one, seconds) in enumerate(matched)
        ]
        for batch in _in_requests(entries, lambda entry: len(entry["MessageBody"].encode())):
            taken.update(self._send(batch, until))
        return [position in taken for position in range(len(matched))]

    def _send(self, entries: "Sequence[SendMessageBatchRequestEntryTypeDef]", until: float) -> list[int]:
        """Send messages in one request; return the positions of those that were accepted."""
        if self._queue is None:
            raise LookupError("this function was given no queue of events")
        send = partial(self._queue().send_message_batch, QueueUrl=self._names.queue_url, Entries=entries)
        try:
            answer = self._asker.ask(send, until)
        except UnavailableError as unavailable:
            log.warning("events are not put off: %s", unavailable)
            return []
        return [int(entry["Id"]) for entry in answer.get("Successful", [])]

    def remove(self, rules: Sequence[BusRule]) -> None:
        """Remove each rule, its target first, as EventBridge requires."""
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
        """Return all rules of Timeball, page by page."""
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


class EventBridgePublisher:
    """The sending side of a bus, for lifecycle events."""

    def __init__(self, client: "EventBridgeClient", bus: str, threads: Executor, asker: Asker) -> None:
        self._client, self._bus, self._threads, self._asker = client, bus, threads, asker

    def publish(self, events: Sequence[LifecycleEvent]) -> list[EventRefusal | None]:
        """Put events onto the bus, several requests at once; throttled events are sent again."""
        until = self._asker.deadline()
        entries: list[PutEventsRequestEntryTypeDef] = [
            {"EventBusName": self._bus, "Source": SOURCE, "DetailType": event.type, "Detail": event.detail}
            for event in events
        ]
        batches = [*_in_requests(entries, _size)]
        outcomes = side_by_side(self._threads, lambda batch: _put(self._client, batch, self._asker, until), batches)
        return [outcome for batch in outcomes for outcome in batch]


def _put(
    client: "EventBridgeClient", entries: "Sequence[PutEventsRequestEntryTypeDef]", asker: Asker, until: float
) -> list[EventRefusal | None]:
    """Put the events of one request onto their bus, those that were throttled once more. Never raises."""
    outcomes: dict[int, EventRefusal | None] = {}

    def put() -> None:
        asking = [position for position in range(len(entries)) if position not in outcomes]
        answer = client.put_events(Entries=[entries[position] for position in asking])
        for position, entry in zip(asking, answer["Entries"], strict=True):
            code = entry.get("ErrorCode")
            if code is None or not _is_passing(code):
                outcomes[position] = None if code is None else EventRefusal(entry.get("ErrorMessage", code))
        if len(outcomes) < len(entries):
            raise UnavailableError("EventBridge did not take all events")

    try:
        asker.ask(put, until)
    except UnavailableError as unavailable:
        log.warning("events not put: %s", unavailable)
    unknown = EventRefusal("EventBridge did not answer.", is_unknown=True)
    return [outcomes.get(position, unknown) for position in range(len(entries))]


def _size(entry: "PutEventsRequestEntryTypeDef") -> int:
    """Return the size of an event in bytes, as EventBridge counts it."""
    return sum(len(text.encode()) for text in (entry["Source"], entry["DetailType"], entry["Detail"]))


def _in_requests(items: Sequence[_Item], size_of: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """Yield the items of each request: ten at most, and no more bytes than one event may have."""
    batch: list[_Item] = []
    size = 0
    for item in items:
        length = size_of(item)
        if batch and (len(batch) == BATCH or size + length > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch


def _queued(one: Matched) -> str:
    """Return the message of a match, for the queue."""
    return f'{{"rule":"{one.rule}","after":{json.dumps(one.after)},"event":{on_the_bus(one.event)}}}'


def _is_passing(code: str) -> bool:
    """Return whether an error says nothing about an event itself."""
    return is_unknown(code) or code in ("InternalFailure", "InternalException", "ServiceUnavailable")


def _target(rule: BusRule, names: BusNames) -> Any:  # noqa: ANN401 - as boto3 takes it
    """Return where a rule leads: message groups by tenant make a standard queue fair, as AWS documents it."""
    return {
        "Id": _TARGET,
        "Arn": names.queue_arn,
        "DeadLetterConfig": {"Arn": names.undelivered_arn},
        "InputTransformer": {
            "InputPathsMap": {"event": "$.detail"},
            "InputTemplate": f'{{"rule":"{rule}","event":<event>}}',
        },
        "SqsParameters": {"MessageGroupId": rule.key.tenant},
    }


def _refused(error: Any) -> Exception:  # noqa: ANN401 - a ClientError, which is imported late
    """Return EventBridge's objection to a rule. Raises UnavailableError, or the error if it is no objection."""
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    if code in _IN_BETWEEN:
        raise UnavailableError(message) from error
    if code == "LimitExceededException":
        return RulesUsedUpError(message)
    if code in ("InvalidEventPatternException", "ValidationException"):
        return PatternRefusedError(message)
    raise error
