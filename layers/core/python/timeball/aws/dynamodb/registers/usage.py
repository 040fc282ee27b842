"""Hourly counts over DynamoDB: a row for each hour and subject of a tenant, which only grows."""

from collections.abc import Sequence

from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import hour_bound, hour_key, hour_of_row
from timeball.aws.dynamodb.table.writes import Add
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.usage.hours import KEPT_DAYS, Counts, HourKey

_NO_COUNTS = frozenset({"pk", "sk", "expires_at"})


class DynamoUsage:
    """The counts of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._reader, self._writer = table.reader, table.writer

    def add(self, sums: Sequence[tuple[HourKey, Counts]], now: int) -> list[bool]:
        """Add to the row of each hour, with one update that is never repeated."""
        expires_at = (now + KEPT_DAYS * DAY_MS) // SECOND_MS
        return self._writer.add([Add(hour_key(key), counts, {"expires_at": expires_at}) for key, counts in sums])

    def between(self, tenant: str, first_at: int, last_at: int) -> list[tuple[HourKey, Counts]]:
        """Return the counts of the hours that began between two instants."""
        pk = hour_key(HourKey(tenant, 0, ""))["pk"]
        rows = self._reader.between(pk, hour_bound(first_at), hour_bound(last_at + 1), strong=False)
        return [(hour_of_row(tenant, row["sk"]), {name: row[name] for name in row.keys() - _NO_COUNTS}) for row in rows]
