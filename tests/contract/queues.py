"""Queues in memory, on moto and at an endpoint, for the suite of queues."""

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from tests.contract.backends import client, moto, posts_to, thin_client
from tests.contract.rows import NOW
from timeball.aws.sqs import Form, SqsInbox, SqsQueue, parse_message, parse_watch
from timeball.ports.queue import Delivery, Inbox, Lead, Queue, Watch
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.virtual_clock import VirtualClock

ENDPOINT = os.environ.get("TIMEBALL_CONTRACT_ENDPOINT")

LEAD = Lead(3_000, few_ms=1_750)

PRIORITIES = ("high", "normal", "low")

WATCH = "watch"


@dataclass(frozen=True)
class Queues:
    """The sender's queue, the receivers' inboxes by priority, and a receive as Lambda does it."""

    queue: Queue
    inbox: Callable[[str], Inbox]
    receive: Callable[[str], Sequence[Delivery]]
    due_watches: Callable[[], Sequence[Watch]]


@contextmanager
def queues_of(kind: str, runs_per_message: int) -> Iterator[Queues]:
    if kind == "memory":
        memory = MemoryQueue(VirtualClock(NOW).now, LEAD, runs_per_message)
        yield Queues(memory, memory.inbox, memory.receive, memory.due_watches)
        return
    with ThreadPoolExecutor(4) as threads:
        place, _, is_thin = kind.partition("-")
        endpoint = ENDPOINT if place == "endpoint" else None
        with nullcontext() if endpoint else moto(), closing(posts_to("sqs", endpoint)) as posts:
            sqs = client("sqs", endpoint)
            yield _sqs(sqs, thin_client("sqs", posts) if is_thin else sqs, threads, Form(LEAD, runs_per_message))


def _sqs(sqs: Any, asking: Any, threads: ThreadPoolExecutor, form: Form) -> Queues:
    prefix = f"contract-{uuid.uuid4().hex[:8]}"
    urls = {name: sqs.create_queue(QueueName=f"{prefix}-{name}")["QueueUrl"] for name in (*PRIORITIES, WATCH)}

    def receive(priority: str) -> list[Delivery]:
        answer = sqs.receive_message(
            QueueUrl=urls[priority], MaxNumberOfMessages=10, VisibilityTimeout=900, WaitTimeSeconds=0
        )
        return [
            delivery
            for message in answer.get("Messages", [])
            for delivery in parse_message({"body": message["Body"], "receiptHandle": message["ReceiptHandle"]})
        ]

    def due_watches() -> list[Watch]:
        answer = sqs.receive_message(QueueUrl=urls[WATCH], MaxNumberOfMessages=10, WaitTimeSeconds=0)
        return [parse_watch({"body": message["Body"]}) for message in answer.get("Messages", [])]

    return Queues(
        SqsQueue(asking, urls, urls[WATCH], VirtualClock(NOW), threads, form=form),
        lambda priority: SqsInbox(asking, urls[priority], threads),
        receive,
        due_watches,
    )
