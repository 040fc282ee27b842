"""The backfills: rows beside their jobs."""

from typing import Protocol

from timeball.domain.backfills.backfill import Backfill
from timeball.domain.model.ids import BackfillKey, JobKey
from timeball.ports.collections.rows import Rows


class Backfills(Rows[BackfillKey, Backfill], Protocol):
    """The backfills."""

    def of_job(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return up to `limit` backfills of a job, in the order of their names, with names after `after`."""
