"""A bulk operation: one action on all jobs of a tenant that match, with progress, paced, to be cancelled.

It goes through the jobs in the order of their creation. Its row names the jobs whose turn it is, and how many of those
are done. So whoever repeats a turn asks the filter of nobody again, and each job is counted once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import OperationKey
from timeball.domain.model.jobs.job import OPEN, JobStatus
from timeball.domain.model.tenants.actor import NOBODY, Actor
from timeball.domain.time.instants import SECOND_MS

MAX_FAILURES = 100
"""Of the jobs for which an operation failed, so many are named."""

MAX_TRIES = 60
"""After so many tries in vain an operation leaves a job behind, as failed."""

_TRY_AGAIN_MS = 5 * SECOND_MS
"""How soon it is tried again where the store did not answer."""

_SETTLE_MS = 2 * SECOND_MS
"""How long after its creation an operation looks for jobs at least: the listing may lag behind those just created."""


_EARLY_MS = SECOND_MS // 2
"""So early it is an operation's turn: those that have one each second come to the tick of that second."""


class OperationAction(StrEnum):
    """What is done to each job; `retry` is for its newest run, if that failed for good, `rerun` for that of a cycle."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    TRIGGER = "trigger"
    RETRY = "retry"
    RERUN = "rerun"


class RerunMode(StrEnum):
    """What of a cycle is run again."""

    FAILED = "failed"
    FAILED_AND_DOWNSTREAM = "failedAndDownstream"
    ALL = "all"


@dataclass(frozen=True)
class Rerun:
    """The cycle that is run again: by which job it was asked for, its fire time, and what of it."""

    job_id: str
    fire_at: int
    mode: RerunMode


class OperationStatus(StrEnum):
    """Where an operation stands. Failed: it is through, and some of its jobs could not be dealt with."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Fault(StrEnum):
    """Why an operation failed for a job: it has ended, is cancelled or gone; or was being run, or what went wrong."""

    JOB_ENDED = "job_ended"
    JOB_CANCELLED = "job_cancelled"
    JOB_GONE = "job_gone"
    UNDER_WAY = "under_way"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


@dataclass(frozen=True)
class Failure:
    """A job for which an operation failed, and why."""

    job_id: str
    fault: Fault


@dataclass(frozen=True)
class Match:
    """Which jobs: those with all of these tags, of this task, in this status as the API shows it; nothing said: all."""

    tags: Mapping[str, str] = field(default_factory=dict)
    task_id: str | None = None
    status: str | None = None


@dataclass(frozen=True, order=True)
class Place:
    """Where a job stands among those of its tenant: when it was created (ms), and its id."""

    at: int = 0
    job_id: str = ""


@dataclass(frozen=True)
class Operation:
    """One row. It is for jobs created until `created_at`; a `rerun` for those of a cycle, which are its one batch.

    `batch` are the jobs whose turn it is, of which the first `turn` are dealt with: those that matched of the jobs
    behind the place `behind`, up to `through`. `tries` counts how often the next one could not be dealt with in a row;
    `is_begun` says whether it has looked for any yet.
    It stands in the due index while it runs. `fingerprint` is a digest of what was asked for, `depth` the
    generation of what it triggers (generations.py).
    """

    key: OperationKey
    action: OperationAction
    match: Match
    per_second: int
    shard: int
    created_at: int
    updated_at: int
    by: Actor = NOBODY
    fingerprint: str | None = None
    depth: int = 0
    rerun: Rerun | None = None
    status: OperationStatus = OperationStatus.RUNNING
    due_at: int | None = None
    behind: Place = field(default_factory=Place)
    through: Place = field(default_factory=Place)
    batch: tuple[str, ...] = ()
    turn: int = 0
    tries: int = 0
    is_begun: bool = False
    matched: int = 0
    done: int = 0
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    version: int = 1
    revision: int = 1

    @property
    def is_running(self) -> bool:
        """Whether it has, or may find, more jobs to deal with."""
        return self.status is OperationStatus.RUNNING

    def is_next(self, now: int) -> bool:
        """Say whether it is its turn at an instant (ms): a scan looks further ahead than that."""
        return self.is_running and (self.due_at or 0) <= now + _EARLY_MS

    @property
    def actor(self) -> Actor:
        """Who changes the jobs: whoever asked for the operation, by this operation."""
        return evolve(self.by, operation=self.key.name)

    @property
    def statuses(self) -> frozenset[JobStatus]:
        """In which statuses jobs are meant where `match` does not say: those in which the action makes sense."""
        if self.action is OperationAction.RETRY:
            return frozenset(JobStatus) - {JobStatus.CANCELLED}
        return OPEN

    @property
    def next_jobs(self) -> tuple[str, ...]:
        """Those of its batch that are next: at the most one second's."""
        return self.batch[self.turn : self.turn + self.per_second]


@dataclass(frozen=True)
class Look:
    """What a look at the listing found: the jobs that match, up to which place, and whether nothing lies behind."""

    names: tuple[str, ...]
    through: Place
    is_last: bool


def treated(
    row: Operation, begun: Operation, failures: Sequence[Failure], count: int, now: int, *, is_stuck: bool
) -> Operation | None:
    """Return the row with `count` more jobs dealt with since it was read as `begun`; None if somebody else did that.

    `failures` are those of them for which it failed; `is_stuck`: the next one could not be dealt with just now. One
    that was cancelled meanwhile stays so: what was under way counts.
    """
    if (row.behind, row.through, row.turn) != (begun.behind, begun.through, begun.turn):
        return None
    paced_at = max(begun.due_at or now, now) + count * SECOND_MS // row.per_second
    due_at = max(paced_at, now + _TRY_AGAIN_MS) if is_stuck else paced_at
    return evolve(
        row,
        updated_at=now,
        turn=row.turn + count,
        tries=(begun.tries if count == 0 else 0) + 1 if is_stuck else 0,
        done=row.done + count - len(failures),
        failed=row.failed + len(failures),
        failures=(*row.failures, *failures)[:MAX_FAILURES],
        due_at=due_at if row.is_running else None,
    )


def looked(row: Operation, look: Look, now: int) -> Operation:
    """Return a running operation whose batch is dealt with as one that has the next batch; or that is over.

    The next look begins where this one's new part began: all is looked at twice, for a job that somebody moves from one
    status to another may be missed while that happens. It is over when a look finds nothing new, and not before each of
    its jobs is sure to be listed.
    """
    if look.is_last and not look.names and look.through == row.through:
        if not row.is_begun:
            return evolve(row, is_begun=True)
        later = evolve(row, due_at=row.created_at + _SETTLE_MS)
        if not later.is_next(now):
            return later
        status = OperationStatus.FAILED if row.failed else OperationStatus.SUCCEEDED
        return evolve(row, updated_at=now, status=status, due_at=None, batch=())
    return evolve(
        row,
        updated_at=now,
        is_begun=True,
        behind=row.through,
        through=look.through,
        batch=look.names,
        turn=0,
        matched=row.matched + len(look.names),
    )


def cancelled_operation(row: Operation, now: int) -> Operation:
    """Return a running operation as cancelled: it deals with no more jobs than those that it is at."""
    return evolve(row, version=row.version + 1, updated_at=now, status=OperationStatus.CANCELLED, due_at=None)
