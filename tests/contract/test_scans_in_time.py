"""A scan of a table that stops answering, or throttles, ends before its function does, whenever that begins."""

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.contract.rows import NOW, job
from tests.contract.waits import Waits
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.writes import to_values
from timeball.aws.request_retries import PATIENT, ROOM_SECONDS
from timeball.aws.sqs import SqsQueue
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context, Rules
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.testing.recorders import KeptTelemetry

TIMEOUT_MS = 30 * SECOND_MS
ENDS_MS = TIMEOUT_MS - ROOM_SECONDS * SECOND_MS
JOBS = {
    (item["pk"]["S"], item["sk"]["S"]): item
    for one in (job(f"job-{number}") for number in range(200))
    for item in [to_values(Mapper(4, 90).of_job(one, NOW))]
}


class RefusedError(Exception):
    """A condition fails: here each one does."""


@dataclass
class Aws:
    """An AWS that lists due jobs and accepts writes, slowly; after a while it answers nothing, or throttles writes."""

    waits: Waits
    mute_after_ms: int
    throttles: bool = False
    requests: int = 0
    exceptions = SimpleNamespace(ConditionalCheckFailedException=RefusedError)

    def query(self, Limit: int, **_: Any) -> dict[str, Any]:  # noqa: N803 - AWS's name
        self._answer()
        return {"Items": [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in list(JOBS)[:Limit]]}

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - AWS's name
        self._answer()
        keys = [(key["pk"]["S"], key["sk"]["S"]) for key in RequestItems["jobs"]["Keys"]]
        return {"Responses": {"jobs": [JOBS[key] for key in keys if key in JOBS]}}

    def put_item(self, **_: Any) -> None:
        self._answer()

    def update_item(self, **_: Any) -> None:
        self._answer()

    def batch_execute_statement(self, Statements: Sequence[Any]) -> dict[str, Any]:  # noqa: N803 - AWS's name
        self._answer()
        return {"Responses": [{"Error": {"Code": "ThrottlingError"}} if self.throttles else {} for _ in Statements]}

    def send_message_batch(self, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803 - AWS's names
        self._answer()
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def _answer(self) -> None:
        self.requests += 1
        is_mute = self.waits.passed_ms >= self.mute_after_ms
        self.waits.clock.advance(PATIENT.try_seconds * SECOND_MS if is_mute else 100)
        if is_mute:
            raise ReadTimeoutError(endpoint_url="https://aws.example")


def _scan(aws: Aws) -> None:
    asker = aws.waits.asker(draw=random.Random(1).random)  # noqa: S311 - replayable
    store = dynamo_store(aws, "jobs", writes="batch", threads=1, asker=asker)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as threads:
        urls = dict.fromkeys(["high", "normal", "low"], "url")
        queue = SqsQueue(aws, urls, "url", aws.waits.clock, threads, asker)  # type: ignore[arg-type]
        context = Context(store, queue, aws.waits.clock, Rules(shards=1), KeptTelemetry())
        scan(context, 0, Owner("2026", "a"), Sweeps())


def _longest_ms(ends_at: float) -> int:
    """Return the duration of the longest of many scans, each of which loses AWS a little later."""
    took_ms: list[int] = []
    for mute_after_ms in range(0, 3_000, 100):
        waits = Waits()
        waits.invocation.ends_at = ends_at
        with suppress(UnavailableError):
            _scan(Aws(waits, mute_after_ms))
        took_ms.append(waits.passed_ms)
    return max(took_ms)


def test_a_scan_ends_before_its_function_whenever_aws_is_lost() -> None:
    assert _longest_ms(NOW + ENDS_MS) <= ENDS_MS
    assert _longest_ms(NOW + 10 * TIMEOUT_MS) > TIMEOUT_MS, "this proves nothing: no scan would take too long"


def test_a_scan_whose_writes_are_all_throttled_makes_a_bounded_number_of_requests() -> None:
    waits = Waits()
    waits.invocation.ends_at = NOW + ENDS_MS
    aws = Aws(waits, 10 * TIMEOUT_MS, throttles=True)
    with pytest.raises(UnavailableError):
        _scan(aws)
    assert aws.requests < 200
    assert waits.passed_ms <= ENDS_MS
