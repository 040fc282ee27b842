"""Who depends on whom, from the parent's side. An edge only names: the child's row says whether it still does."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.dependency import Edge


class Edges(Protocol):
    """The edges from jobs to those that depend on them."""

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Keep each edge, also one that is about to be forgotten. May be repeated. Raises UnavailableError."""

    def children(self, parents: Sequence[JobKey]) -> list[list[JobKey]]:
        """Return the children of each parent, in the order of their ids."""

    def forget(self, edges: Sequence[Edge], noted_before: int, now: int) -> None:
        """Forget each edge that was noted, the last time, before an instant. Raises UnavailableError."""
