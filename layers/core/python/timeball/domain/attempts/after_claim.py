"""The row of a run after an executor's decision, and what each gate has held the run: the other half of the decision.

Invariant: only a run that is claimed or lined up has slots of limiters afterwards. All others have given them back.

The account of the gates is derived from the run's row and its job's. Each gate leaves its end in a row that is written
at that moment anyway: parents in `let_go_at`, a circuit in `not_before`, a limiter in `gate_waits` when it admits the
run, the overlap lock in `handed_at` of the job. The next claim that writes the run adds the time for which a gate held
it beyond all earlier gates.
"""

from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision
from timeball.domain.attempts.retry import lost_attempt
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
from timeball.domain.model.runs.values import Attempt, GateWaits, Guarantor
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.planner import is_missed, jitter_ms
from timeball.domain.run_ends.effects import guarantor_of
from timeball.domain.sharing.slots_and_tokens import waits_because


def decided(run: Run, job: Job | None, decision: Decision, owner: str, now: int, rules: ClaimRules) -> Run:
    """Return a run after a decision, from the run and its job as both were read; `owner` is the deciding executor."""
    if decision.action is ClaimAction.CLAIM:
        return _begun(run, job, decision, claimed(run, owner, now, rules.lease_ms))
    if decision.lets_go(run):
        freed = out_of_line(run)
        # Another executor may have lined the run up since, and removed the message that this executor relies on.
        return evolve(freed, due_at=decision.wait_until or now) if decision.action is ClaimAction.WAIT else freed
    if decision.action is ClaimAction.END and decision.state is not None:
        return _over(run, job, decision, decision.state, now)
    return _waiting(run, decision, decision.wait_until or now, now, rules)


def _begun(run: Run, job: Job | None, decision: Decision, begun: Run) -> Run:
    """Return a claimed run with its start, its slots, and its lost attempt if it was taken over."""
    starts_at = begun.not_before if decision.starts_at is None else max(run.not_before, decision.starts_at)
    using_task = using(begun, None if job is None else job.spec.task)
    return evolve(using_task, not_before=starts_at, slots=decision.slots, last=_lost(run) or run.last)


def _over(run: Run, job: Job | None, decision: Decision, state: RunState, now: int) -> Run:
    guarantor = guarantor_of(run, job, Guarantor.MESSAGE)
    if decision.reason is Reason.SUPERSEDED and job is not None:
        return superseded(run, job.schedule_version, now, guarantor)
    return ended(run, state, now, guarantor, decision.reason, _lost(run))


def _waiting(run: Run, decision: Decision, wait_until: int, now: int, rules: ClaimRules) -> Run:
    match decision.action:
        case ClaimAction.PUT_OFF:
            return put_off(run, wait_until, run.due_at)
        case ClaimAction.MOVE:
            return moved_later(run, decision.moved_to or wait_until, wait_until)
        case ClaimAction.HOLD:
            return frozen(run, wait_until + rules.lookahead_ms)  # a scan takes entries due within the look-ahead
        case ClaimAction.WITHDRAW:
            return withdrawn(run)
        case ClaimAction.LINE_UP if decision.waiting is not None:
            return lined_up(run, decision.waiting, waits_because(decision.waiting), _lost(run), decision.slots)
        case ClaimAction.DEFER:
            last = _lost(run)
            waiting = run if last is None else retrying(run, wait_until, last)
            return deferred(waiting, wait_until, decision.reason, since=max(now, run.not_before))
        case _:
            raise ValueError(f"no row follows from the action {decision.action}")


def _lost(run: Run) -> Attempt | None:
    """Return the attempt that a take-over ends, if any."""
    return lost_attempt(run) if run.state is RunState.RUNNING else None


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
    gate_waits = _by_each_gate(run, job, now, excluded)
    is_extra = False
    if run.id.origin is Origin.SCHEDULE and is_missed(job, run.id.fire_at, run.regular_at, now, misfire_ms, excluded):
        is_extra = not gate_waits.at_work_ms or run.not_before > gate_waits.until
    token_at = starts_at if starts_at > max(now, run.not_before) else 0
    return evolve(gate_waits.by("limits", token_at), is_extra=is_extra)


def _by_each_gate(run: Run, job: Job, now: int, excluded: Blackouts) -> GateWaits:
    """Return what each gate but the rate token has held an unstarted run, in the order of the gates."""
    gate_waits = run.gate_waits if run.gate_waits.until else GateWaits(_regular_start(run, job))
    gate_waits = _frozen(gate_waits.by("parents", run.let_go_at or 0), run, now, excluded)
    if run.reason in (Reason.CIRCUIT_OPEN, Reason.HOST_PACED):
        gate_waits = gate_waits.by("circuit", run.not_before)
    if run.stands_in_line and run.waiting is not None:  # the row does not show yet that its limiter admitted it
        gate_waits = gate_waits.by("limits" if run.waiting.name else "quota", now)
    if job.holder == run.id:
        gate_waits = gate_waits.by("overlap", now if job.next_holder == run.id else job.handed_at or 0)
    return _frozen(gate_waits, run, now, excluded)


def _regular_start(run: Run, job: Job) -> int:
    """Return when a run starts if no gate holds it, jitter included.

    A run that was sent before its job got more jitter starts without the added jitter.
    """
    is_scheduled = run.id.origin is Origin.SCHEDULE
    jitter = jitter_ms(job.key, run.id.fire_at, job.spec.jitter_seconds) if is_scheduled else 0
    return max(run.regular_at, min(run.regular_at + jitter, run.not_before))


def _frozen(gate_waits: GateWaits, run: Run, now: int, excluded: Blackouts) -> GateWaits:
    """Add a pause or a freeze that is over. Only a stop of the tenant also holds manual runs and backfills."""
    is_fire = run.id.origin in (Origin.SCHEDULE, Origin.EVENT)
    end_at = (excluded.suspended if is_fire else excluded.stopped).end_of(gate_waits.until)
    return gate_waits if end_at is None or end_at > now else gate_waits.by("frozen", end_at)
