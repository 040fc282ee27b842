"""A backfill: the fires of a past range, run again as an object of its own.

It has its own plan, pace and overlap policy, works on a paused job, and never moves the job's own schedule. Its name is
part of the identity of its runs, so a range may be run again any number of times. It waits until it holds one of its
tenant's slots (backfill_slots.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from itertools import islice

from timeball.domain.dependencies.named_cycle import begun
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, Origin, RunId, fraction_of
from timeball.domain.model.jobs.job import Job, JobStatus, Priority, RuleSet
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.sharing.overlap import LockStep, decide_overlap
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule, fires, next_fire

MAX_INSTANTS = 10_000
"""The most fires of one backfill: a longer range needs two backfills."""

MAX_STARTS = 100
"""The most runs that a backfill starts at once."""

_RECHECK_MS = 5 * SECOND_MS
"""How soon a backfill that waits for its last run rechecks it."""

_RECHECK_FOR_SLOT_MS = 30 * SECOND_MS
"""About how soon a backfill asks for a slot again; if it is among the next in line, it is woken earlier."""


class BackfillStatus(StrEnum):
    """The status of a backfill.

    Waiting: as many backfills of its tenant run as may run at once. Completed: each of its runs was started or skipped;
    some may still be under way.
    """

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Backfill:
    """One row. Instants are in ms."""

    key: BackfillKey
    """The job and the backfill's name."""
    schedule: Schedule
    """The job's schedule at the creation; later changes of the job have no effect on it."""
    first_at: int
    """Its first fire."""
    last_at: int
    """Its last fire."""
    total: int
    """How many fires it has."""
    pace_seconds: int
    """The time between two starts; 0: no pause."""
    overlap: OverlapPolicy
    """The policy for a fire while an earlier run of the backfill is live."""
    shard: int
    """Its shard in the due index."""
    created_at: int
    """When it was created."""
    updated_at: int
    """When it was last changed."""
    status: BackfillStatus = BackfillStatus.WAITING
    """Its status."""
    next_fire_at: int | None = None
    """The first fire without a row; None: all have one."""
    due_at: int | None = None
    """Its position in the due index; None: not in it. A cancelled backfill is due until its runs are stopped."""
    last_run_at: int | None = None
    """The newest fire that was started; None: none was."""
    started: int = 0
    """How many runs were started."""
    skipped: int = 0
    """How many fires were skipped."""
    rules: RuleSet = field(default_factory=RuleSet)
    """The rules by which its fires were computed."""
    depth: int = 0
    """Its depth (depths.py)."""
    generation: int = 1
    """The generation of its job: it is cancelled when the next one begins."""
    graph: bool = False
    """Whether each fire begins a named cycle, in which all jobs that depend on the job run too."""
    version: int = 1
    """Counts the changes of users."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def is_open(self) -> bool:
        """Whether it has, or may get, more runs."""
        return self.status in (BackfillStatus.WAITING, BackfillStatus.RUNNING)

    @property
    def most_at_once(self) -> int:
        """The most runs that one plan starts: MAX_STARTS with the policy `allow` and no pace, else one."""
        return MAX_STARTS if self.overlap is OverlapPolicy.ALLOW and not self.pace_seconds else 1

    @property
    def last_run(self) -> RunId | None:
        """The newest run that was started."""
        return None if self.last_run_at is None else run_id(self, self.last_run_at)


class BackfillStep(Enum):
    """The next step of a due, open backfill."""

    START = auto()
    """Plan its next fires."""
    WAIT = auto()
    """Ask for a slot, and start if there is one."""
    REST = auto()
    """Check again later, because its tenant is disabled."""
    CANCEL = auto()
    """Cancel it, because its job is gone or cancelled."""


@dataclass(frozen=True)
class BackfillPlan:
    """What must be written now. Without rows and without `recheck_at`, nothing is written yet."""

    rows: tuple[Run, ...] = ()
    """The rows of the next fires: runs, or one skipped fire."""
    recheck_at: int | None = None
    """When to plan again (ms), if there are no rows; None: unchanged."""
    stop: Run | None = None
    """The last run, if it must be stopped."""


def run_id(backfill: Backfill, fire_at: int) -> RunId:
    """Return the identity of a backfill's run."""
    return RunId(backfill.key.job, fire_at, Origin.BACKFILL, backfill.key.name, backfill.generation)


def unbounded(schedule: Schedule) -> Schedule:
    """Return a schedule without its window, because a backfill has a range of its own.

    An interval keeps its alignment, and also applies before its anchor.
    """
    timing = schedule.timing
    if isinstance(timing, Every):
        timing = evolve(timing, anchor_at=timing.anchor_at % (timing.seconds * SECOND_MS))
    return Schedule(timing)


def instants(schedule: Schedule, from_at: int, to_at: int) -> Iterator[int]:
    """Yield the fires of a range, including `from_at` and excluding `to_at`, so that adjacent ranges share no fire."""
    return fires(unbounded(schedule), from_at, to_at - 1)


def new_backfill(
    key: BackfillKey,
    job: Job,
    fire_times: list[int],
    pace_seconds: int,
    overlap: OverlapPolicy,
    now: int,
    depth: int = 0,
) -> Backfill:
    """Return the row of a backfill of these fires (at least one, in order).

    Its depth is `depth`, or its job's if higher.
    """
    return Backfill(
        key=key,
        schedule=unbounded(job.spec.schedule),
        depth=max(job.depth, depth),
        generation=job.generation,
        first_at=fire_times[0],
        last_at=fire_times[-1],
        total=len(fire_times),
        pace_seconds=pace_seconds,
        overlap=overlap,
        shard=job.shard,
        created_at=now,
        updated_at=now,
        next_fire_at=fire_times[0],
        due_at=now,
    )


def next_step(backfill: Backfill, job: Job | None, *, is_disabled: bool) -> BackfillStep:
    """Return the next step of a due, open backfill of a job; `is_disabled`: its tenant is."""
    if job is None or job.status is JobStatus.CANCELLED or job.generation != backfill.generation:
        return BackfillStep.CANCEL
    if is_disabled:
        return BackfillStep.REST
    return BackfillStep.WAIT if backfill.status is BackfillStatus.WAITING else BackfillStep.START


def plan_backfill(backfill: Backfill, last: Run | None, now: int) -> BackfillPlan:
    """Plan an open backfill that holds a slot; `last` is the row of its newest run, as read strongly.

    With the policy `allow`, starts follow each other at the pace. With any other policy the last run must end first, or
    is stopped, or the fire is skipped.
    """
    fire_times = _next_fires(backfill)
    runs = tuple(backfill_run(backfill, fire_at, now) for fire_at in fire_times)
    overlap = decide_overlap(backfill.overlap, runs[0], last, None)
    if overlap.step in (LockStep.START, LockStep.ACQUIRE):
        return BackfillPlan(runs)
    if _turn(backfill, now) > now:
        return BackfillPlan()  # a scan looks ahead: the last run may end before the backfill is due
    if overlap.step is LockStep.SKIP:
        return BackfillPlan((skipped_backfill_run(backfill, fire_times[0], now),))
    wait_ms = max(_pace_ms(backfill), _RECHECK_MS)
    return BackfillPlan(recheck_at=now + wait_ms, stop=last if overlap.stop_holder else None)


def advanced(backfill: Backfill, rows: Sequence[Run], now: int) -> Backfill:
    """Return the backfill after the rows of its next fires, as they are stored: an earlier plan may have made others.

    After the last fire it is completed and leaves the due index.
    """
    runs = [row for row in rows if row.state is not RunState.SKIPPED]
    through_at = rows[-1].id.fire_at
    is_over = through_at == backfill.last_at
    return evolve(
        backfill,
        updated_at=now,
        status=BackfillStatus.COMPLETED if is_over else BackfillStatus.RUNNING,
        next_fire_at=None if is_over else next_fire(backfill.schedule, through_at),
        due_at=None if is_over else _turn(backfill, now) + _pace_ms(backfill),
        last_run_at=runs[-1].id.fire_at if runs else backfill.last_run_at,
        started=backfill.started + len(runs),
        skipped=backfill.skipped + len(rows) - len(runs),
    )


def waiting(backfill: Backfill, now: int) -> Backfill:
    """Return the backfill without a slot, due later. The times of many backfills are spread out."""
    spread = 0.75 + fraction_of(backfill.key, backfill.revision) / 2
    return evolve(backfill, due_at=now + int(_RECHECK_FOR_SLOT_MS * spread))


def cancelled_backfill(backfill: Backfill, now: int) -> Backfill:
    """Return the backfill as cancelled, due until its live runs are stopped."""
    return evolve(
        backfill,
        version=backfill.version + 1,
        status=BackfillStatus.CANCELLED,
        updated_at=now,
        due_at=now,
    )


def backfill_run(backfill: Backfill, fire_at: int, now: int) -> Run:
    """Return the run of one fire of a backfill, which starts when the backfill is due. It gives way to live runs.

    With a graph it begins a named cycle: it waits, due, until the other jobs of the cycle have their rows.
    """
    run = Run(
        id=run_id(backfill, fire_at),
        state=RunState.QUEUED,
        decided_at_version=1,
        priority=Priority.LOW,
        shard=backfill.shard,
        not_before=_turn(backfill, now),
        created_at=now,
        depth=backfill.depth,
    )
    return evolve(begun(run), due_at=run.not_before) if backfill.graph else run


def skipped_backfill_run(backfill: Backfill, fire_at: int, now: int, reason: Reason = Reason.OVERLAP) -> Run:
    """Return the row of a fire of a backfill that does not run, by default because of the previous run."""
    run = backfill_run(backfill, fire_at, now)
    return evolve(run, state=RunState.SKIPPED, finished_at=now, reason=reason, root=None, waits=False, due_at=None)


def possible_runs(backfill: Backfill) -> list[RunId]:
    """Return the runs that a backfill may have by now, including the runs of a plan that has not advanced it yet."""
    through_at = max(_next_fires(backfill), default=backfill.last_at)
    return [run_id(backfill, at) for at in fires(backfill.schedule, backfill.first_at, through_at)]


def refused_runs(backfill: Backfill, now: int) -> list[Run]:
    """Return rows that block the fires which a plan from before a backfill's cancel may still insert."""
    fire_times = _next_fires(backfill)
    return [skipped_backfill_run(backfill, fire_at, now, Reason.BACKFILL_CANCELLED) for fire_at in fire_times]


def _next_fires(backfill: Backfill) -> tuple[int, ...]:
    """Return the fires that the next plan starts at most; none if the backfill is completed."""
    if backfill.next_fire_at is None:
        return ()
    return tuple(islice(fires(backfill.schedule, backfill.next_fire_at, backfill.last_at), backfill.most_at_once))


def _turn(backfill: Backfill, now: int) -> int:
    """Return when the next start is due (ms): a scan plans it a little ahead."""
    return max(backfill.due_at or now, now)


def _pace_ms(backfill: Backfill) -> int:
    return backfill.pace_seconds * SECOND_MS
