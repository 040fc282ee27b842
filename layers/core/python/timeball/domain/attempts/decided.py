"""The row of a run after an executor's decision: the other half of the decision.

Invariant: only a run that is claimed or lined up has slots of limiters afterwards. All others have given them back.
"""

from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision
from timeball.domain.attempts.outcome import lost_attempt
from timeball.domain.ends.effects import guarantor_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import (
    claimed,
    deferred,
    ended,
    frozen,
    lined_up,
    moved_later,
    out_of_line,
    put_off,
    retrying,
    superseded,
    using,
    withdrawn,
)
from timeball.domain.sharing.limiter import waits_because


def decided(run: Run, job: Job | None, decision: Decision, owner: str, now: int, rules: ClaimRules) -> Run:
    """Return a run after a decision, from the run and its job as both were read; `owner` is the deciding executor."""
    wait_until = decision.wait_until or now
    last = lost_attempt(run) if run.state is RunState.RUNNING else None
    if decision.lets_go(run):
        freed = out_of_line(run)
        # Another executor may have lined the run up since, and removed the message that this executor relies on.
        return evolve(freed, due_at=wait_until) if decision.action is ClaimAction.WAIT else freed
    if decision.action is ClaimAction.PUT_OFF:
        return put_off(run, wait_until, run.due_at)
    if decision.action is ClaimAction.MOVE:
        return moved_later(run, decision.moved_to or wait_until, wait_until)
    if decision.action is ClaimAction.HOLD:
        return frozen(run, wait_until + rules.lookahead_ms)  # a scan takes entries that are due within the look-ahead
    if decision.action is ClaimAction.LINE_UP and decision.waiting is not None:
        return lined_up(run, decision.waiting, waits_because(decision.waiting), last, decision.slots)
    if decision.action is ClaimAction.DEFER:
        waiting = run if last is None else retrying(run, wait_until, last)
        return deferred(waiting, wait_until, decision.reason, since=max(now, run.not_before))
    if decision.reason is Reason.SUPERSEDED and job is not None:
        return superseded(run, job.schedule_version, now, guarantor_of(run, job, Guarantor.MESSAGE))
    if decision.action is ClaimAction.WITHDRAW:
        return withdrawn(run)
    if decision.action is ClaimAction.END and decision.state is not None:
        return ended(run, decision.state, now, guarantor_of(run, job, Guarantor.MESSAGE), decision.reason, last)
    begun = using(claimed(run, owner, now, rules.lease_ms), None if job is None else job.spec.task)
    starts_at = begun.not_before if decision.starts_at is None else max(run.not_before, decision.starts_at)
    return evolve(begun, not_before=starts_at, slots=decision.slots, last=last or run.last)
