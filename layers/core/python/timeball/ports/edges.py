"""Who depends on whom, from the parent's side. An edge only names: the child's row says whether it still does."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.dependency import Edge
from timeball.domain.model.ids import JobKey


class Edges(Protocol):
    """The edges from jobs to those that depend on them."""

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Keep each edge for good. May be repeated."""

    def children(self, parent: JobKey, after: str = "", limit: int | None = None) -> list[JobKey]:
        """Return up to `limit` children of a parent, those with an id behind `after`, in the order of their ids."""
