"""The listing: a tenant's data by state and in the order of time. Like the due index, it only nominates."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from timeball.domain.model.ids import JobKey, OperationKey, RunId, TaskKey
from timeball.domain.time.instants import LATEST

Id = TypeVar("Id", JobKey, RunId, TaskKey, OperationKey)


@dataclass(frozen=True)
class ListQuery(Generic[Id]):
    """A page of a tenant's listing, the newest first. Instants are in ms."""

    tenant: str
    """The tenant."""
    limit: int
    """The most entries on the page."""
    from_at: int = 0
    """The earliest time, included."""
    to_at: int = LATEST
    """The latest time, included."""
    after: tuple[int, Id] | None = None
    """The time and the name of the last entry of the previous page; None: the first page."""
    oldest_first: bool = False
    """The oldest come first instead."""
