"""What becomes of a job, or of a run in a cycle, that waits for its parents: pure functions from their states.

Invariant: one write of its row lets it run or skips it, and fixes its fire time. Only then is it planned, like any
one-off. So it has one run, whichever process evaluates its parents, and whenever.
"""

from collections.abc import Sequence
from typing import TypeVar

from timeball.domain.graphs.trigger_rule import CycleStep, JoinDecision, ParentStanding, join
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import FanOut, Guarantor
from timeball.domain.model.terms.dependency import State
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At

Waiting = TypeVar("Waiting", Job, Run)

SOONEST_EVALUATION_MS = 30 * SECOND_MS
"""How soon the parents of a waiting job are evaluated again without a notification."""
AHEAD_MS = 10 * SECOND_MS
"""A fire time further ahead than this lies in the future by the clocks of all processes."""
LATEST_EVALUATION_MS = HOUR_MS
"""How late they are evaluated again, at the latest."""


def evaluated(job: Job, parents: list[ParentStanding], now: int) -> Job:
    """Return the next row of a waiting job at `now`, given the states of its parents.

    Its children are notified already.

    If its blocking run has changed and it has children, that change is written first, and the children are notified.
    """
    fire_at = fire_time(job, parents, now)
    since_at = max(job.created_at, job.waits_since or 0, job.rerun_at or 0)
    begins_at = max(fire_at, since_at)
    ends_at = begins_at + job.spec.dependency_timeout_seconds * SECOND_MS
    joined = _joined(job, parents)
    if joined.step is CycleStep.RUN and job.spec.inherits and fire_at > now + AHEAD_MS:
        fire_at = max((one.fire_at for one in parents if one.fire_at and one.fire_at <= now), default=now)
    if joined.step is CycleStep.WAIT and now >= ends_at:
        joined = JoinDecision(CycleStep.SKIP, Reason.DEPENDENCY_TIMEOUT)
    unblocked = job.unblocked + (job.blocked is not None and joined.blocked is None)
    if joined.blocked != job.blocked and job.has_children:
        return evolve(job, blocked=joined.blocked, unblocked=unblocked, must_notify_children=True, due_at=now)
    timed = with_spec(job, schedule=evolve(job.spec.schedule, timing=At(fire_at)))
    planned = evolve(timed, blocked=joined.blocked, unblocked=unblocked, next_fire_at=fire_at, final_fire_at=fire_at)
    if joined.step is CycleStep.WAIT:
        kept = keeping_ends(planned, parents)
        return evolve(kept, due_at=min(next_evaluation_at(since_at, now), max(ends_at, now + SECOND_MS)))
    let_go = evolve(planned, waits=False, ended=job.ended if _reads_ends(job) else ())
    return evolve(let_go, skips=joined.reason, due_at=fire_at if joined.step is CycleStep.RUN else now)


def cycle_evaluated(run: Run, job: Job, parents: list[ParentStanding], now: int) -> Run:
    """Return the next row of a waiting run at `now`, given its parents' states in its cycle.

    Its children are notified.
    """
    ends_at = run.aging_since + job.spec.dependency_timeout_seconds * SECOND_MS
    joined = _joined(job, parents)
    if joined.step is CycleStep.WAIT and now >= ends_at:
        joined = JoinDecision(CycleStep.SKIP, Reason.DEPENDENCY_TIMEOUT)
    if joined.blocked != run.blocked and job.has_children:
        return evolve(_blocked_run(run, joined), must_notify_children=True, due_at=now)
    match joined.step:
        case CycleStep.RUN:
            begin_at = max(run.not_before, now)
            let_go_at = min(max((parent.over_at or 0 for parent in parents), default=0) or now, now)
            free = evolve(_blocked_run(run, joined), reason=None, let_go_at=let_go_at)
            free = evolve(free, not_before=begin_at, due_at=begin_at, ended=run.ended if _reads_ends(job) else ())
            named = _named_by(job, parents)
            if named is None:
                return evolve(free, waits=False)
            of = RunId(JobKey(job.key.tenant, named[0]), named[1].fire_at or 0, Origin.SCHEDULE)
            return evolve(free, fan=FanOut(of, since=run.budget_at))
        case CycleStep.SKIP:
            return evolve(ended(run, RunState.SKIPPED, now, Guarantor.SCAN, joined.reason), waits=False)
        case CycleStep.WAIT:
            since_at = max(run.created_at, run.budget_at or 0)
            look_at = min(next_evaluation_at(since_at, now), max(ends_at, now + SECOND_MS))
            return evolve(keeping_ends(_blocked_run(run, joined), parents), due_at=look_at)


def keeping_ends(child: Waiting, parents: Sequence[ParentStanding]) -> Waiting:
    """Return a waiting job or run with the ends of its parents that have ended: their rows may expire first."""
    return evolve(child, ended=tuple(one.ended for one in parents if one.ended is not None))


def _reads_ends(job: Job) -> bool:
    """Say whether the runs of a job use the ends of its parents after the parents let it run."""
    return job.spec.pass_parents or job.spec.for_each is not None


def _joined(job: Job, parents: list[ParentStanding]) -> JoinDecision:
    """Decide about a cycle. The run that names its items must have ended too: then no more items can come."""
    joined, named = join(job.spec.trigger_rule, parents), _named_by(job, parents)
    if joined.step is CycleStep.RUN and named is not None and named[1].state in (State.GOING, State.BLOCKED):
        return JoinDecision(CycleStep.WAIT, blocked=named[1].blocked)
    return joined


def _named_by(job: Job, parents: list[ParentStanding]) -> tuple[str, ParentStanding] | None:
    """Return the parent that names the items, with its state; None: the job has no items."""
    parents_in_order = zip(job.spec.depends_on, parents, strict=True)
    return next(((one.job_id, standing) for one, standing in parents_in_order if one.job_id == job.spec.for_each), None)


def _blocked_run(run: Run, joined: JoinDecision) -> Run:
    reason = Reason.WAITING_FOR_PARENTS if joined.blocked is None else Reason.BLOCKED
    unblocked = run.unblocked + (run.blocked is not None and joined.blocked is None)
    return evolve(run, blocked=joined.blocked, unblocked=unblocked, reason=reason)


def fire_time(job: Job, parents: list[ParentStanding], now: int) -> int:
    """Return the fire time as known by now: the latest of the parents' fire times, or the job's own if that is later.

    A parent that was cancelled long before its fire time has none.
    """
    own_at = job.next_fire_at or 0
    known = [one.fire_at for one in parents if one.fire_at is not None and not _is_called_off(one, now)]
    return max(known, default=own_at) if job.spec.inherits else max([own_at, *known])


def _is_called_off(parent: ParentStanding, now: int) -> bool:
    is_cancelled = parent.state is State.CANCELLED or (
        parent.ended is not None and parent.ended.state is State.CANCELLED
    )
    return is_cancelled and parent.fire_at is not None and parent.fire_at > now + AHEAD_MS


def next_evaluation_at(since: int, now: int) -> int:
    """Return when to evaluate again what has waited since an instant: the checks become less frequent."""
    return now + min(max(now - since, SOONEST_EVALUATION_MS), LATEST_EVALUATION_MS)


def with_children_notified(job: Job, now: int) -> Job:
    """Return a job whose children were notified, and that still waits, is planned, or has ended as before."""
    if job.intent is not None:
        return evolve(job, must_notify_children=False)
    going_on_at = now if job.waits else job.next_fire_at
    return evolve(job, must_notify_children=False, due_at=going_on_at if job.status is JobStatus.PENDING else None)


def is_as_notified(row: Job, read: Job) -> bool:
    """Say whether children that were notified of a job as it was read need no further notification of its row."""
    seen = (row.status, row.final_fire_at, row.blocked, row.unblocked, row.rerun_at_version)
    return row.must_notify_children and seen == (
        read.status,
        read.final_fire_at,
        read.blocked,
        read.unblocked,
        read.rerun_at_version,
    )


def is_run_as_notified(row: Run, read: Run) -> bool:
    """Say the same of a waiting run, whose children in its cycle were notified."""
    return row.must_notify_children and (row.state, row.blocked, row.unblocked) == (
        read.state,
        read.blocked,
        read.unblocked,
    )


def woken(job: Job, now: int, parents: Sequence[ParentStanding] | None = None) -> Job | None:
    """Return a waiting job as due now, for an evaluation of its parents; None if it does not wait or needs none.

    The parents of a paused job are evaluated when it is resumed. Until then it stores how `parents` ended, if given.
    """
    if job.waits and job.status is JobStatus.PAUSED and parents is not None:
        return keeping_ends(job, parents)
    if not job.waits or job.status is not JobStatus.PENDING or job.intent is not None:
        return None
    return evolve(job, due_at=now)
