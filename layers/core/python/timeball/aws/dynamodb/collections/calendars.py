"""The calendars over DynamoDB: rows of their tenant, and beside each calendar a row for each job that may name it."""

from collections.abc import Sequence
from itertools import islice

from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import CALENDAR, LAST, USE, calendar_key, tenant_key, use_key
from timeball.aws.dynamodb.table.mapper import to_calendar
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.calendar import Calendar, CalendarKey


class DynamoCalendars(DynamoRows[CalendarKey, Calendar]):
    """The calendars of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(calendar_key, table.mapper.of_calendar, to_calendar))

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Calendar]:
        """Return a tenant's calendars after a name."""
        rows = self._table.reader.between(tenant_key(tenant), _behind(CALENDAR, after), CALENDAR + LAST)
        found = (to_calendar(row) for row in rows)
        return list(islice((one for one in found if not one.is_deleted), limit))

    def note_uses(self, uses: Sequence[tuple[CalendarKey, JobKey]], now: int) -> list[None]:
        """Note that jobs are about to name calendars."""
        keys = [use_key(calendar, job) for calendar, job in uses]
        written = self._table.writer.write([Insert({**key, "at": now}) for key in keys])
        standing = [key for key, one in zip(keys, written, strict=True) if not one.done]
        self._table.writer.write([Update(key, where={}, set={"at": now}) for key in standing])
        return [None] * len(uses)

    def uses(self, key: CalendarKey, after: str, limit: int) -> list[tuple[JobKey, int]]:
        """Return the jobs that may name a calendar."""
        partition = use_key(key, JobKey(key.tenant, ""))["pk"]
        rows = islice(self._table.reader.between(partition, _behind(USE, after), USE + LAST), limit)
        return [(JobKey(key.tenant, str(row["sk"]).removeprefix(USE)), int(row["at"])) for row in rows]


def _behind(prefix: str, name: str) -> str:
    # A space sorts before any character with which a name continues.
    return f"{prefix}{name} " if name else prefix
