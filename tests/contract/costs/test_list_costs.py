"""The reads of a page of a list: in proportion to its items, however many jobs there are.

Each job of a page costs its row, and one query of the newest rows of its ledger.
"""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.backends import client, moto, new_table
from tests.contract.rows import NOW, job
from tests.contract.waits import Waits
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.run_ends.recent import ROWS
from timeball.engine.context import Context, Rules
from timeball.engine.scheduling.list_jobs import JobFilter, list_jobs
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

JOBS = 600
STRATA = 4 + 2
"""The partitions of the listing: the shards, as declared, and the two samples."""

_STATUSES = 2
"""The statuses that `pending` lists: `blocked` is one of them."""
_SPARE = 4
"""Each partition is asked for this many names more than its share."""


@pytest.mark.parametrize("limit", [10, 50, 200])
def test_a_page_reads_its_rows_and_little_more_than_their_names(limit: int) -> None:
    with moto():
        dynamodb = client("dynamodb")
        store = dynamo_store(dynamodb, new_table(dynamodb), asker=Waits().asker())
        statuses = [JobStatus.PENDING, JobStatus.COMPLETED]
        store.jobs.insert(
            [replace(job(f"job-{n}"), created_at=NOW + n, status=statuses[n % 2], due_at=None) for n in range(JOBS)],
            NOW,
        )
        asked: list[tuple[str, int]] = []
        ledgers: list[int] = []

        def note(model: Any, parsed: dict[str, Any], **_: object) -> None:
            rows = (
                parsed["Items"]
                if model.name == "Query"
                else [row for some in parsed["Responses"].values() for row in some]
            )
            asked.append((model.name, len(rows)))

        def note_ledger(params: dict[str, Any], **_: object) -> None:
            if "IndexName" not in params:
                ledgers.append(params["Limit"])
                assert not params["ConsistentRead"]

        dynamodb.meta.events.register("after-call.dynamodb", note)
        dynamodb.meta.events.register("before-parameter-build.dynamodb.Query", note_ledger)
        clock = VirtualClock(NOW)
        context = Context(store, MemoryQueue(clock.now), clock, Rules(), KeptTelemetry())
        page = list_jobs(context, JobFilter("acme", frozenset({"pending"})), limit)

    assert len(page.items) == limit
    read = [rows for name, rows in asked if name == "BatchGetItem"]
    named = [rows for name, rows in asked if name == "Query"]
    assert limit <= sum(read) <= limit + 100
    assert len(read) <= limit // 100 + 1
    assert sum(named) <= 2 * (limit + 100) + STRATA * _STATUSES * _SPARE * len(read)
    assert len(named) - len(ledgers) <= 2 * STRATA * _STATUSES * len(read)
    assert ledgers == [ROWS] * limit
