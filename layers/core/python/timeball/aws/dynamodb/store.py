"""The store over DynamoDB: its collections, all in the jobs table; and the weights of tenants, from their own table.

Reads are strong, except those of indexes. Weights are read only for scans in which tenants compete.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from timeball.aws.dynamodb.collections import DynamoAttempts, DynamoWorks
from timeball.aws.dynamodb.counters import DynamoSubmitBudgets, DynamoUsage, DynamoWindows
from timeball.aws.dynamodb.due_index import DynamoDueIndex, DynamoPartitions
from timeball.aws.dynamodb.jobs import DynamoJobs, DynamoRuns
from timeball.aws.dynamodb.listing import DynamoListedRows
from timeball.aws.dynamodb.notes import DynamoChanges, DynamoFormerRows, DynamoLinks, DynamoNotes, DynamoSigning
from timeball.aws.dynamodb.table import keys
from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import (
    DynamoNamedRows,
    DynamoRows,
    RowKind,
    TableAccess,
    fresh_write_id,
    row_kind,
)
from timeball.aws.dynamodb.table.mapper import (
    Mapper,
    expiry_of_circuit,
    expiry_of_unique,
    of_event,
    to_instant,
    to_task,
)
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.writes import Writer
from timeball.aws.dynamodb.tenants import tenant_key
from timeball.aws.request_retries import PATIENTLY, Asker
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import JobKey, OperationKey, TaskKey
from timeball.domain.model.jobs.calendar import Calendar
from timeball.domain.model.jobs.freeze import Freeze, Freezes
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.tenants.tenant import LEAST_WEIGHT
from timeball.domain.model.terms.event import Patterns, Subscription, WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.planning.era import Era
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.clock import Clock
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Row
from timeball.ports.store import Store

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

log = logging.getLogger(__name__)

_AS_DECLARED = Mapper()
_KEPT_MS: Final = MINUTE_MS
"""How long weights are known after they were read."""


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
    return store_over(TableAccess(TableReader(client, table, asker, pool), writer, mapper, pool, write_id))


def store_over(rows: TableAccess) -> Store:
    """Return everything that the engine stores, in the table of an access."""
    mapper, works = rows.mapper, DynamoWorks(rows)
    return Store(
        jobs=DynamoJobs(rows, works),
        runs=DynamoRuns(rows),
        backfills=DynamoNamedRows(
            rows, row_kind(Backfill, "key", keys.backfill_key, keys.backfill_in, mapper.of_backfill), _backfills_of
        ),
        circuits=DynamoRows(rows, _marked(Circuit, keys.CIRCUITS, expiry_of_circuit)),
        slots=DynamoRows(rows, row_kind(BackfillSlots, "tenant", keys.slots_key, keys.tenant_in)),
        limiters=DynamoRows(rows, _marked(Limiter, keys.LIMITERS, mapper.of_limiter)),
        operations=DynamoListedRows(
            rows, _marked(Operation, keys.OPERATIONS, mapper.of_operation), OperationKey, keys.OPERATION
        ),
        tasks=DynamoListedRows(
            rows, RowKind(Task, keys.TASKS.key_of, mapper.of_task, to_task), TaskKey, keys.REGISTERED
        ),
        task_versions=DynamoRows(rows, RowKind(Task, keys.task_version_key, mapper.of_task_version, to_task)),
        freezes=DynamoRows(rows, row_kind(Freezes, "tenant", keys.freezes_key, keys.tenant_in)),
        former_freezes=DynamoFormerRows(rows, Freeze, keys.former_freezes_in),
        calendars=DynamoNamedRows(
            rows, row_kind(Calendar, "key", keys.calendar_key, keys.calendar_in), _calendars_of, _is_there
        ),
        former_calendars=DynamoFormerRows(rows, Calendar, keys.former_calendars_in),
        calendar_uses=DynamoLinks(rows, keys.use_key, "at"),
        subscriptions=DynamoRows(rows, _marked(Subscription, keys.SUBSCRIPTIONS)),
        waiting_events=DynamoNamedRows(
            rows,
            row_kind(WaitingEvent, "key", keys.waiting_event_key, keys.waiting_event_in, mapper.of_waiting_event),
            _waiting_events_of,
        ),
        patterns=DynamoRows(rows, row_kind(Patterns, "tenant", keys.patterns_key, keys.tenant_in)),
        uniques=DynamoRows(rows, _marked(UniqueKeyRow, keys.UNIQUES, expiry_of_unique)),
        attempts=DynamoAttempts(rows),
        works=works,
        requests=DynamoNotes(rows, keys.request_key, mapper.of_request, to_instant),
        events=DynamoNotes(rows, keys.event_key, of_event, to_instant),
        changes=DynamoChanges(rows, works),
        windows=DynamoWindows(rows),
        submit_budgets=DynamoSubmitBudgets(rows),
        edges=DynamoLinks(rows, keys.edge_key, "noted_at"),
        due=DynamoDueIndex(rows),
        partitions=DynamoPartitions(rows),
        signing=DynamoSigning(rows),
        usage=DynamoUsage(rows),
        eras=DynamoFormerRows(rows, Era, keys.eras_in, for_good=True),
    )


def _backfills_of(job: JobKey) -> keys.Key:
    return {**keys.job_key(job), "sk": keys.BACKFILL}


def _waiting_events_of(job: JobKey) -> keys.Key:
    return {**keys.job_key(job), "sk": keys.WAITING_EVENT}


def _calendars_of(tenant: str) -> keys.Key:
    return keys.key_of_tenant(keys.CALENDAR, tenant)


def _is_there(calendar: Calendar) -> bool:
    return not calendar.is_deleted


def _marked(
    of: type[Row], names: keys.Marked[keys.Name], added: Callable[[Row, int], Item] = lambda *_: {}
) -> RowKind[keys.Name, Row]:
    return row_kind(of, "key", names.key_of, names.name_in, added)


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
