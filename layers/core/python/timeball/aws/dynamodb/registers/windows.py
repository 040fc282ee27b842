"""Counts of windows over DynamoDB: a row for each window, one write for each count, expired some hours later."""

from typing import Final

from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import window_key
from timeball.aws.dynamodb.table.writes import Add, Take
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.ports.registers.windows import CountWindow

_KEPT_MS: Final = HOUR_MS


class DynamoWindows:
    """The counts in one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        """Count, on the condition that there is room."""
        expires_at = (window.ends_at + _KEPT_MS) // SECOND_MS
        add = Add(window_key(window), {"count": amount}, {"expires_at": expires_at})
        return amount <= most and self._table.writer.take(Take(add, most={"count": most})).done
