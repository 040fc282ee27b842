"""The bulk operations: rows of their tenants."""

from typing import Protocol

from timeball.domain.model.ids import OperationKey
from timeball.domain.operations.operation import Operation
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


class Operations(Rows[OperationKey, Operation], Protocol):
    """The operations."""

    def listed(self, query: ListQuery[OperationKey]) -> list[tuple[int, OperationKey]]:
        """Return up to `limit` operations in the listing, by creation time. It may lag."""
