"""The finished attempts of runs, each in a row of its own that a run's row has no room for."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.attempt import Attempt


class Attempts(Protocol):
    """The attempts that have more to tell than their run's row keeps."""

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt if absent. None: stored; an attempt: what stood there."""

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Write each attempt in place of what stands in its row."""

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""
