"""The read units of an answer about the present state, on DynamoDB's own rows: with a digest, and of the digest."""

import math
from dataclasses import replace
from typing import Any

from tests.contract.backends import client, moto, new_table
from tests.contract.rows import NOW, job
from tests.contract.waits import Waits
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.notable import noted
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.context import Context, Rules
from timeball.engine.now import read_now
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

JOBS = 120
SOME = 40
"""Jobs with a run under way; so many others have a late run, and the rest a dead one."""
PART = 4_096
"""Half a read unit reads so many bytes, unless the read is strong."""
STRONG = 1
"""The other half of the units of the row of freezes, which is read strongly, by two readers."""


def size_of(row: dict[str, Any]) -> int:
    """Return about how many bytes DynamoDB bills for a row."""
    return sum(len(name) + len(str(next(iter(value.values())))) for name, value in row.items())


def rows_of(one: Job, number: int) -> list[Run]:
    """Return the rows of a job's ledger: six plain runs, and one that is notable."""
    fires = [NOW - minutes * MINUTE_MS for minutes in range(1, 7)]
    plain = [Run(RunId(one.key, at, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, at, at) for at in fires]
    rows = [
        replace(run, attempt=1, claimed_at=at, first_started_at=at, finished_at=at + 300)
        for run, at in zip(plain, fires, strict=True)
    ]
    newest = noted(replace(rows[0], id=RunId(one.key, NOW - 20 * SECOND_MS, Origin.SCHEDULE), finished_at=None))
    states = (RunState.RUNNING, RunState.QUEUED, RunState.FAILED)
    last = replace(newest, state=states[number % 3], not_before=newest.id.fire_at)
    if last.state is RunState.QUEUED:
        last = replace(last, attempt=0, claimed_at=None, first_started_at=None)
    return [*rows, replace(last, finished_at=NOW - 10 * SECOND_MS) if last.state is RunState.FAILED else last]


def test_an_answer_that_finds_a_digest_costs_thirty_units_and_a_digest_at_most_one_a_job() -> None:
    with moto():
        dynamodb = client("dynamodb")
        store = dynamo_store(dynamodb, new_table(dynamodb), asker=Waits().asker())
        jobs = [replace(job(f"job-{number:03d}"), created_at=NOW - number) for number in range(JOBS)]
        store.jobs.insert(jobs, NOW)
        store.runs.insert([row for number, one in enumerate(jobs) for row in rows_of(one, number)], NOW)
        units = 0.0

        def note(model: Any, parsed: dict[str, Any], **_: object) -> None:
            nonlocal units
            if model.name == "Query":
                units += max(1, math.ceil(sum(map(size_of, parsed["Items"])) / PART)) / 2
            elif model.name == "BatchGetItem":
                found = [row for rows in parsed["Responses"].values() for row in rows]
                units += sum(math.ceil(size_of(row) / PART) / 2 for row in found)

        dynamodb.meta.events.register("after-call.dynamodb", note)
        clock = VirtualClock(NOW)
        context = Context(store, MemoryQueue(clock.now), clock, Rules(), KeptTelemetry())
        first, both = read_now(context, "acme", {}), units
        units = 0.0
        again, alone = read_now(context, "acme", {}), units
    assert first == again
    assert len(first.running) + len(first.needs_attention) > SOME
    assert alone + STRONG <= 30
    assert both - alone <= JOBS
