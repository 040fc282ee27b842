"""The row of a run after an executor's decision: the other half of the decision.

Invariant: only a run that is claimed or lined up has slots of limiters afterwards. All others have given them back.

The gates that held a run until its first attempt, derived from its row and its job's at the claim: a pure account.

Each gate leaves its end in a row that is written at that moment anyway: parents in `let_go_at`, a circuit in
`not_before`, a limiter in `gate_waits` when it admits the run, the overlap lock in `handed_at` of the job. The next
claim that writes the run adds the time for which a gate held it beyond all earlier gates.
"""

from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision
from timeball.domain.attempts.retry import lost_attempt
from timeball.domain.ends.effects import guarantor_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
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
from timeball.domain.model.runs.values import GateWaits, Guarantor
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.planner import is_missed, jitter_ms
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


def with_gate_waits(
    run: Run, job: Job, now: int, misfire_ms: int, excluded: Blackouts, starts_at: int = 0
) -> GateWaits:
    """Return what has held an unstarted run so far; `starts_at` is its rate token (ms; 0: it has none).

    The first attempt of a run settles this account.
    """
    if run.attempt:
        return run.gate_waits
    if not run.is_unstarted:
        return evolve(run.gate_waits, is_extra=True)
    is_scheduled = run.id.origin is Origin.SCHEDULE
    jitter = jitter_ms(job.key, run.id.fire_at, job.spec.jitter_seconds) if is_scheduled else 0
    # A run that was sent before its job got more jitter starts without the added jitter.
    regular_at = max(run.regular_at, min(run.regular_at + jitter, run.not_before))
    gate_waits = run.gate_waits if run.gate_waits.until else GateWaits(regular_at)
    gate_waits = _frozen(gate_waits.by("parents", run.let_go_at or 0), run, now, excluded)
    if run.reason in (Reason.CIRCUIT_OPEN, Reason.HOST_PACED):
        gate_waits = gate_waits.by("circuit", run.not_before)
    if run.stands_in_line and run.waiting is not None:  # the row does not show yet that its limiter admitted it
        gate_waits = gate_waits.by("limits" if run.waiting.name else "quota", now)
    if job.holder == run.id:
        gate_waits = gate_waits.by("overlap", now if job.next_holder == run.id else job.handed_at or 0)
    gate_waits = _frozen(gate_waits, run, now, excluded)
    is_late = is_scheduled and is_missed(job, run.id.fire_at, run.regular_at, now, misfire_ms, excluded)
    is_extra = is_late and (not gate_waits.at_work_ms or run.not_before > gate_waits.until)
    token_at = starts_at if starts_at > max(now, run.not_before) else 0
    return evolve(gate_waits.by("limits", token_at), is_extra=is_extra)


def _frozen(gate_waits: GateWaits, run: Run, now: int, excluded: Blackouts) -> GateWaits:
    """Add a pause or a freeze that is over. Only a stop of the tenant also holds manual runs and backfills."""
    is_fire = run.id.origin in (Origin.SCHEDULE, Origin.EVENT)
    end_at = (excluded.suspended if is_fire else excluded.stopped).end_of(gate_waits.until)
    return gate_waits if end_at is None or end_at > now else gate_waits.by("frozen", end_at)
