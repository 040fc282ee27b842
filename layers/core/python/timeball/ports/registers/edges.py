"""The jobs that depend on each job. An edge only nominates: the child's row says whether it still depends."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.dependency import Edge


class Edges(Protocol):
    """The edges from jobs to those that depend on them."""

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Store each edge, even one that is about to be removed. May be repeated. Raises UnavailableError."""

    def children(self, parents: Sequence[JobKey]) -> list[list[JobKey]]:
        """Return the children of each parent, in the order of their ids."""

    def forget(self, edges: Sequence[Edge], noted_before: int, now: int) -> None:
        """Remove each edge whose last note is earlier than an instant. Raises UnavailableError."""
