"""The decision of an executor about a run that a message names: one pure function over the rows as they were read.

The message only nominates. A run is claimed if it waits to be started, or if the lease of its last attempt has expired.
The overlap policy is a separate decision (overlap.py), taken about the runs that will be claimed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.attempts.circuit_breaker import Admission
from timeball.domain.attempts.retry import exhausted, last_begin_at, patience_ms
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState, Waiting
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.planning.planner import jitter_ms, may_start_at
from timeball.domain.sharing.overlap import LockStep
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import is_occurrence

CLAIM_AHEAD_MS: Final = 500
"""How long before its instant a run is claimed, at least. A claim of ten runs normally takes a tenth of that."""

EARLIEST_CLAIM_MS: Final = 2 * CLAIM_AHEAD_MS
"""How long before its instant a run is claimed, at the most. A process that claims it later knows of each freeze that
is in force at the instant (`BEGINS_AFTER_MS`). A message may come earlier: an old message of a run that was retried."""


class ClaimAction(StrEnum):
    """The action of an executor on a run and its message."""

    CLAIM = "claim"
    """Claim it."""
    KEEP = "keep"
    """Continue with it: it is claimed already."""
    PUT_OFF = "put_off"
    """Put it off to a later start, in the due index."""
    MOVE = "move"
    """Move it to a later day, in the due index."""
    DEFER = "defer"
    """Let it wait in the due index for its resource."""
    LINE_UP = "line_up"
    """Let it wait in the line of a limiter."""
    HOLD = "hold"
    """Let it wait in the due index for the end of a freeze."""
    END = "end"
    """End it."""
    WITHDRAW = "withdraw"
    """Take it back, for its job is paused."""
    WAIT = "wait"
    """Let it wait, and bring its message back then."""
    STAY = "stay"
    """Let it wait for its job's overlap lock."""
    RETURN = "return"
    """Return its message unchanged, for lack of time."""
    DROP = "drop"
    """Delete its message."""


@dataclass(frozen=True)
class Decision:
    """An action with its details. Instants are in ms."""

    action: ClaimAction
    """What the executor does."""
    state: RunState | None = None
    """The terminal state; only with END."""
    reason: Reason | None = None
    """Why; only with END and DEFER."""
    wait_until: int | None = None
    """Until when it waits; None: with actions that do not wait."""
    moved_to: int | None = None
    """Where its calendar moves it, apart from jitter; only with MOVE."""
    starts_at: int | None = None
    """When it may begin; only with CLAIM. None: at its instant."""
    waiting: Waiting | None = None
    """The line that it joins; only with LINE_UP."""
    slots: tuple[str, ...] = ()
    """The limiters that have given it a slot."""
    keeps_slots: bool = False
    """The limiters could not be asked, and nothing else holds it: it asks again in a moment."""
    event: str | None = None
    """The name of the work with the event that lets it begin; only with CLAIM. None: no gate gave it one."""
    job: Job | None = None
    """Its job with what a gate adds for its call; only with CLAIM. None: a gate adds nothing."""
    is_watched: bool = False
    """Its resource has failed lately, so its success is recorded."""

    def lets_go(self, run: Run) -> bool:
        """Say whether a run continues to wait outside a line, and so returns its slots to the limiters.

        A run that is returned for lack of time keeps them, for another executor claims it at once.
        """
        if run.waiting is None or self.keeps_slots:
            return False
        is_dropped = self.action is ClaimAction.DROP and run.due_at is not None and not run.is_terminal
        return is_dropped or self.action in (ClaimAction.STAY, ClaimAction.WAIT)


@dataclass(frozen=True)
class ClaimRules:
    """The settings that the decision depends on. All are durations in ms."""

    early_ms: int
    """How early a run may be claimed."""
    misfire_ms: int
    """How late a fire counts as missed."""
    takeover_margin_ms: int
    """How long after the end of its lease a run may be taken over."""
    lease_ms: int
    """How long a lease is."""
    lookahead_ms: int
    """How far ahead scans look."""


CLAIM: Final = Decision(ClaimAction.CLAIM)
DROP: Final = Decision(ClaimAction.DROP)


def decide_claim(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts = NOTHING
) -> Decision:
    """Decide about one run and its job, as read strongly at `now`; None means that the row does not exist."""
    if run is None:
        return DROP
    unclaimable = _unclaimable(run, now, rules)
    if unclaimable is not None:
        return unclaimable
    if job is None:
        return Decision(ClaimAction.END, RunState.CANCELLED, Reason.JOB_GONE)
    if run.cancel_requested:
        return Decision(ClaimAction.END, RunState.CANCELLED, run.reason or Reason.JOB_CANCELLED)
    if job.status is JobStatus.CANCELLED:
        return Decision(ClaimAction.END, RunState.CANCELLED, Reason.JOB_CANCELLED)
    if not job.owns(run.id):
        return Decision(ClaimAction.END, RunState.CANCELLED, Reason.EARLIER_GENERATION)
    if run.state is RunState.RUNNING:
        return _taken_over(run, job, now)
    return _excluded(run, job, now, rules, excluded) or _at_its_start(run, now, rules)


def _unclaimable(run: Run, now: int, rules: ClaimRules) -> Decision | None:
    """Decide about a run that no executor may claim now, by its row alone; None if one may.

    The message of a run with a run for each item was sent before its job had items.
    """
    if run.is_terminal or run.state is RunState.WITHDRAWN or run.waits or run.fan is not None:
        return DROP
    if run.state is RunState.RUNNING:
        if run.callback is not None and run.due_at is not None:
            return DROP  # its target has the run: no call before the due entry ends the attempt
        free_at = (run.lease_until or 0) + rules.takeover_margin_ms
        return Decision(ClaimAction.WAIT, wait_until=free_at) if now < free_at else None
    is_early = run.state is RunState.RETRYING and run.not_before > now + rules.early_ms
    return DROP if is_early else None  # it is still in the due index, so the scan sends it again in time


def _taken_over(run: Run, job: Job, now: int) -> Decision:
    """Decide about a run whose executor let its lease expire."""
    if job.spec.delivery is Guarantee.AT_MOST_ONCE:
        return Decision(ClaimAction.END, RunState.FAILED, Reason.AT_MOST_ONCE)
    reason = exhausted(job.spec.retry, run, now)
    return CLAIM if reason is None else Decision(ClaimAction.END, RunState.FAILED, reason)


def _excluded(run: Run, job: Job, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision | None:
    """Decide about a run that its plan, a pause or a freeze keeps from starting; None if none of them does."""
    if run.is_unstarted and run.id.origin is Origin.SCHEDULE:
        return _kept_away(run, job, now, rules, excluded)
    is_of_event = run.is_unstarted and run.id.origin is Origin.EVENT
    if is_of_event and job.status is JobStatus.PAUSED:
        return Decision(ClaimAction.END, RunState.SKIPPED, Reason.JOB_PAUSED)
    # A freeze defers events; a stop of the tenant defers everything.
    deferred_until = (excluded.deferred_until if is_of_event else excluded.stopped_until)(run.not_before, now)
    return None if deferred_until is None else Decision(ClaimAction.HOLD, wait_until=deferred_until)


def _at_its_start(run: Run, now: int, rules: ClaimRules) -> Decision:
    """Decide about a run that nothing keeps from starting at its instant."""
    if run.collected is not None and run.is_unstarted:
        return _collecting(run, now)
    if run.not_before > now + rules.early_ms:
        # A due entry brings it back in time; a run without one waits in its queue.
        return Decision(ClaimAction.WAIT, wait_until=run.not_before) if run.due_at is None else DROP
    claim_from = run.not_before - EARLIEST_CLAIM_MS
    return CLAIM if now >= claim_from else Decision(ClaimAction.WAIT, wait_until=claim_from)


def _collecting(run: Run, now: int) -> Decision:
    """Decide about a run that stops collecting when it is claimed. Its start may have been put off since it was sent.

    A due entry sends it again in time, unless its start is near.
    """
    claim_at = run.not_before - CLAIM_AHEAD_MS
    if claim_at <= now:
        return CLAIM
    is_soon = claim_at < now + SECOND_MS
    return Decision(ClaimAction.WAIT, wait_until=claim_at) if is_soon or run.due_at is None else DROP


def _kept_away(run: Run, job: Job, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision | None:
    """Decide about an unstarted run of the schedule; None if the schedule and the job still want it."""
    if not is_occurrence(job.spec.schedule, run.id.fire_at):
        return Decision(ClaimAction.END, RunState.SKIPPED, Reason.SUPERSEDED)
    moved = _moved(run, job, excluded)
    if moved is not None:
        return moved
    deferred_until = excluded.deferred_until(run.not_before, now)
    if deferred_until is not None and job.status is not JobStatus.PAUSED:
        return Decision(ClaimAction.HOLD, wait_until=deferred_until)
    start_at: int | None = run.not_before
    # Otherwise it waited for an earlier run, or for a limit, so it is not missed.
    if run.id not in (job.holder, job.next_holder) and run.waiting is None:
        start_at = may_start_at(job, run, now, rules.misfire_ms, excluded)
    if start_at is None:
        return Decision(ClaimAction.END, RunState.SKIPPED, excluded.reason_of(run.id.fire_at, run.not_before))
    if job.status is JobStatus.PAUSED:
        # A resume of the job finds it, whichever process inserted it, at whatever time.
        return Decision(ClaimAction.WITHDRAW)
    if start_at > max(run.not_before, now):
        return Decision(ClaimAction.PUT_OFF, wait_until=start_at)
    return None


def _moved(run: Run, job: Job, excluded: Blackouts) -> Decision | None:
    """Decide about a run that its calendar now skips or moves to a later start; None if it does neither.

    A run that holds or awaits the overlap lock is skipped then: otherwise it would block the lock until another day.
    """
    starts_at = excluded.starts_at(job.spec.schedule, run.id.fire_at)
    if starts_at is not None:
        not_before = starts_at + jitter_ms(job.key, run.id.fire_at, job.spec.jitter_seconds)
        if starts_at <= run.regular_at or not_before <= run.not_before:
            return None
        if run.id not in (job.holder, job.next_holder):
            return (
                None
                if job.status is JobStatus.PAUSED
                else Decision(ClaimAction.MOVE, wait_until=not_before, moved_to=starts_at)
            )
    return Decision(ClaimAction.END, RunState.SKIPPED, Reason.CALENDAR)


def after_lock(step: LockStep, run: Run, job: Job, again_at: int) -> Decision:
    """Decide about a run that has asked for its job's overlap lock. A run that waits asks again at `again_at` (ms)."""
    match step:
        case LockStep.START:
            return Decision(ClaimAction.CLAIM, job=evolve(job, holder=run.id))  # as its row says: its end releases it
        case LockStep.SKIP:
            reason = Reason.REPLACED if job.spec.overlap is OverlapPolicy.CANCEL_OTHER else Reason.OVERLAP
            return Decision(ClaimAction.END, RunState.SKIPPED if run.is_unstarted else RunState.CANCELLED, reason)
        case LockStep.STAY:
            return Decision(ClaimAction.STAY)  # the end of the run before it sends it again
        case _:
            # In another state it would never be the next holder of the lock, so a scan queues it again.
            is_queued = run.state is RunState.QUEUED or (run.state is RunState.RETRYING and run.waiting is None)
            return Decision(ClaimAction.WAIT if is_queued else ClaimAction.DEFER, wait_until=again_at)


def after_circuit(run: Run, job: Job, now: int, admission: Admission) -> Decision:
    """Decide about a run whose resource has failed lately: if it may not call now, it waits, but not forever.

    It asks once more before its patience, or its age, runs out. A run that waits for a token may not call earlier.
    """
    if admission.until is None:
        return Decision(ClaimAction.CLAIM, is_watched=True)
    at = max(now, run.not_before)
    until = max(at, admission.until)
    if admission.reason is Reason.CIRCUIT_OPEN:
        patience_left_ms = patience_ms(job.spec.retry) - run.circuit_wait_ms
        if patience_left_ms <= 0:
            return Decision(ClaimAction.END, RunState.FAILED, Reason.HOST_DOWN)
        until = min(until, at + patience_left_ms)
        oldest_at = last_begin_at(job.spec.retry, run)
        if run.attempt and oldest_at > at:  # a first attempt may be of any age
            until = min(until, oldest_at)
    too_old = exhausted(job.spec.retry, run, until) if run.attempt else None
    if too_old is not None:
        return Decision(ClaimAction.END, RunState.FAILED, too_old)
    return Decision(ClaimAction.DEFER, reason=admission.reason, wait_until=until)
