"""A bulk operation: one action on all matching jobs of a tenant, with progress, at a limited pace, cancellable.

It processes the jobs in the order of their creation. Its row names the jobs of the current batch, and how many of them
are done. So a repeat of a batch does not evaluate the filter again, and each job is counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from timeball.domain.dependencies.named_cycle import cycle_text
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import CycleId, OperationKey, Origin
from timeball.domain.model.jobs.job import OPEN, JobStatus
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.dependency import Children
from timeball.domain.time.instants import SECOND_MS

MAX_FAILURES = 100
"""How many of the failed jobs an operation names."""

MAX_TRIES = 60
"""After this many failed tries an operation gives a job up, as failed."""

_TRY_AGAIN_MS = 5 * SECOND_MS
"""How soon a job is tried again if the store did not answer."""

_SETTLE_MS = 2 * SECOND_MS
"""How long after its creation an operation searches for jobs at least: the listing may lag behind new jobs."""


_EARLY_MS = SECOND_MS // 2
"""How early an operation may continue: operations that are due each second are ready at the tick of that second."""


class OperationAction(StrEnum):
    """The action on each job.

    `retry` applies to its newest run if that failed for good, `rerun` to its run of a cycle. `recover` repairs the
    effects of lost rows and messages.
    """

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    TRIGGER = "trigger"
    RETRY = "retry"
    RERUN = "rerun"
    RECOVER = "recover"


class RerunMode(StrEnum):
    """The part of a cycle that is run again."""

    FAILED = "failed"
    FAILED_AND_DOWNSTREAM = "failedAndDownstream"
    ALL = "all"


@dataclass(frozen=True)
class Rerun:
    """The cycle that is run again."""

    job_id: str
    """The job for which the rerun was asked."""
    fire_at: int
    """The fire time of the cycle (ms)."""
    mode: RerunMode
    """The part that is run again."""
    origin: Origin = Origin.SCHEDULE
    """Why the cycle exists."""
    series: str = ""
    """The name of a named cycle; empty: it has none."""

    @property
    def cycle(self) -> CycleId:
        """The cycle."""
        return CycleId(self.fire_at, self.origin, self.series)

    @property
    def cycle_id(self) -> str:
        """The text that names the cycle to people."""
        return cycle_text(self.cycle)


class OperationStatus(StrEnum):
    """The status of an operation. Failed means that it is complete, and that it failed for some of its jobs."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobFault(StrEnum):
    """Why an operation failed for a job."""

    JOB_ENDED = "job_ended"
    JOB_CANCELLED = "job_cancelled"
    JOB_GONE = "job_gone"
    HAS_CHILDREN = "has_children"
    UNDER_WAY = "under_way"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


@dataclass(frozen=True)
class Failure:
    """A job for which an operation failed."""

    job_id: str
    """The job's id."""
    fault: JobFault
    """Why."""


@dataclass(frozen=True)
class JobMatch:
    """The jobs that an operation applies to: those that meet all conditions, or all jobs without conditions."""

    tags: Mapping[str, str] = field(default_factory=dict)
    """Jobs with all of these tags."""
    task_id: str | None = None
    """Jobs of this task; None: with any task or none."""
    status: str | None = None
    """Jobs in this status, as the API shows it; None: by the action (`Operation.statuses`)."""


@dataclass(frozen=True, order=True)
class JobPosition:
    """A job's position among the jobs of its tenant."""

    at: int = 0
    """When the job was created (ms)."""
    job_id: str = ""
    """The job's id."""


@dataclass(frozen=True)
class Operation:
    """One row. Instants are in ms."""

    key: OperationKey
    """The tenant and the operation's name."""
    action: OperationAction
    """What it does to each job."""
    match: JobMatch
    """The jobs that it applies to."""
    per_second: int
    """How many jobs it processes in a second."""
    shard: int
    """Its shard in the due index."""
    created_at: int
    """When it was created; it applies to jobs created until then."""
    updated_at: int
    """When it was last changed."""
    by: Actor = NO_ACTOR
    """The actor that asked for it."""
    fingerprint: str | None = None
    """A digest of what was asked for; None: unknown."""
    depth: int = 0
    """The depth of what it triggers (depths.py)."""
    rerun: Rerun | None = None
    """The cycle that is run again: its jobs are listed when it is asked for; None: no rerun."""
    since: int | None = None
    """From when on rows may be lost or old, if it is a recovery (ms); None: it is none."""
    until: int | None = None
    """Until when, if it repeats a recovery: when that one was asked for (ms); None: until its own creation."""
    of_ended: bool = False
    """It is a recovery that goes through the jobs that have ended, after those that are open."""
    children: Children | None = None
    """The effect of a cancel on the open children of its jobs; None: a job that has some is not cancelled."""
    status: OperationStatus = OperationStatus.RUNNING
    """Its status."""
    due_at: int | None = None
    """Its position in the due index, while it runs; None: not in it."""
    behind: JobPosition = field(default_factory=JobPosition)
    """The position after which its batch begins."""
    through: JobPosition = field(default_factory=JobPosition)
    """The position at which its batch ends."""
    batch: tuple[str, ...] = ()
    """The jobs of the current batch: those that match between `behind` and `through`."""
    position: int = 0
    """How many jobs of the batch are done."""
    lists: tuple[str, ...] = ()
    """The names of the stored lists of the jobs of a rerun, a batch each; empty: the only batch has them all."""
    listed: int = 0
    """How many of these lists were the batch before."""
    tries: int = 0
    """How often in a row the next job could not be processed."""
    is_begun: bool = False
    """It has searched for jobs at least once."""
    matched: int = 0
    """How many jobs have matched."""
    done: int = 0
    """For how many jobs it succeeded."""
    failed: int = 0
    """For how many jobs it failed."""
    failures: tuple[Failure, ...] = ()
    """The first of the jobs for which it failed."""
    version: int = 1
    """Counts the changes of users."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def is_running(self) -> bool:
        """Whether it has, or may find, more jobs to process."""
        return self.status is OperationStatus.RUNNING

    def is_next(self, now: int) -> bool:
        """Say whether it continues at an instant (ms): a scan looks further ahead than that."""
        return self.is_running and (self.due_at or 0) <= now + _EARLY_MS

    @property
    def actor(self) -> Actor:
        """The actor of the changes to jobs: the one that asked for the operation, marked with the operation."""
        return evolve(self.by, operation=self.key.name)

    @property
    def statuses(self) -> frozenset[JobStatus]:
        """The statuses of the jobs that it applies to if `match` names none: those in which the action makes sense."""
        if self.action is OperationAction.RETRY:
            return frozenset(JobStatus) - {JobStatus.CANCELLED}
        return frozenset(JobStatus) - OPEN if self.of_ended else OPEN

    @property
    def lost_by(self) -> int:
        """Until when rows may be lost or old (ms), if it is a recovery."""
        return self.created_at if self.until is None else self.until

    @property
    def next_jobs(self) -> tuple[str, ...]:
        """The next jobs of its batch: at most those of one second."""
        return self.batch[self.position : self.position + self.per_second]


@dataclass(frozen=True)
class NextBatch:
    """A page of the listing."""

    names: tuple[str, ...]
    """The jobs that match."""
    through: JobPosition
    """The position of the last job of the page."""
    is_last: bool
    """The listing has no later job."""


def progressed(
    row: Operation, begun: Operation, failures: Sequence[Failure], count: int, now: int, *, is_stuck: bool
) -> Operation | None:
    """Return the row with `count` more jobs done since it was read as `begun`; None if another process has done them.

    `failures` are the failed ones among them; `is_stuck`: the next job could not be processed just now. An operation
    that was cancelled meanwhile stays cancelled, and jobs that were under way count.
    """
    if _is_at(row) != _is_at(begun):
        return None
    paced_at = max(begun.due_at or now, now) + count * SECOND_MS // row.per_second
    due_at = max(paced_at, now + _TRY_AGAIN_MS) if is_stuck else paced_at
    return evolve(
        row,
        updated_at=now,
        position=row.position + count,
        tries=(begun.tries if count == 0 else 0) + 1 if is_stuck else 0,
        done=row.done + count - len(failures),
        failed=row.failed + len(failures),
        failures=(*row.failures, *failures)[:MAX_FAILURES],
        due_at=due_at if row.is_running else None,
    )


def _is_at(row: Operation) -> tuple[object, ...]:
    return row.of_ended, row.behind, row.through, row.listed, row.position


def with_next_batch(row: Operation, found: NextBatch, now: int) -> Operation:
    """Return a running operation whose batch is done, with the next batch, or ended.

    The next page begins where the new part of this one began, so each part is read twice: a job that moves from one
    status to another may be missed meanwhile. The operation ends when a page has nothing new, and not before all of its
    jobs are certain to be listed.
    """
    if found.is_last and not found.names and found.through == row.through:
        if not row.is_begun:
            return evolve(row, is_begun=True)
        later = evolve(row, due_at=row.created_at + _SETTLE_MS)
        if not later.is_next(now):
            return later
        if row.since is not None and not row.of_ended:
            start = JobPosition()
            return evolve(row, updated_at=now, of_ended=True, behind=start, through=start, batch=(), position=0)
        status = OperationStatus.FAILED if row.failed else OperationStatus.SUCCEEDED
        return evolve(row, updated_at=now, status=status, due_at=None, batch=())
    return evolve(
        row,
        updated_at=now,
        is_begun=True,
        behind=row.through,
        through=found.through,
        batch=found.names,
        position=0,
        listed=row.listed + (row.rerun is not None),
        matched=row.matched if row.rerun is not None else row.matched + len(found.names),
    )


def cancelled_operation(row: Operation, now: int) -> Operation:
    """Return a running operation as cancelled: it processes no jobs beyond those that are under way."""
    return evolve(row, version=row.version + 1, updated_at=now, status=OperationStatus.CANCELLED, due_at=None)
