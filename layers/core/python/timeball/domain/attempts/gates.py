"""The gates that held a run until its first attempt, derived from its row and its job's at the claim: a pure account.

Each gate leaves its end in a row that is written at that moment anyway: parents in `let_go_at`, a circuit in
`not_before`, a limiter in `gate_waits` when it admits the run, the overlap lock in `handed_at` of the job. The next
claim that writes the run adds the time for which a gate held it beyond all earlier gates.
"""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.gate_waits import GateWaits
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.catch_up import is_missed
from timeball.domain.planning.jitter import jitter_ms


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
