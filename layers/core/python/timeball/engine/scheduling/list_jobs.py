"""A tenant's jobs, listed by status and by filters, each with the status that the API shows.

The listing only names jobs, by their creation time; their rows decide which ones match. A job's position in the listing
does not change with a pause, a resume or a block, and in the listing of all jobs it never changes. So a job that exists
and matches throughout a listing appears in it once.

Only runs say whether a job has one under way. The run of a one-off is read if it may be live, because the status of the
one-off follows from it. The ledgers of the jobs on the page show what their newest runs did. A filter that asks for
jobs with a run under way reads the ledgers of its candidates.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.jobs.job import OPEN, Job, JobSpec, JobStatus
from timeball.domain.model.jobs.job_states import Among, among
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.collecting import collects_submits, may_collect, own_run
from timeball.domain.run_ends.recent import ROWS, Recent, is_under_way, recent_of
from timeball.domain.time.instants import LATEST
from timeball.domain.time.schedule import At, Cron, Every, OnEvents
from timeball.engine.context import Context
from timeball.engine.filtered_pages import MAX_EXAMINED, Page, read_page
from timeball.ports.rows import ListQuery

RUNNING = "running"
"""The status shown for a one-off whose run is under way; as a filter it finds all jobs with a run under way."""

_MAX_LEDGERS = 200
"""The most jobs that a page examines if that takes a look at the ledger of each."""

MAX_SORTED = 1_000
"""The most jobs that are read to sort them."""

_MAY_RUN = (JobStatus.PENDING, JobStatus.FAILED)
"""The statuses of a one-off whose run may be live. A failed one-off is tried again if its run is retried manually."""


class Kind(StrEnum):
    """The cause of a job's fires: its schedule by its form, events, or its parents."""

    ONCE = "once"
    CRON = "cron"
    INTERVAL = "interval"
    EVENT = "event"
    DEPENDENT = "dependent"


_KINDS = {At: Kind.ONCE, Cron: Kind.CRON, Every: Kind.INTERVAL, OnEvents: Kind.EVENT}


def kind_of(spec: JobSpec) -> Kind:
    """Return what makes a job fire; a job with parents and a schedule of its own has the kind of the schedule."""
    return Kind.DEPENDENT if spec.inherits else _KINDS[type(spec.schedule.timing)]


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a filter looks for in a job's row."""

    key: JobKey
    created_at: int
    name: str | None
    owner: str | None
    priority: str
    kind: Kind
    task_id: str | None
    tags: Mapping[str, str]
    statuses: tuple[JobStatus, JobStatus]
    """Its status, and the one under which it is listed."""


def facts_of(job: Job) -> JobFacts:
    """Return what a filter looks for in a job's row."""
    spec = job.spec
    statuses = (job.status, job.listed_status)
    owner, kind = job.owner, kind_of(spec)
    return JobFacts(job.key, job.created_at, spec.name, owner, spec.priority, kind, job.task_id, spec.tags, statuses)


@dataclass(frozen=True)
class JobFilter:
    """Which jobs: a tenant's, in one of these statuses (empty: any), created from `from_at` to `to_at` (both included).

    `tags` are tags that the jobs must have, each a key and a value; `bounds` are more of them. `task_id` is the task
    that the jobs name. `prefix` begins their id or their name, in any case. `priorities` and `kinds` are any if they
    are empty. `rows` lists the row statuses that may match if no status is asked for.
    """

    tenant: str
    statuses: frozenset[str] = frozenset()
    tags: tuple[tuple[str, str], ...] = ()
    bounds: Mapping[str, str] = field(default_factory=dict)
    task_id: str | None = None
    from_at: int = 0
    to_at: int = LATEST
    prefix: str = ""
    name: str | None = None
    owner: str | None = None
    priorities: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    oldest_first: bool = False
    rows: frozenset[JobStatus] = frozenset(JobStatus)

    @property
    def parts(self) -> list[Among]:
        """The parts of the listing that contain all jobs that match. Empty: search the listing of all jobs.

        A job that matches before and after it moves from one part to another may for a while be in neither part. So
        several parts are read only if no job matches in two of them.
        """
        statuses = self.statuses or self.rows
        parts = {Among.OPEN if status == RUNNING else among(JobStatus(status)) for status in statuses}
        if len(parts) > 1 or None in parts:
            return []
        may_run = [Among.FAILED] if RUNNING in statuses else []
        return list(dict.fromkeys([*(part for part in parts if part is not None), *may_run]))

    @property
    def is_of_all(self) -> bool:
        """Whether every job that was created within the time range matches."""
        is_narrowed = self.prefix or self.name or self.owner or self.priorities or self.kinds
        return not (self.statuses or self.tags or self.bounds or self.task_id or is_narrowed)

    @property
    def needs_ledgers(self) -> bool:
        """Whether the ledger of a job says whether it matches."""
        return RUNNING in self.statuses

    def matches(self, job: Job, shown: str, recent: Recent | None = None) -> bool:
        """Return whether a job matches. A failed job matches `failed` even while its run is tried again.

        A blocked job matches `pending` too, and a job whose ledger has a run under way matches `running`.
        """
        return self._has_fields(facts_of(job)) and self._is_shown(job, shown, recent)

    def may_match(self, facts: JobFacts) -> bool:
        """Return whether a job with such a row may match, whatever its runs do."""
        is_within = self.from_at <= facts.created_at <= self.to_at
        return is_within and self._has_fields(facts) and self._may_be_shown(facts.statuses)

    def _has_fields(self, facts: JobFacts) -> bool:
        prefix = self.prefix.casefold()
        asked = ((self.task_id, facts.task_id), (self.name, facts.name), (self.owner, facts.owner))
        return (
            all(wanted in (None, has) for wanted, has in asked)
            and (not self.priorities or facts.priority in self.priorities)
            and (not self.kinds or facts.kind in self.kinds)
            and (facts.key.job_id.casefold().startswith(prefix) or (facts.name or "").casefold().startswith(prefix))
            and all(facts.tags.get(key) == value for key, value in (*self.tags, *self.bounds.items()))
        )

    def _may_be_shown(self, statuses: Iterable[JobStatus]) -> bool:
        """Return whether a job with such statuses may be shown in one that is asked for; its runs may say another."""
        if not self.statuses or not self.statuses.isdisjoint(statuses):
            return True
        by_runs = RUNNING in self.statuses or JobStatus.PENDING in self.statuses
        return by_runs and any(status in OPEN or status is JobStatus.FAILED for status in statuses)

    def _is_shown(self, job: Job, shown: str, recent: Recent | None) -> bool:
        matched = {shown, JobStatus.PENDING if shown == JobStatus.BLOCKED else shown}
        if job.status is JobStatus.FAILED:
            matched.add(JobStatus.FAILED)
        if recent is not None and recent.running:
            matched.add(RUNNING)
        return not self.statuses or not matched.isdisjoint(self.statuses)


@dataclass(frozen=True)
class ListedJob:
    """A job without its work, the status to show for it, and what its newest runs did; None: not read yet."""

    job: Job
    status: str
    recent: Recent | None = None


Narrow = Callable[[Sequence[Job]], Container[JobKey]]
"""Returns those of the jobs that also match; it may read more about all of them at once."""


def list_jobs(
    context: Context,
    asked: JobFilter,
    limit: int,
    after: tuple[int, JobKey] | None = None,
    narrow: Narrow | None = None,
) -> Page[ListedJob, JobKey]:
    """Return a page of jobs in the order of their creation. Raises UnavailableError."""

    def name(at_once: int, behind: tuple[int, JobKey] | None) -> Sequence[tuple[int, JobKey]]:
        query = ListQuery(asked.tenant, at_once, asked.from_at, asked.to_at, behind, asked.oldest_first)
        return name_jobs(context, asked, query)

    page = read_page(name, lambda keys: read_listed(context, asked, keys, narrow), limit, after, most_examined(asked))
    return replace(page, items=tuple(with_recent(context, page.items)))


def most_examined(asked: JobFilter) -> int:
    """Return how many candidates a page examines."""
    return _MAX_LEDGERS if asked.needs_ledgers else MAX_EXAMINED


def all_jobs(context: Context, asked: JobFilter, narrow: Narrow | None = None) -> Sequence[ListedJob] | None:
    """Return all jobs that match; None if there are more than MAX_SORTED candidates. Raises UnavailableError."""
    query = ListQuery[JobKey](asked.tenant, MAX_SORTED + 1, asked.from_at, asked.to_at)
    named = name_jobs(context, asked, query)
    if len(named) > MAX_SORTED:
        return None
    return [one for one in read_listed(context, asked, [key for _, key in named], narrow) if one is not None]


def with_recent(context: Context, found: Sequence[ListedJob]) -> list[ListedJob]:
    """Return listed jobs with what their newest runs did. Raises UnavailableError."""
    known = read_recent(context, [one.job for one in found if one.recent is None])
    return [one if one.recent is not None else replace(one, recent=known[one.job.key]) for one in found]


def read_listed(
    context: Context, asked: JobFilter, keys: Sequence[JobKey], narrow: Narrow | None = None
) -> list[ListedJob | None]:
    """Return each job that matches, as its row stands; ledgers are read only to find it. Raises UnavailableError."""
    there = [job for job in context.store.jobs.read(keys, strong=not asked.is_of_all) if job is not None]
    found = _matching(context, asked, there)
    kept = {one.job.key for one in found} if narrow is None else narrow([one.job for one in found])
    listed = {one.job.key: one for one in found if one.job.key in kept}
    return [listed.get(key) for key in keys]


def _matching(context: Context, asked: JobFilter, jobs: Sequence[Job]) -> list[ListedJob]:
    """Return the jobs that match, with their statuses."""
    statuses, known = shown_statuses(context, jobs), dict[JobKey, Recent]()
    if asked.needs_ledgers:
        known = read_recent(context, [job for job in jobs if asked.matches(job, RUNNING)])
    each = [ListedJob(job, statuses[job.key], known.get(job.key)) for job in jobs]
    return [one for one in each if asked.matches(one.job, one.status, one.recent)]


def read_recent(context: Context, jobs: Sequence[Job]) -> dict[JobKey, Recent]:
    """Return what the newest runs of each job did, up to now; at most two seconds old. Raises UnavailableError.

    The run that holds a job's overlap lock may be under way although many fires were skipped since. It is read too.
    """
    if not jobs:
        return {}
    ledgers = context.store.runs.newest([job.key for job in jobs], ROWS, context.clock.now())
    holders = _holders(context, jobs, {row.id for rows in ledgers for row in rows})
    return {
        job.key: recent_of(rows if job.key not in holders else [*rows, holders[job.key]])
        for job, rows in zip(jobs, ledgers, strict=True)
    }


def _holders(context: Context, jobs: Sequence[Job], known: Container[RunId]) -> dict[JobKey, Run]:
    """Return the runs that hold the locks of jobs and are under way, apart from those that are known."""
    named = [job.holder for job in jobs if job.holder is not None and job.holder not in known]
    found = context.store.runs.read(named, strong=False) if named else []
    return {run.id.job: run for run in found if run is not None and is_under_way(run)}


def name_jobs(context: Context, asked: JobFilter, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
    """Return a page of the jobs that the listing names, as candidates. Raises UnavailableError."""
    if asked.task_id is None:
        return context.store.jobs.listed(asked.parts, query)
    return context.store.jobs.of_task(TaskKey(asked.tenant, asked.task_id), query)


def shown_statuses(context: Context, jobs: Sequence[Job]) -> dict[JobKey, str]:
    """Return the status to show for each job."""
    own = {job.key: run for job in jobs if (run := own_run_of(job)) is not None}
    runs = dict(zip(own, context.store.runs.read(list(own.values())), strict=True)) if own else {}
    return {job.key: shown_status(job, runs.get(job.key)) for job in jobs}


def starts_of(context: Context, jobs: Sequence[Job]) -> dict[JobKey, int]:
    """Return when the runs of jobs that collect submits start (ms); only the runs know. Other jobs cost no read."""
    own = {job.key: run for job in jobs if collects_submits(job.spec) and job.is_open and (run := own_run(job))}
    rows = context.store.runs.read(list(own.values()), strong=False) if own else []
    found = dict(zip(own, rows, strict=True))
    return {key: row.not_before for key, row in found.items() if row is not None and may_collect(row)}


def own_run_of(job: Job) -> RunId | None:
    """Return the run of a one-off that may be live: the run is sent, or the job failed and its run may be retried."""
    timing = job.spec.schedule.timing
    if not isinstance(timing, At) or job.status not in _MAY_RUN or job.next_fire_at is not None:
        return None
    return job.run_id(timing.at)


def shown_status(job: Job, own: Run | None) -> str:
    """Return the status to show: the status of the job's own run while that run is live, otherwise the job's.

    A live run shows `pending` until an attempt has begun: its first, or the first since a manual retry.
    """
    if own is None or own.is_terminal:
        return job.listed_status
    return RUNNING if is_under_way(own) else JobStatus.PENDING
