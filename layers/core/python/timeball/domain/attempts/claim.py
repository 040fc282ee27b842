"""What an executor does with a run that a message names: one pure decision over the rows as they were read.

The message only nominates. A run is claimed if it waits to be started, or if the lease of its last attempt is out. The
overlap policy is a decision of its own (overlap.py), taken about what is to be claimed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.attempts.circuit_breaker import Admission
from timeball.domain.attempts.retry import exhausted, last_begin_at, patience_ms
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState, Waiting
from timeball.domain.planning.exclusions import NOTHING, Exclusions
from timeball.domain.planning.jitter import jitter_ms
from timeball.domain.planning.planner import may_start_at
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import is_occurrence

CLAIM_AHEAD_MS: Final = 500
"""How long before its instant a run is claimed, at the least. A claim of ten takes a tenth of that, all being well."""


class Action(StrEnum):
    """What to do.

    Claim; work on what is claimed already; put off to a later start, or (move) to a later day, in the due index; defer
    there, for its host or (hold) for the end of a freeze; line up for its key; end; take it back; let it wait;
    let it stay behind its job's overlap lock; return its message, as good as new, for want of time; drop its message.
    """

    CLAIM = "claim"
    KEEP = "keep"
    PUT_OFF = "put_off"
    MOVE = "move"
    DEFER = "defer"
    LINE_UP = "line_up"
    HOLD = "hold"
    END = "end"
    WITHDRAW = "withdraw"
    WAIT = "wait"
    STAY = "stay"
    RETURN = "return"
    DROP = "drop"


@dataclass(frozen=True)
class Decision:
    """An action. `state` goes with END, `reason` with END and DEFER, `wait_until` (ms) with all that waits.

    `moved_to` goes with MOVE: where its calendar moves the run, jitter apart. `starts_at` (ms) goes with CLAIM, and
    `waiting` with LINE_UP. `slots` names the limiters that have given the run a slot. A run that waits and
    `keeps_slots` is asked about again in a moment: the limiters could not be asked, and nothing else keeps it.
    """

    action: Action
    state: RunState | None = None
    reason: Reason | None = None
    wait_until: int | None = None
    moved_to: int | None = None
    starts_at: int | None = None
    waiting: Waiting | None = None
    slots: tuple[str, ...] = ()
    keeps_slots: bool = False

    def lets_go(self, run: Run) -> bool:
        """Say whether a run waits on, but in no line: then it gives back what its limiters have given it.

        One that is sent back for want of time keeps it, for another executor claims it at once.
        """
        if run.waiting is None or self.keeps_slots:
            return False
        is_dropped = self.action is Action.DROP and run.due_at is not None and not run.is_terminal
        return is_dropped or self.action in (Action.STAY, Action.WAIT)


@dataclass(frozen=True)
class ClaimRules:
    """What the decision takes from the settings, in ms.

    How early a run may be claimed, when a fire counts as missed, how long after a lease's end it may be taken over; how
    long a lease is, and how far scans look ahead.
    """

    early_ms: int
    misfire_ms: int
    takeover_margin_ms: int
    lease_ms: int
    lookahead_ms: int


def decide_claim(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Exclusions = NOTHING
) -> Decision:
    """Decide about one run and its job, as read strongly at `now`; None means that the row does not exist."""
    if run is None or run.is_terminal or run.state is RunState.WITHDRAWN or run.waits:
        return Decision(Action.DROP)
    if run.fan is not None:
        return Decision(Action.DROP)  # it was sent before its job had a run for each item
    if run.state is RunState.RUNNING:
        if run.callback is not None and run.due_at is not None:
            return Decision(Action.DROP)  # its target has the run: nobody calls before the due entry ends the attempt
        free_at = (run.lease_until or 0) + rules.takeover_margin_ms
        if now < free_at:
            return Decision(Action.WAIT, wait_until=free_at)
    elif run.state is RunState.RETRYING and run.not_before > now + rules.early_ms:
        return Decision(Action.DROP)  # its due entry stands; the scan sends it again in time
    if job is None:
        return Decision(Action.END, RunState.CANCELLED, Reason.JOB_GONE)
    if run.cancel_requested:
        return Decision(Action.END, RunState.CANCELLED, run.reason or Reason.JOB_CANCELLED)
    if job.status is JobStatus.CANCELLED:
        return Decision(Action.END, RunState.CANCELLED, Reason.JOB_CANCELLED)
    return _taken_over(run, job, now) if run.state is RunState.RUNNING else _started(run, job, now, rules, excluded)


def _taken_over(run: Run, job: Job, now: int) -> Decision:
    """Decide about a run whose executor let its lease run out."""
    if job.spec.delivery is Guarantee.AT_MOST_ONCE:
        return Decision(Action.END, RunState.FAILED, Reason.AT_MOST_ONCE)
    reason = exhausted(job.spec.retry, run, now)
    return Decision(Action.CLAIM) if reason is None else Decision(Action.END, RunState.FAILED, reason)


def _started(run: Run, job: Job, now: int, rules: ClaimRules, excluded: Exclusions) -> Decision:
    """Decide about a run that waits to be started, or to be tried again."""
    if run.is_unstarted and run.id.origin is Origin.SCHEDULE:
        decision = _kept_away(run, job, now, rules, excluded)
        if decision is not None:
            return decision
    elif run.is_unstarted and run.id.origin is Origin.EVENT and job.status is JobStatus.PAUSED:
        return Decision(Action.END, RunState.SKIPPED, Reason.JOB_PAUSED)
    elif (held_until := _held_until(run, excluded, now)) is not None:
        return Decision(Action.HOLD, wait_until=held_until)
    if run.collected is not None and run.is_unstarted:
        return _collecting(run, now)
    if run.not_before > now + rules.early_ms:
        # A due entry brings it back in time; a run that has none waits in its queue.
        return Decision(Action.WAIT, wait_until=run.not_before) if run.due_at is None else Decision(Action.DROP)
    return Decision(Action.CLAIM)


def _collecting(run: Run, now: int) -> Decision:
    """Decide about a run that its claim keeps from collecting more: its start may have been put off since it was sent.

    A due entry sends it again in time, unless that is now.
    """
    claim_at = run.not_before - CLAIM_AHEAD_MS
    if claim_at <= now:
        return Decision(Action.CLAIM)
    is_soon = claim_at < now + SECOND_MS
    return Decision(Action.WAIT, wait_until=claim_at) if is_soon or run.due_at is None else Decision(Action.DROP)


def _held_until(run: Run, excluded: Exclusions, now: int) -> int | None:
    """Return until when a run waits that no plan has made: a freeze holds events back, a stop all that there is."""
    is_of_event = run.is_unstarted and run.id.origin is Origin.EVENT
    return (excluded.held_until if is_of_event else excluded.stopped_until)(run.not_before, now)


def _kept_away(run: Run, job: Job, now: int, rules: ClaimRules, excluded: Exclusions) -> Decision | None:
    """Decide about an unstarted run of the schedule; None if that and the job still want it."""
    if not is_occurrence(job.spec.schedule, run.id.fire_at):
        return Decision(Action.END, RunState.SKIPPED, Reason.SUPERSEDED)
    moved = _moved(run, job, excluded)
    if moved is not None:
        return moved
    held_until = excluded.held_until(run.not_before, now)
    if held_until is not None and job.status is not JobStatus.PAUSED:
        return Decision(Action.HOLD, wait_until=held_until)
    start_at: int | None = run.not_before
    # Else it waited for an earlier run, or for its key, and not for us.
    if run.id not in (job.holder, job.parked) and run.waiting is None:
        start_at = may_start_at(job, run, now, rules.misfire_ms, excluded)
    if start_at is None:
        return Decision(Action.END, RunState.SKIPPED, excluded.reason_of(run.id.fire_at, run.not_before))
    if job.status is JobStatus.PAUSED:
        # A resume of the job finds it, whoever inserted it, and when.
        return Decision(Action.WITHDRAW)
    if start_at > max(run.not_before, now):
        return Decision(Action.PUT_OFF, wait_until=start_at)
    return None


def _moved(run: Run, job: Job, excluded: Exclusions) -> Decision | None:
    """Decide about a run that its calendar skips, or moves behind its start, as that is now; None if it does neither.

    One that the overlap lock names is skipped then: it would keep all others from it until another day.
    """
    starts_at = excluded.starts_at(job.spec.schedule, run.id.fire_at)
    if starts_at is not None:
        not_before = starts_at + jitter_ms(job.key, run.id.fire_at, job.spec.jitter_seconds)
        if starts_at <= run.regular_at or not_before <= run.not_before:
            return None
        if run.id not in (job.holder, job.parked):
            return (
                None
                if job.status is JobStatus.PAUSED
                else Decision(Action.MOVE, wait_until=not_before, moved_to=starts_at)
            )
    return Decision(Action.END, RunState.SKIPPED, Reason.CALENDAR)


def deferred_or_given_up(run: Run, job: Job, now: int, admission: Admission) -> Decision:
    """Decide about a run that its host keeps from its call: it waits, but not for ever while the circuit is open.

    Before its patience or its age is out it asks once more. Where it waits for a token, it may call no sooner.
    """
    at = max(now, run.not_before)
    until = max(at, admission.until or at)
    if admission.reason is Reason.CIRCUIT_OPEN:
        patience_left_ms = patience_ms(job.spec.retry) - run.waited_for_host_ms
        if patience_left_ms <= 0:
            return Decision(Action.END, RunState.FAILED, Reason.HOST_DOWN)
        until = min(until, at + patience_left_ms)
        oldest_at = last_begin_at(job.spec.retry, run)
        if run.attempt and oldest_at > at:  # the age of a first attempt does not matter
            until = min(until, oldest_at)
    too_old = exhausted(job.spec.retry, run, until) if run.attempt else None
    if too_old is not None:
        return Decision(Action.END, RunState.FAILED, too_old)
    return Decision(Action.DEFER, reason=admission.reason, wait_until=until)
