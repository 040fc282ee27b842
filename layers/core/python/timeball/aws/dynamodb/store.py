"""The store over DynamoDB: its collections, all in the jobs table. Reads are strong, except those of indexes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from timeball.aws.dynamodb.collections.attempts import DynamoAttempts
from timeball.aws.dynamodb.collections.backfills import DynamoBackfills
from timeball.aws.dynamodb.collections.calendars import DynamoCalendars
from timeball.aws.dynamodb.collections.jobs import DynamoJobs
from timeball.aws.dynamodb.collections.operations import DynamoOperations
from timeball.aws.dynamodb.collections.runs import DynamoRuns
from timeball.aws.dynamodb.collections.tasks import DynamoTasks
from timeball.aws.dynamodb.collections.works import DynamoWorks
from timeball.aws.dynamodb.registers.changes import DynamoChanges
from timeball.aws.dynamodb.registers.due_index import DynamoDueIndex
from timeball.aws.dynamodb.registers.edges import DynamoEdges
from timeball.aws.dynamodb.registers.partitions import DynamoPartitions
from timeball.aws.dynamodb.registers.requests import DynamoRequests
from timeball.aws.dynamodb.registers.signing import DynamoSigning
from timeball.aws.dynamodb.registers.submit_budgets import DynamoSubmitBudgets
from timeball.aws.dynamodb.registers.usage import DynamoUsage
from timeball.aws.dynamodb.registers.windows import DynamoWindows
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess, fresh_write_id
from timeball.aws.dynamodb.table.keys import (
    circuit_key,
    freezes_key,
    limiter_key,
    patterns_key,
    slots_key,
    subscription_row_key,
    task_version_key,
    unique_row_key,
)
from timeball.aws.dynamodb.table.mapper import (
    Mapper,
    to_circuit,
    to_freezes,
    to_limiter,
    to_named,
    to_subscription,
    to_task,
)
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.tenant_rows import of_patterns, of_slots, to_patterns, to_slots
from timeball.aws.dynamodb.table.writes import Writer
from timeball.aws.patience import PATIENTLY, Asker
from timeball.ports.store import Store

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_AS_DECLARED = Mapper()


def dynamo_store(
    client: "DynamoDBClient",
    table: str,
    *,
    mapper: Mapper = _AS_DECLARED,
    writes: str = "single",
    threads: int = 8,
    asker: Asker = PATIENTLY,
    write_id: Callable[[], str] = fresh_write_id,
) -> Store:
    """Return everything that the engine stores, in one table. `write_id` makes an id that no other write has."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="store")
    writer = Writer(client, table, pool, asker, in_batches=writes == "batch")
    rows = TableAccess(TableReader(client, table, asker, pool), writer, mapper, pool, write_id)
    works = DynamoWorks(rows)
    return Store(
        jobs=DynamoJobs(rows, works),
        runs=DynamoRuns(rows),
        backfills=DynamoBackfills(rows),
        circuits=DynamoRows(rows, RowKind(circuit_key, mapper.of_circuit, to_circuit)),
        slots=DynamoRows(rows, RowKind(slots_key, of_slots, to_slots)),
        limiters=DynamoRows(rows, RowKind(limiter_key, mapper.of_limiter, to_limiter)),
        operations=DynamoOperations(rows),
        tasks=DynamoTasks(rows),
        task_versions=DynamoRows(rows, RowKind(task_version_key, mapper.of_task_version, to_task)),
        freezes=DynamoRows(rows, RowKind(freezes_key, mapper.of_freezes, to_freezes)),
        calendars=DynamoCalendars(rows),
        subscriptions=DynamoRows(rows, RowKind(subscription_row_key, mapper.of_subscription, to_subscription)),
        patterns=DynamoRows(rows, RowKind(patterns_key, of_patterns, to_patterns)),
        uniques=DynamoRows(rows, RowKind(unique_row_key, mapper.of_named, to_named)),
        attempts=DynamoAttempts(rows),
        works=works,
        requests=DynamoRequests(rows),
        changes=DynamoChanges(rows, works),
        windows=DynamoWindows(rows),
        submit_budgets=DynamoSubmitBudgets(rows),
        edges=DynamoEdges(rows),
        due=DynamoDueIndex(rows),
        partitions=DynamoPartitions(rows),
        signing=DynamoSigning(rows),
        usage=DynamoUsage(rows),
    )
