"""Queues over SQS: one for each priority, and one of watches. A message only names runs; its receiver reads rows.

The messages of a priority are grouped by tenant: on a standard queue that orders nothing, and makes it fair.

A message hints at its run's instant, and comes a lead before it, so that an executor that starts cold is in time.

Invariant: a message is sent only after its run's row is written, and a run that needs a message gets another one, so
the loss of a message loses nothing.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from timeball.aws.request_retries import BRISKLY, PATIENTLY, Asker, side_by_side
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import NO_LEAD, Delivery, Depth, Lead, Watch, by_message, in_messages

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType
    from types_boto3_sqs.type_defs import (
        SendMessageBatchRequestEntryTypeDef,
        SendMessageBatchResultTypeDef,
    )

log = logging.getLogger(__name__)

BATCH = 10
_DEPTH: Final[tuple["QueueAttributeNameType", ...]] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
"""The attributes of a queue's depth. SQS reports the age of the oldest message only to CloudWatch."""
MAX_DELAY_SECONDS = 900


class UnreadableMessageError(Exception):
    """A message names no run."""


def parse_message(record: Mapping[str, Any]) -> list[Delivery]:
    """Return the deliveries in a record of a Lambda event, at least one. Raises UnreadableMessageError."""
    try:
        body = json.loads(record["body"])
        named = [RunId.parse(body["tenant"], run) if isinstance(body["tenant"], str) else None for run in body["runs"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableMessageError(f"message {record.get('messageId')} cannot be read") from error
    runs = list(dict.fromkeys(run for run in named if run is not None))
    if not runs or len(runs) != len(named):
        raise UnreadableMessageError(f"message {record.get('messageId')} names no runs")
    hint, count = body.get("not_before"), body.get("unfit")
    not_before = hint if isinstance(hint, int) else None
    unfit = count if isinstance(count, int) and count > 0 else 0
    return [Delivery(run, record["receiptHandle"], not_before, unfit, len(runs)) for run in runs]


def parse_watch(record: Mapping[str, Any]) -> Watch:
    """Return the watch in a record of a Lambda event. Raises UnreadableMessageError."""
    try:
        body = json.loads(record["body"])
        runs = [RunId.parse(tenant, run) for tenant, run in body["runs"] if isinstance(tenant, str)]
        at, round_number = int(body["at"]), int(body["look"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableMessageError(f"watch {record.get('messageId')} cannot be read") from error
    found = tuple(run for run in runs if run is not None)
    if not found or len(found) != len(body["runs"]) or round_number < 1:
        raise UnreadableMessageError(f"watch {record.get('messageId')} names no runs")
    return Watch(found, at, round_number)


def _watch_body(watch: Watch) -> str:
    runs = [[run.job.tenant, str(run)] for run in watch.runs]
    return json.dumps({"runs": runs, "at": watch.at, "look": watch.round_number}, separators=(",", ":"))


def _body(runs: Sequence[RunId], not_before: int | None, unfit: int = 0) -> str:
    named = {"tenant": runs[0].job.tenant, "runs": [str(run) for run in runs], "not_before": not_before}
    return json.dumps(named | ({"unfit": unfit} if unfit else {}), separators=(",", ":"))


@dataclass(frozen=True)
class _Outgoing:
    """A message for a queue, which must become visible at an instant (ms), or at most a second before.

    Among messages of several groups, SQS first delivers those whose group has few in flight (fair queues).
    """

    url: str
    body: str
    at: int
    group: str | None = None


@dataclass(frozen=True)
class Form:
    """How messages of runs are made: how long before its runs' instant one comes, and how many it names at the most."""

    lead: Lead = NO_LEAD
    runs_per_message: int = 1


_ONE_BY_ONE = Form()


class SqsQueue:
    """The sender's side of the queues: one for each priority, and the queue of watches.

    Requests of ten messages each go out on `threads` side by side.
    """

    def __init__(
        self,
        client: "SQSClient",
        urls: Mapping[str, str],
        watch_url: str,
        clock: Clock,
        threads: Executor,
        asker: Asker = PATIENTLY,
        form: Form = _ONE_BY_ONE,
    ) -> None:
        self._client, self._urls, self._watch_url = client, urls, watch_url
        self._clock, self._threads, self._asker = clock, threads, asker
        self._form = form

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:  # noqa: ARG002 - a delay counts from the moment of sending
        """Send messages, delayed by the whole seconds until their lead; False for a run whose send is unknown."""
        together = in_messages(runs, self._form.runs_per_message)
        lead_ms = self._form.lead.of(len(runs))
        sent = self._send([self._message([runs[position] for position in one], lead_ms) for one in together])
        taken = {
            position for positions, is_sent in zip(together, sent, strict=True) if is_sent for position in positions
        }
        return [position in taken for position in range(len(runs))]

    def _message(self, runs: Sequence[Run], lead_ms: int) -> _Outgoing:
        """Return the message of runs with the same tenant, priority and instant."""
        first, body = runs[0], _body([run.id for run in runs], runs[0].not_before)
        return _Outgoing(self._urls[first.priority], body, first.not_before - lead_ms, first.id.job.tenant)

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Send each watch, delayed by the whole seconds until its instant; False if its send is unknown."""
        return self._send([_Outgoing(self._watch_url, _watch_body(one), one.at) for one in watches])

    def depth(self, priority: str) -> Depth:
        """Return about how many messages of a priority there are, as SQS reports it."""
        answer = self._asker.ask(
            lambda: self._client.get_queue_attributes(QueueUrl=self._urls[priority], AttributeNames=_DEPTH)
        )
        return Depth(*(int(answer["Attributes"][name]) for name in _DEPTH))

    def _send(self, messages: Sequence[_Outgoing]) -> list[bool]:
        by_url: dict[str, list[int]] = {}
        for position, message in enumerate(messages):
            by_url.setdefault(message.url, []).append(position)
        batches = [
            positions[start : start + BATCH]
            for positions in by_url.values()
            for start in range(0, len(positions), BATCH)
        ]
        until = self._asker.deadline()
        answers = side_by_side(self._threads, lambda positions: self._send_batch(positions, messages, until), batches)
        sent = {position for answer in answers for position in answer}
        return [position in sent for position in range(len(messages))]

    def _send_batch(self, positions: Sequence[int], messages: Sequence[_Outgoing], until: float) -> list[int]:
        """Send messages of one queue; return the positions of those that were accepted."""

        def send() -> "SendMessageBatchResultTypeDef":
            now = self._clock.now()
            entries = [_entry(position, messages[position], now) for position in positions]
            return self._client.send_message_batch(QueueUrl=messages[positions[0]].url, Entries=entries)

        try:
            answer = self._asker.ask(send, until)
        except UnavailableError as unavailable:
            log.warning("messages not sent: %s", unavailable)
            return []
        return [int(entry["Id"]) for entry in answer.get("Successful", [])]


def _entry(position: int, message: _Outgoing, now: int) -> "SendMessageBatchRequestEntryTypeDef":
    entry: SendMessageBatchRequestEntryTypeDef = {
        "Id": str(position),
        "MessageBody": message.body,
        "DelaySeconds": _delay_seconds(message.at - now),
    }
    return entry if message.group is None else {**entry, "MessageGroupId": message.group}


def _delay_seconds(ms: int) -> int:
    return min(max(ms // SECOND_MS, 0), MAX_DELAY_SECONDS)


class SqsInbox:
    """The executor's side of one queue. Requests go out as the sender's do.

    SQS waits up to `waits_seconds` for a message, and then asks all of its servers; with 0 it asks some of them.
    """

    def __init__(
        self, client: "SQSClient", url: str, threads: Executor, asker: Asker = BRISKLY, waits_seconds: int = 1
    ) -> None:
        self._client, self._url, self._threads, self._asker = client, url, threads, asker
        self._waits_seconds = waits_seconds

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Receive up to `limit` messages; those whose tenant has few in flight come first.

        Unreadable messages are left for a function that is handed them. Raises UnavailableError.
        """
        answer = self._asker.ask(
            lambda: self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=limit,
                VisibilityTimeout=seconds,
                WaitTimeSeconds=self._waits_seconds,
            )
        )
        taken: list[Delivery] = []
        for message in answer.get("Messages", []):
            try:
                taken += parse_message({"body": message["Body"], "receiptHandle": message["ReceiptHandle"]})
            except UnreadableMessageError as unreadable:
                log.warning("%s", unreadable)
        return taken

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send new messages, visible in `seconds`: one for the deliveries of each receipt. False: unknown."""
        messages = by_message(deliveries)
        entries = [
            {
                "Id": str(position),
                "MessageBody": _body([one.run for one in ones], ones[0].not_before, ones[0].unfit),
                "DelaySeconds": seconds,
                "MessageGroupId": ones[0].run.job.tenant,
            }
            for position, ones in enumerate(messages)
        ]
        sent = self._each_batch("send_message_batch", entries)
        receipts = {ones[0].receipt for position, ones in enumerate(messages) if str(position) in sent}
        return [one.receipt in receipts for one in deliveries]

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Hide each message for so many seconds from now; a message that cannot be hidden may come again sooner."""
        entries = [one | {"VisibilityTimeout": seconds} for one in _receipts(deliveries)]
        self._each_batch("change_message_visibility_batch", entries)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove each message; a message that cannot be removed comes again, and finds its run ended."""
        self._each_batch("delete_message_batch", _receipts(deliveries))

    def _each_batch(self, action: str, entries: Sequence[Mapping[str, Any]]) -> set[str]:
        """Send all entries, ten in a request; return the ids of those that are done."""
        batches = [entries[start : start + BATCH] for start in range(0, len(entries), BATCH)]
        until = self._asker.deadline()
        answers = side_by_side(self._threads, lambda batch: self._try(action, batch, until), batches)
        return {done for answer in answers for done in answer}

    def _try(self, action: str, entries: Sequence[Mapping[str, Any]], until: float) -> list[str]:
        try:
            request = partial(getattr(self._client, action), QueueUrl=self._url, Entries=entries)
            answer = self._asker.ask(request, until)
        except UnavailableError as unavailable:
            log.warning("%s failed: %s", action, unavailable)
            return []
        for failure in answer.get("Failed", []):
            log.warning("%s failed: %s", action, failure.get("Message"))
        return [entry["Id"] for entry in answer.get("Successful", [])]


def _receipts(deliveries: Sequence[Delivery]) -> list[dict[str, Any]]:
    return [{"Id": str(position), "ReceiptHandle": one.receipt} for position, one in enumerate(deliveries)]
