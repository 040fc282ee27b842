"""The backfills over DynamoDB: rows beside their job's, in the due index while they have something to do."""

from itertools import islice

from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import BACKFILL, LAST, backfill_key, job_key
from timeball.aws.dynamodb.table.mapper import to_backfill
from timeball.domain.backfills.backfill import Backfill
from timeball.domain.model.ids import BackfillKey, JobKey


class DynamoBackfills(DynamoRows[BackfillKey, Backfill]):
    """The backfills of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(backfill_key, table.mapper.of_backfill, to_backfill))

    def of_job(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return a job's backfills after a name."""
        # A space sorts before any character with which a name continues.
        first = f"{BACKFILL}{after} " if after else BACKFILL
        rows = self._table.reader.between(job_key(job)["pk"], first, BACKFILL + LAST)
        return [to_backfill(row) for row in islice(rows, limit)]
