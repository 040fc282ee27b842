"""The work of single runs: what a trigger brings in place of the job's payload."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.work import Work


class Works(Protocol):
    """Work that is stored beside jobs."""

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store work beside a job, for a run of its own work; return the name of each. May be repeated."""

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return the work of each name; None if it is not stored, or no longer."""
