"""The store over DynamoDB: its collections, all in the jobs table. Reads are strong, except those of indexes.

Weights of tenants, read from their rows, only for scans in which tenants compete.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from timeball.aws.dynamodb.collections import (
    DynamoAttempts,
    DynamoBackfills,
    DynamoCalendars,
    DynamoOperations,
    DynamoTasks,
    DynamoWorks,
    of_patterns,
    of_slots,
    to_patterns,
    to_slots,
)
from timeball.aws.dynamodb.counters import DynamoSubmitBudgets, DynamoUsage, DynamoWindows
from timeball.aws.dynamodb.due_index import DynamoDueIndex, DynamoPartitions
from timeball.aws.dynamodb.jobs import DynamoJobs, DynamoRuns
from timeball.aws.dynamodb.notes import DynamoChanges, DynamoEdges, DynamoRequests
from timeball.aws.dynamodb.signing import DynamoSigning
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
from timeball.aws.dynamodb.table.writes import Writer
from timeball.aws.dynamodb.tenants import tenant_key
from timeball.aws.patience import PATIENTLY, Asker
from timeball.domain.model.tenants.tenant import LEAST_WEIGHT
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
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


log = logging.getLogger(__name__)

_KEPT_MS: Final = MINUTE_MS


class DynamoWeights:
    """The weights in a tenants table, kept for a minute.

    They are advice: if the table cannot be read, all tenants have the same weight, or keep their last one.
    """

    def __init__(self, reader: TableReader, clock: Clock) -> None:
        self._reader, self._clock = reader, clock
        self._known: dict[str, tuple[int, int]] = {}

    def __call__(self, tenants: Sequence[str]) -> Mapping[str, int]:
        """Return the weight of each tenant."""
        now = self._clock.now()
        unknown = [one for one in tenants if self._known.get(one, (0, 0))[0] <= now]
        try:
            rows = self._reader.get([tenant_key(one) for one in unknown], strong=False) if unknown else []
        except UnavailableError as unavailable:
            log.warning("weights not read: %s", unavailable)
        else:
            for tenant, row in zip(unknown, rows, strict=True):
                self._known[tenant] = now + _KEPT_MS, (row or {}).get("weight", LEAST_WEIGHT)
        return {one: self._known.get(one, (0, LEAST_WEIGHT))[1] for one in tenants}
