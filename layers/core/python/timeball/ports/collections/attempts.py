"""Finished attempts in rows of their own, for which the run's row has no room."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.attempt import Attempt


class Attempts(Protocol):
    """The attempts with more content than their run's row stores."""

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt if absent. None: stored; otherwise the attempt that was there."""

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Write each attempt over the content of its row."""

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""
