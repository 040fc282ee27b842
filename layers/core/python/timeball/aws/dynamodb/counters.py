"""Counters over DynamoDB: each count is one update, which adds, and may have a condition.

A window has a row that expires some hours later, an hour has a row for each subject of a tenant, and a tenant with a
quota of submits has one row, with an attribute for each second that counts.
"""

from collections.abc import Sequence
from typing import Any, Final

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import budget_key, hour_bound, hour_key, hour_of_row, window_key
from timeball.aws.dynamodb.table.writes import Add, Take
from timeball.domain.sharing.submit_budget import Reservation, SubmitBudget, outdated
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS
from timeball.domain.usage.hours import KEPT_DAYS, Counts, HourKey
from timeball.ports.counters import CountWindow

_KEPT_MS: Final = HOUR_MS
"""How long the row of a window stays after its end."""
_NO_COUNTS = frozenset({"pk", "sk", "expires_at"})
"""The attributes of an hour's row that are no counts."""
_TAKEN: Final = "s"
_BESIDE: Final = "b"
_VERSION: Final[Item] = {"v": 1}
_MANY: Final = 30
"""How many outdated seconds are dropped at once: the row stays small, for one write more in thirty."""


class DynamoWindows:
    """The counts in one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        """Count, on the condition that there is room."""
        expires_at = (window.ends_at + _KEPT_MS) // SECOND_MS
        add = Add(window_key(window), {"count": amount}, {"expires_at": expires_at})
        return amount <= most and self._table.writer.take(Take(add, most={"count": most})).done


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


class DynamoSubmitBudgets:
    """The reservations in one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def reserve(self, reservation: Reservation) -> SubmitBudget | None:
        """Reserve, on the condition that there is room."""
        second, amount = _name(reservation.second), reservation.amount
        if reservation.per_second and amount > reservation.per_second:
            return self.read(reservation.tenant)
        written = self._table.writer.take(
            Take(
                Add(budget_key(reservation.tenant), _amounts(reservation, 1), _VERSION),
                most={second: reservation.per_second} if reservation.per_second else {},
                least={"left": 0} if reservation.active else {},
                where={"most": reservation.active} if reservation.active else {},
            )
        )
        standing = _to_budget(reservation.tenant, written.row)
        if not written.done:
            return standing
        self._forget(reservation.tenant, outdated(standing, reservation.at))
        return None

    def release(self, reservation: Reservation) -> None:
        """Release. If the answer is lost, it is unknown whether that was done, and it is not repeated."""
        self._table.writer.add([Add(budget_key(reservation.tenant), _amounts(reservation, -1), _VERSION)])

    def reckon(self, before: SubmitBudget, after: SubmitBudget) -> bool:
        """Set what is left, on the condition that no other process has done so since."""
        to: Item = {"most": after.most, "left": after.left, "counted_at": after.counted_at, **_VERSION}
        was: dict[str, int | None] = {"counted_at": None}
        if before.counted_at:
            was = {"counted_at": before.counted_at, "left": before.left}
        return self._table.writer.take(Take(Add(budget_key(before.tenant), {}, to), where=was)).done

    def read(self, tenant: str) -> SubmitBudget:
        """Read the row."""
        return _to_budget(tenant, self._table.reader.get([budget_key(tenant)])[0])

    def _forget(self, tenant: str, seconds: list[int]) -> None:
        if len(seconds) >= _MANY:
            forgotten = tuple(name for second in seconds for name in (_name(second), _name(second, _BESIDE)))
            self._table.writer.take(Take(Add(budget_key(tenant), {}, _VERSION), remove=forgotten))


def _amounts(reservation: Reservation, sign: int) -> dict[str, int]:
    amount = sign * reservation.amount
    also = {"left": -amount} if reservation.active else {_name(reservation.second, _BESIDE): amount}
    return {_name(reservation.second): amount, **also}


def _name(second: int, letter: str = _TAKEN) -> str:
    return f"{letter}{second // SECOND_MS}"


def _to_budget(tenant: str, row: dict[str, Any] | None) -> SubmitBudget:
    row = row or {}

    def seconds(letter: str) -> dict[int, int]:
        return {int(name[1:]) * SECOND_MS: row[name] for name in row if name[0] == letter and name[1:].isdigit()}

    left = {name: row.get(name, 0) for name in ("most", "left", "counted_at")}
    return SubmitBudget(tenant, seconds(_TAKEN), seconds(_BESIDE), **left)
