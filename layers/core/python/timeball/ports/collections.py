"""The collections that answer more than rows do: jobs, with their work; runs, by job and by state; finished attempts.

A job's work may be stored beside its row, and so may the work of a single run: what a trigger brings in place of the
job's payload.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import JobKey, LimiterKey, RunId, TaskKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.policies import Work
from timeball.domain.usage.spending import Estimate, JobCounts
from timeball.ports.rows import ListQuery, Rows


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


@dataclass(frozen=True)
class LedgerQuery:
    """A page of a job's runs, the newest first. Instants are in ms."""

    job: JobKey
    """The job."""
    limit: int
    """The most runs on the page."""
    from_at: int | None = None
    """The earliest fire time, included; None: no bound."""
    to_at: int | None = None
    """The latest fire time, included; None: no bound."""
    states: frozenset[RunState] = frozenset()
    """Only runs in these states; empty: all."""
    before: RunId | None = None
    """The last run of the previous page; None: the first page."""
    oldest_first: bool = False
    """The oldest come first instead."""
    strong: bool = True
    """It is read strongly; a read that is not costs half, and may be some seconds old."""


@dataclass(frozen=True)
class LedgerPage:
    """A page of runs."""

    runs: tuple[Run, ...]
    """The runs."""
    next_before: RunId | None
    """The run before which the next page begins; None: this is the last page."""


class Runs(Rows[RunId, Run], Protocol):
    """The runs."""

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the scheduled runs that cover any instant from `first_at` to `last_at`, earliest first.

        A skipped range is returned if its first instant lies within.
        """

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of a job's runs. With a filter, a page may be short or empty before the end."""

    def ledgers(self, queries: Sequence[LedgerQuery]) -> list[LedgerPage]:
        """Return a page for each query."""

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        """Return up to `limit` notable runs in these states, by `ordered_at` (domain/model/runs/notable.py).

        They are as the index has them, which may lag. A run that moves from one state to another may be in both, or in
        neither, for a moment.
        """

    def newest(self, jobs: Sequence[JobKey], limit: int, to_at: int) -> list[list[Run]]:
        """Return the newest rows of each job's ledger with a fire time up to an instant (ms), newest first.

        May lag by a second.
        """

    def in_line(self, limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        """Return the first runs that the listing has in a line: by priority, then fire time. It may lag."""

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return up to `limit` dead letters in the listing, by the time of their failure. It may lag."""

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Return how many dead letters a tenant has: an exact count if they are few, else an estimate. May lag."""


class Attempts(Protocol):
    """The attempts with more content than their run's row stores."""

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt if absent. None: stored; otherwise the attempt that was there."""

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Write each attempt over the content of its row."""

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""


class Works(Protocol):
    """Work that is stored beside jobs."""

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store work beside a job, for a run of its own work; return the name of each. May be repeated."""

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return the work of each name; None if it is not stored, or no longer."""
