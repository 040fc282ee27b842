"""The runs over DynamoDB: a job's ledger is a range of its item collection, in the order of the fires."""

from itertools import islice

from timeball.aws.dynamodb.collections.listing import Listing
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import DEAD, LAST, job_key, line_partition, owner_of_row, run_bound, run_key
from timeball.aws.dynamodb.table.mapper import to_run
from timeball.aws.dynamodb.table.schema import LISTING
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId
from timeball.domain.model.runs.run import Permit, Run
from timeball.domain.usage.estimate import Estimate
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.runs import LedgerPage, LedgerQuery

_MAX_EXAMINED = 1_000


class DynamoRuns(DynamoRows[RunId, Run]):
    """The runs of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(run_key, table.mapper.of_run, to_run))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs with a fire time between two instants, both included."""
        rows = self._table.reader.between(job_key(job)["pk"], run_bound(first_at), run_bound(last_at) + LAST)
        return [run for run in map(to_run, rows) if run.id.origin is Origin.SCHEDULE]

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, newest first. Under a filter it may be short, as it examines 1,000 rows at most."""
        rows, last = self._table.reader.page(
            job_key(query.job)["pk"],
            run_bound(query.from_at or 0),
            run_bound(10**15 - 1 if query.to_at is None else query.to_at) + LAST,
            limit=query.limit,
            states=[state.value for state in query.states],
            after=run_key(query.before) if query.before else None,
            examine=_MAX_EXAMINED,
        )
        following = owner_of_row(last["pk"], last["sk"]) if last else None
        return LedgerPage(tuple(map(to_run, rows)), following if isinstance(following, RunId) else None)

    def in_line(self, limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        """Return the runs that the listing index names in the line."""
        partition = line_partition(limiter, permit)
        rows = self._table.reader.listed(LISTING, partition, 0, 10**16, limit, forward=True)
        found = ((row["listed_at"], owner_of_row(row["pk"], row["sk"])) for row in islice(rows, limit))
        return [run for _, run in sorted(found) if isinstance(run, RunId)]

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return what the listing index names as dead letters."""
        return self._listing.page(RunId, [DEAD], query)

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Count what the listing index names as dead letters."""
        return self._listing.count(tenant, DEAD)
