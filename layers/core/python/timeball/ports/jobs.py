"""The jobs: rows, and their work, which may stand beside them."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Job, JobStatus
from timeball.ports.listing import ListQuery
from timeball.ports.rows import Rows


class Jobs(Rows[JobKey, Job], Protocol):
    """The jobs. What is inserted has its work. A swap leaves it as it is, unless both its rows have one, and differ.

    What an insert or a swap answers comes without it.
    """

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job, or None if there is none. `with_work` makes `Job.work` present wherever it is stored."""

    def listed(self, statuses: Sequence[JobStatus], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return up to `limit` jobs that the listing names in one of these statuses, by when each was created.

        It may lag.
        """
