"""A tenant's jobs, listed by status and by filters, each with the status that the API shows.

The listing only names jobs, by when they were created: their rows say which are meant. Where a job stands in it does
not change with a pause, a resume or a block; in the listing of all it never changes. So a job that exists and is meant
throughout a listing is in it, once. Whether a one-off is `running` its run alone tells: that is read for those that
may be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from timeball.domain.model.ids import JobKey, Origin, RunId, TaskKey
from timeball.domain.model.jobs.among import Among, among
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.collecting import collects_submits, may_collect, own_run
from timeball.domain.time.instants import LATEST
from timeball.domain.time.schedule import At
from timeball.engine.context import Context
from timeball.engine.listed import Page, read_page
from timeball.ports.collections.listing import ListQuery

RUNNING = "running"
"""What is shown of a one-off whose run is under way."""

_MAY_RUN = (JobStatus.PENDING, JobStatus.FAILED)
"""What the row of a one-off says whose run may be live: a failed one is tried again if its run is retried manually."""


@dataclass(frozen=True)
class JobFilter:
    """Which jobs: of a tenant, in one of these statuses (none: any), created from `from_at` to `to_at` (both included).

    `tags` are those that they have, each a key and a value, and `bounds` are others; `task_id` the task that they name.
    `rows` says which statuses of rows may be meant where no status is asked for.
    """

    tenant: str
    statuses: frozenset[str] = frozenset()
    tags: tuple[tuple[str, str], ...] = ()
    bounds: Mapping[str, str] = field(default_factory=dict)
    task_id: str | None = None
    from_at: int = 0
    to_at: int = LATEST
    rows: frozenset[JobStatus] = frozenset(JobStatus)

    @property
    def parts(self) -> list[Among]:
        """The parts of all jobs that hold those that are meant; none: they are looked for among all.

        A job that is meant before and after it moves from one part to another may for a while stand in neither, so
        several parts are read only where no job is meant in both.
        """
        statuses = self.statuses or self.rows
        parts = {Among.OPEN if status == RUNNING else among(JobStatus(status)) for status in statuses}
        if len(parts) > 1 or None in parts:
            return []
        may_run = [Among.FAILED] if RUNNING in statuses else []
        return list(dict.fromkeys([*(part for part in parts if part is not None), *may_run]))

    @property
    def is_of_all(self) -> bool:
        """Whether every job is meant that was created within the time."""
        return not (self.statuses or self.tags or self.bounds or self.task_id)

    def matches(self, job: Job, shown: str) -> bool:
        """Say whether a job is meant. A failed one is, whatever is shown of it while its run is tried again.

        One that is blocked is pending too.
        """
        is_failed = job.status is JobStatus.FAILED and JobStatus.FAILED in self.statuses
        has_tags = all(job.spec.tags.get(key) == value for key, value in self.tags)
        if self.task_id is not None and job.task_id != self.task_id:
            return False
        is_within = self.bounds.items() <= job.spec.tags.items()
        is_pending = shown == JobStatus.BLOCKED and JobStatus.PENDING in self.statuses
        is_shown = not self.statuses or shown in self.statuses or is_failed or is_pending
        return is_within and has_tags and is_shown


@dataclass(frozen=True)
class ListedJob:
    """A job without its work, and the status that is shown of it."""

    job: Job
    status: str


def list_jobs(
    context: Context, asked: JobFilter, limit: int, after: tuple[int, JobKey] | None = None
) -> Page[ListedJob, JobKey]:
    """Return a page of jobs, the newest first. Raises UnavailableError."""

    def name(at_once: int, behind: tuple[int, JobKey] | None) -> Sequence[tuple[int, JobKey]]:
        query = ListQuery(asked.tenant, at_once, asked.from_at, asked.to_at, behind)
        return name_jobs(context, asked, query)

    def read(keys: Sequence[JobKey]) -> list[ListedJob | None]:
        jobs = context.store.jobs.read(keys, strong=not asked.is_of_all)
        statuses = shown_statuses(context, [job for job in jobs if job is not None])
        return [
            ListedJob(job, status) if job is not None and asked.matches(job, status := statuses[job.key]) else None
            for job in jobs
        ]

    return read_page(name, read, limit, after)


def name_jobs(context: Context, asked: JobFilter, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
    """Return a page of what the listing names as jobs that may be meant. Raises UnavailableError."""
    if asked.task_id is None:
        return context.store.jobs.listed(asked.parts, query)
    return context.store.jobs.of_task(TaskKey(asked.tenant, asked.task_id), query)


def shown_statuses(context: Context, jobs: Sequence[Job]) -> dict[JobKey, str]:
    """Return the status that is shown of each job."""
    own = {job.key: run for job in jobs if (run := own_run_of(job)) is not None}
    runs = dict(zip(own, context.store.runs.read(list(own.values())), strict=True)) if own else {}
    return {job.key: shown_status(job, runs.get(job.key)) for job in jobs}


def starts_of(context: Context, jobs: Sequence[Job]) -> dict[JobKey, int]:
    """Return when the runs start (ms) of jobs that collect submits: only these know it. Others cost nothing."""
    own = {job.key: run for job in jobs if collects_submits(job.spec) and job.is_open and (run := own_run(job))}
    rows = context.store.runs.read(list(own.values()), strong=False) if own else []
    found = dict(zip(own, rows, strict=True))
    return {key: row.not_before for key, row in found.items() if row is not None and may_collect(row)}


def own_run_of(job: Job) -> RunId | None:
    """Return the run of a one-off that may be live: it is sent, or its job has failed and it may be retried."""
    timing = job.spec.schedule.timing
    if not isinstance(timing, At) or job.status not in _MAY_RUN or job.next_fire_at is not None:
        return None
    return RunId(job.key, timing.at, Origin.SCHEDULE)


def shown_status(job: Job, own: Run | None) -> str:
    """Return what is shown of a job whose own run is as it was read: while that is live, what that does.

    It is `pending` until an attempt has begun: none has yet, or none since somebody wanted it tried again.
    """
    if own is None or own.is_terminal:
        return job.listed_status
    return RUNNING if own.attempts_spent > 0 else JobStatus.PENDING
