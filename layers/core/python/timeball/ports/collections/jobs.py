"""The jobs: rows, and their work, which may be stored beside them."""

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
    """The jobs. An insert includes the work.

    A swap leaves the work unchanged, unless both its rows have one and differ.

    The answer of an insert or a swap comes without work. A swap whose rows have the same spec leaves the stored spec
    unchanged, so a job that is resolved for a run may be swapped.
    """

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job, or None if there is none. With `with_work` a job has its work, wherever that is stored."""

    def read_with_tasks(
        self, keys: Sequence[JobKey], refs: Sequence[TaskRef], *, with_work: bool = False
    ) -> tuple[list[Job | None], list[Task | None]]:
        """Return jobs, and versions of tasks in the same number of requests; None for one that is not found.

        They are not read at one instant: a version that was just replaced may be missed.
        """

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return up to `limit` jobs of these parts, or of all if there are no parts, by creation time, each once.

        The listing may lag. A job is listed among all jobs as long as its row exists. While it moves from one part to
        another it may be in both, or in neither, for some seconds.
        """

    def of_task(self, task: TaskKey, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return up to `limit` jobs that name a task, open or ended. It may lag."""

    def count(self, tenant: str) -> JobCounts:
        """Return how many jobs a tenant has: an exact count if they are few, else an estimate. May lag."""

    def count_open(self, tenant: str, before_at: int, most: int) -> int:
        """Return how many open jobs of a tenant were created before an instant (ms). Every one is counted.

        Only users' jobs count, not notices. If there are `most` or more, any number from `most` on is returned: reading
        millions of jobs would only show that they are too many. May lag by some seconds.
        """

    def sample_open(self, tenant: str, most: int) -> list[JobKey]:
        """Return a fair sample of a tenant's open jobs, by a hash of their ids: `most` jobs, or all if fewer."""
