"""How messages leave for SQS: batches in parallel, answers in order, delays from the moment each batch leaves."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from botocore.exceptions import ReadTimeoutError

from tests.contract.rows import NOW, run
from tests.contract.waits import Waits
from timeball.aws.sqs import SqsInbox, SqsQueue
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run
from timeball.ports.queue import Delivery, Watch
from timeball.testing.virtual_clock import VirtualClock

URLS = {"high": "high", "normal": "normal", "low": "low"}
WATCH_URL = "watch"


class Sqs:
    """A client that takes 15 ms for a request, refuses entries of `refused`, and never answers for queues of `mute`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.refused: set[str] = set()
        self.mute: set[str] = set()
        self.visible_at: list[int] = []
        self.groups: list[str | None] = []
        self.handled: list[int] = []
        self.side_by_side: threading.Barrier | None = None

    def send_message_batch(self, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - AWS's names
        if self.side_by_side is not None:
            self.side_by_side.wait(timeout=30)
        if QueueUrl in self.mute:
            raise ReadTimeoutError(endpoint_url="https://sqs.example")
        with self._lock:
            self.groups += [entry.get("MessageGroupId") for entry in Entries]
            self.visible_at += [self._clock.now() + entry["DelaySeconds"] * 1000 for entry in Entries]
            self._clock.advance(15)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries if entry["Id"] not in self.refused]}

    def delete_message_batch(self, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803 - AWS's names
        if self.side_by_side is not None:
            self.side_by_side.wait(timeout=30)
        with self._lock:
            self.handled.append(len(Entries))
        return {}


def _queue(clock: VirtualClock, sqs: Any, threads: ThreadPoolExecutor) -> SqsQueue:
    return SqsQueue(sqs, URLS, WATCH_URL, clock, threads, Waits().asker())


def _message(run_id: RunId, priority: str, not_before: int) -> Run:
    return replace(run(), id=run_id, priority=priority, not_before=not_before)


def _run(number: int) -> RunId:
    return RunId(JobKey("acme", f"job-{number}"), NOW + 5_000, Origin.SCHEDULE)


def test_an_empty_list_to_send_hide_or_delete_costs_no_request() -> None:
    nobody = object()
    with ThreadPoolExecutor(1) as threads:
        queue = _queue(VirtualClock(NOW), nobody, threads)
        assert (queue.send([], NOW), queue.watch([])) == ([], [])
        inbox = SqsInbox(nobody, "url", threads)  # type: ignore[arg-type]
        inbox.hide([], 5)
        inbox.delete([])


def test_a_delay_is_counted_from_when_its_batch_leaves() -> None:
    clock = VirtualClock(NOW)
    sqs = Sqs(clock)
    with ThreadPoolExecutor(1) as threads:
        messages = [_message(_run(number), "normal", NOW + 5_000) for number in range(1_000)]
        assert _queue(clock, sqs, threads).send(messages, NOW) == [True] * 1_000
    assert clock.now() == NOW + 1_500  # counted from an old reading, each message would be that much later
    assert NOW + 4_000 < min(sqs.visible_at) <= max(sqs.visible_at) <= NOW + 5_000


def test_batches_are_sent_in_parallel() -> None:
    clock = VirtualClock(NOW)
    sqs = Sqs(clock)
    sqs.side_by_side = threading.Barrier(4)  # none continues before all four are under way
    with ThreadPoolExecutor(4) as threads:
        messages = [_message(_run(number), "normal", NOW) for number in range(40)]
        assert _queue(clock, sqs, threads).send(messages, NOW) == [True] * 40
        inbox = SqsInbox(sqs, "normal", threads)  # type: ignore[arg-type]
        inbox.delete([Delivery(_run(number), f"receipt-{number}") for number in range(31)])
    assert sorted(sqs.handled) == [1, 10, 10, 10]


def test_messages_that_were_not_accepted_are_reported_at_their_index() -> None:
    clock = VirtualClock(NOW)
    sqs = Sqs(clock)
    sqs.mute, sqs.refused = {"low"}, {"0", "33"}
    with ThreadPoolExecutor(4) as threads:
        messages = [_message(_run(number), ("high", "normal", "low")[number % 3], NOW) for number in range(35)]
        sent = _queue(clock, sqs, threads).send(messages, NOW)
    assert [number for number, was_sent in enumerate(sent) if not was_sent] == sorted({0, 33, *range(2, 35, 3)})


def test_a_message_is_in_its_tenants_group_so_that_the_queue_is_fair_and_a_watch_is_in_none() -> None:
    clock = VirtualClock(NOW)
    sqs = Sqs(clock)
    tenants = ["acme", "acme", "globex"]
    with ThreadPoolExecutor(1) as threads:
        queue = _queue(clock, sqs, threads)
        queue.send([_message(replace(_run(1), job=JobKey(tenant, "job")), "normal", NOW) for tenant in tenants], NOW)
        queue.watch([Watch((_run(1),), NOW)])
    assert sqs.groups == [*tenants, None]
