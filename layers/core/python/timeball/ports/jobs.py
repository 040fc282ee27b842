"""The jobs: rows, their work, which may stand beside them, and their ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.ids import JobKey
from timeball.domain.job import Job, JobStatus
from timeball.ports.rows import Rows


@dataclass(frozen=True)
class Conclusion:
    """Give a job its final status, if its own is one of `open_statuses`, and `fire_at` is its final fire.

    It leaves the due index, unless a change of its user is not settled yet.
    """

    job: JobKey
    fire_at: int
    status: JobStatus
    at: int
    open_statuses: tuple[JobStatus, ...] = (JobStatus.PENDING,)


class Jobs(Rows[JobKey, Job], Protocol):
    """The jobs. What is inserted has its work. A swap leaves it as it is, unless both its rows have one, and differ.

    What an insert or a swap answers comes without it.
    """

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job, or None if there is none. `with_work` makes `Job.work` present wherever it is stored."""

    def conclude(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Apply each conclusion; False where its conditions do not hold."""
