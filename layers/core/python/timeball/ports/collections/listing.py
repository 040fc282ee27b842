"""The listing: what a tenant has, by its state and in the order of time. Like the due index it only names."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from timeball.domain.model.ids import JobKey, OperationKey, RunId, TaskKey
from timeball.domain.time.instants import LATEST

Id = TypeVar("Id", JobKey, RunId, TaskKey, OperationKey)


@dataclass(frozen=True)
class ListQuery(Generic[Id]):
    """A page of what a tenant has whose time lies from `from_at` to `to_at` (both included), newest first.

    `after` is the last one of the page before: its time, and what it names. `oldest_first` turns the order round.
    """

    tenant: str
    limit: int
    from_at: int = 0
    to_at: int = LATEST
    after: tuple[int, Id] | None = None
    oldest_first: bool = False
