"""The next row of a job, or of a run in a cycle, that waits for its parents: pure functions of their states.

Invariant: one write of its row lets it run or skips it, and fixes its fire time. Only then is it planned, like any
one-off. So it has one run, whichever process evaluates its parents, and whenever.
"""

from collections.abc import Sequence
from enum import StrEnum, auto
from typing import TypeVar

from timeball.domain.dependencies.trigger_rule import CycleStep, JoinDecision, ParentStanding, join
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import CycleId, JobKey
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, withdrawn
from timeball.domain.model.runs.values import FanOut, Guarantor
from timeball.domain.model.terms.dependency import Ended, State
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At

Waiting = TypeVar("Waiting", Job, Run)

SOONEST_EVALUATION_MS = 30 * SECOND_MS
"""How soon the parents of a waiting job are evaluated again without a notification."""
AHEAD_MS = 10 * SECOND_MS
"""A fire time further ahead than this lies in the future by the clocks of all processes."""
LATEST_EVALUATION_MS = HOUR_MS
"""How late they are evaluated again, at the latest."""


class Need(StrEnum):
    """The next step that a due job or run needs for its graph."""

    NOTIFY = auto()
    """Its children must learn of its state."""
    EVALUATE = auto()
    """It waits: its parents must be evaluated."""
    START = auto()
    """It waits for no parent: the job may be planned, the run sent."""
    NOTHING = auto()
    """It waits, but not to be evaluated: the job is paused or being changed, the run is not queued."""


def need_of(row: Job | Run) -> Need:
    """Classify a due job or run."""
    if row.must_notify_children:
        return Need.NOTIFY
    if isinstance(row, Run) and row.state is not RunState.QUEUED:
        return Need.NOTHING
    if not row.waits:
        return Need.START
    return Need.EVALUATE if isinstance(row, Run) or _is_ready(row) else Need.NOTHING


def decide(row: Job | Run, job: Job, parents: Sequence[ParentStanding], ends_at: int, now: int) -> JoinDecision:
    """Decide about a job, or its run in a cycle, that waits until `ends_at` at the latest.

    The run that names its items must have ended too: then no more items can come. If its children have not learned
    what blocks it now, they are notified before it moves.
    """
    decision, named = join(job.spec.trigger_rule, parents), _named_by(job, parents)
    if decision.step is CycleStep.RUN and named is not None and named[1].state in (State.GOING, State.BLOCKED):
        decision = JoinDecision(CycleStep.WAIT, blocked=named[1].blocked)
    if decision.step is CycleStep.WAIT and now >= ends_at:
        decision = JoinDecision(CycleStep.SKIP, Reason.DEPENDENCY_TIMEOUT)
    is_news = decision.blocked != row.blocked and job.has_children
    return evolve(decision, step=CycleStep.NOTIFY) if is_news else decision


def job_evaluated(job: Job, parents: Sequence[ParentStanding], now: int) -> Job:
    """Return the next row of a waiting job, whose children know its state, given the states of its parents."""
    fire_at = fire_time(job, parents, now)
    since_at = max(job.created_at, job.waits_since or 0, job.rerun_at or 0)
    ends_at = max(fire_at, since_at) + job.spec.dependency_timeout_seconds * SECOND_MS
    decision = decide(job, job, parents, ends_at, now)
    marked = _marked(job, decision)
    match decision.step:
        case CycleStep.NOTIFY:
            return _notifying(marked, now)
        case CycleStep.WAIT:
            return _waiting_on(_at_fire(marked, fire_at), parents, since_at, ends_at, now)
        case CycleStep.SKIP:
            return _let_go(_at_fire(marked, fire_at), decision, due_at=now)
        case CycleStep.RUN:
            start_at = _start_of(job, parents, fire_at, now)
            return _let_go(_at_fire(marked, start_at), decision, due_at=start_at)


def run_evaluated(run: Run, job: Job | None, parents: Sequence[ParentStanding], now: int) -> Run:
    """Return the next row of a waiting run, whose children know its state, given its parents' states in its cycle."""
    if job is None:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_CANCELLED)
    if (after := _regardless_of_parents(run, job, now)) is not None:
        return after
    ends_at = run.aging_since + job.spec.dependency_timeout_seconds * SECOND_MS
    decision = decide(run, job, parents, ends_at, now)
    reason = Reason.WAITING_FOR_PARENTS if decision.blocked is None else Reason.BLOCKED
    marked = evolve(_marked(run, decision), reason=reason)
    match decision.step:
        case CycleStep.NOTIFY:
            return _notifying(marked, now)
        case CycleStep.WAIT:
            return _waiting_on(marked, parents, max(run.created_at, run.budget_at or 0), ends_at, now)
        case CycleStep.SKIP:
            return evolve(ended(run, RunState.SKIPPED, now, Guarantor.SCAN, decision.reason), waits=False)
        case CycleStep.RUN:
            return _released(marked, job, parents, now)


def _regardless_of_parents(run: Run, job: Job, now: int) -> Run | None:
    """Return a waiting run as its job alone decides; None: its parents decide.

    A pause takes an unstarted run back, and a resume decides about it; but not about a run of a named cycle, which is
    skipped. A run of a rerun has been started: it goes on, as a retry does.
    """
    if job.status is JobStatus.CANCELLED:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_CANCELLED)
    if not job.owns(run.id):
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.EARLIER_GENERATION)
    if job.status is not JobStatus.PAUSED or not run.is_unstarted or run.begins_cycle:
        return None
    if run.root is None:
        return withdrawn(run)
    return evolve(ended(run, RunState.SKIPPED, now, Guarantor.SCAN, Reason.PAUSED), waits=False)


def is_early(run: Run, job: Job, now: int) -> bool:
    """Say whether a waiting run cannot be evaluated yet: its parents' latest cycles are judged at its start."""
    return job.spec.judges_latest and run.root is None and now < run.not_before


def stopped_with_backfill(run: Run, now: int) -> Run:
    """Return a waiting run of a named cycle whose backfill was cancelled."""
    return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.BACKFILL_CANCELLED)


def keeping_ends(child: Waiting, parents: Sequence[ParentStanding]) -> Waiting:
    """Return a waiting job or run with the ends of its parents that have ended: their rows may expire first."""
    return evolve(child, ended=tuple(one.ended for one in parents if one.ended is not None))


def fire_time(job: Job, parents: Sequence[ParentStanding], now: int) -> int:
    """Return the fire time as known by now: the latest of the parents' fire times, or the job's own if that is later.

    A parent that was cancelled long before its fire time has none.
    """
    own_at = job.next_fire_at or 0
    known = [one.fire_at for one in parents if one.fire_at is not None and not _is_called_off(one, now)]
    return max(known, default=own_at) if job.spec.inherits else max([own_at, *known])


def next_evaluation_at(since: int, now: int) -> int:
    """Return when to evaluate again what has waited since an instant: the checks become less frequent."""
    return now + min(max(now - since, SOONEST_EVALUATION_MS), LATEST_EVALUATION_MS)


def with_children_notified(job: Job, now: int) -> Job:
    """Return a job whose children were notified, and that still waits, is planned, or has ended as before."""
    if job.intent is not None:
        return evolve(job, must_notify_children=False)
    going_on_at = now if job.waits else job.next_fire_at
    return evolve(job, must_notify_children=False, due_at=going_on_at if job.status is JobStatus.PENDING else None)


def is_as_notified(row: Job | Run, read: Job | Run) -> bool:
    """Say whether children that were notified of a job or run as it was read need no further notification of its row.

    The children of a run are those in its cycle.
    """
    return row.must_notify_children and _seen_by_children(row) == _seen_by_children(read)


def woken(job: Job, now: int, parents: Sequence[ParentStanding] | None = None) -> Job | None:
    """Return a waiting job as due now, for an evaluation of its parents; None if it does not wait or needs none.

    The parents of a paused job are evaluated when it is resumed. Until then it stores how `parents` ended, if given.
    """
    if job.waits and job.status is JobStatus.PAUSED and parents is not None:
        return keeping_ends(job, parents)
    return evolve(job, due_at=now) if job.waits and _is_ready(job) else None


def _marked(row: Waiting, decision: JoinDecision) -> Waiting:
    """Return a job or run with what blocks it now; it counts how often it was unblocked."""
    is_freed = row.blocked is not None and decision.blocked is None
    return evolve(row, blocked=decision.blocked, unblocked=row.unblocked + is_freed)


def _notifying(row: Waiting, now: int) -> Waiting:
    return evolve(row, must_notify_children=True, due_at=now)


def _waiting_on(row: Waiting, parents: Sequence[ParentStanding], since_at: int, ends_at: int, now: int) -> Waiting:
    """Return a job or run that waits since an instant, and until another at the latest, as it goes on waiting."""
    due_at = min(next_evaluation_at(since_at, now), max(ends_at, now + SECOND_MS))
    return evolve(keeping_ends(row, parents), due_at=due_at)


def _at_fire(job: Job, fire_at: int) -> Job:
    timed = with_spec(job, schedule=evolve(job.spec.schedule, timing=At(fire_at)))
    return evolve(timed, next_fire_at=fire_at, final_fire_at=fire_at)


def _start_of(job: Job, parents: Sequence[ParentStanding], fire_at: int, now: int) -> int:
    """Return the fire time of a job that may run: a time that it inherits and that lies ahead does not delay it."""
    if not job.spec.inherits or fire_at <= now + AHEAD_MS:
        return fire_at
    return max((one.fire_at for one in parents if one.fire_at and one.fire_at <= now), default=now)


def _let_go(job: Job, decision: JoinDecision, due_at: int) -> Job:
    return evolve(job, waits=False, ended=_used_ends(job, job), skips=decision.reason, due_at=due_at)


def _used_ends(row: Job | Run, job: Job) -> tuple[Ended, ...]:
    """Return the ends of its parents that the runs of a job still use after the parents let it run."""
    return row.ended if job.spec.pass_parents or job.spec.for_each is not None else ()


def _released(run: Run, job: Job, parents: Sequence[ParentStanding], now: int) -> Run:
    """Return a run that its parents let run. A run with items goes on waiting: for the list of its items.

    A run whose parents are all outside its named cycle has waited for none.
    """
    begin_at = max(run.not_before, now)
    over_at = max((parent.over_at or 0 for parent in parents), default=0) or now
    is_let_go = any(parent.state is not State.OUTSIDE for parent in parents)
    let_go_at = min(over_at, now) if is_let_go else None
    free = evolve(run, reason=None, ended=_used_ends(run, job), let_go_at=let_go_at)
    free = evolve(free, not_before=begin_at, due_at=begin_at)
    named = _named_by(job, parents)
    if named is None or named[1].state is State.OUTSIDE:
        return evolve(free, waits=False)
    key, parent = named
    generation = parent.generation if parent.ended is None else parent.ended.generation
    cycle = CycleId(parent.fire_at or 0) if run.root is None else run.id.cycle
    of = cycle.run_of(key, generation)
    return evolve(free, fan=FanOut(of, since=run.budget_at))


def _named_by(job: Job, parents: Sequence[ParentStanding]) -> tuple[JobKey, ParentStanding] | None:
    """Return the parent that names the items, with its state; None: the job has no items."""
    in_order = zip(job.spec.parent_keys, parents, strict=True)
    return next(((key, standing) for key, standing in in_order if key.job_id == job.spec.for_each), None)


def _is_called_off(parent: ParentStanding, now: int) -> bool:
    is_cancelled = parent.state is State.CANCELLED or (
        parent.ended is not None and parent.ended.state is State.CANCELLED
    )
    return is_cancelled and parent.fire_at is not None and parent.fire_at > now + AHEAD_MS


def _seen_by_children(row: Job | Run) -> tuple[object, ...]:
    if isinstance(row, Run):
        return row.state, row.blocked, row.unblocked
    return row.status, row.final_fire_at, row.blocked, row.unblocked, row.rerun_at_version


def _is_ready(job: Job) -> bool:
    return job.status is JobStatus.PENDING and job.intent is None
