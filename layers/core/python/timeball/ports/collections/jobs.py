"""The jobs: rows, and their work, which may stand beside them."""

from collections.abc import Sequence
from typing import Protocol

from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.among import Among
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.usage.estimate import JobCounts
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.rows import Rows


class Jobs(Rows[JobKey, Job], Protocol):
    """The jobs. What is inserted has its work. A swap leaves it as it is, unless both its rows have one, and differ.

    What an insert or a swap answers comes without it. A swap whose rows have the same spec leaves the stored one as it
    is: a job that is resolved for a run may be swapped.
    """

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job, or None if there is none. `with_work` makes `Job.work` present wherever it is stored."""

    def read_with_tasks(
        self, keys: Sequence[JobKey], refs: Sequence[TaskRef], *, with_work: bool = False
    ) -> tuple[list[Job | None], list[Task | None]]:
        """Return jobs, and versions of tasks beside them in no more requests; None for a version that is not found.

        They are not read at one instant: a version that has just been replaced may be missed.
        """

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return up to `limit` jobs of these parts, or (none) of all, by when each was created, each once.

        It may lag. A job stands in the listing of all as long as its row does; while it moves from one part to another
        it may for some seconds stand in both, or in neither.
        """

    def of_task(self, task: TaskKey, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return up to `limit` jobs that name a task, open or ended. It may lag."""

    def count(self, tenant: str) -> JobCounts:
        """Return how many jobs a tenant has: all counted if they are few, else an estimate. May lag."""

    def count_open(self, tenant: str, before_at: int, most: int) -> int:
        """Return how many jobs of a tenant have not ended that were created before an instant (ms): all counted.

        Those that its users made; notices are none of them. Where there are `most` or more, any number from that on is
        as good: nobody reads what millions of jobs take to tell that they are too many. May lag by some seconds.
        """

    def sample_open(self, tenant: str, most: int) -> list[JobKey]:
        """Return so many open jobs of a tenant, by a hash of their ids: a fair sample. All if they are fewer."""
