"""Faults of the claim, and of the time between the claim and the call."""

from dataclasses import replace
from typing import Any

from tests.simulation.faults.hands import Fault, both, given, instead
from timeball.domain.attempts import claim as claim_rules
from timeball.domain.attempts.claim import ClaimAction, ClaimRules, Decision, decide_claim
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.runs.values import Gate, GateWaits
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.time.instants import LATEST
from timeball.engine.execution import acknowledge as waves
from timeball.engine.execution.in_flight import InFlight


def _is_running(run: Run | None) -> bool:
    return run is not None and run.state is RunState.RUNNING


def _claims_running_runs(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    decided = decide_claim(run, job, now, rules, excluded)
    return Decision(ClaimAction.CLAIM) if _is_running(run) and decided.action is ClaimAction.WAIT else decided


def _drops_running_runs(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
    decided = decide_claim(run, job, now, rules, excluded)
    return Decision(ClaimAction.DROP) if _is_running(run) and decided.action is ClaimAction.WAIT else decided


def _ignores_that_it_is_asked_to_stop(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    """The claim still refuses a run of a cancelled job. The fault shows in runs replaced or cancelled alone."""
    return decide_claim(run and replace(run, cancel_requested=False), job, now, rules, excluded)


def _leaves_cancelled_runs(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    decided = decide_claim(run, job, now, rules, excluded)
    asked = run is not None and run.cancel_requested
    return Decision(ClaimAction.DROP) if asked and decided.action is ClaimAction.END else decided


def _has_no_hold_window(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
    """A retry that comes early is dropped, although the scan may have sent it and not yet written that."""
    is_retry = run is not None and run.state is RunState.RETRYING
    return decide_claim(run, job, now, replace(rules, early_ms=0) if is_retry else rules, excluded)


def _drops_waiters_of_the_lock(
    run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts
) -> Decision:
    return decide_claim(run, job and replace(job, holder=None, next_holder=None), now, rules, excluded)


def _starts_late_runs(run: Run | None, job: Job | None, now: int, rules: ClaimRules, excluded: Blackouts) -> Decision:
    """The planner still skips missed fires. The fault shows only if executors were out while scans went on."""
    return decide_claim(run, job, now, replace(rules, misfire_ms=10**12), excluded)


def _forgets_the_instant_of_a_retry(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    return replace(claimed(run, owner, now, lease_ms), not_before=now if run.attempt else run.not_before)


def _forgets_the_instant(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    return replace(claimed(run, owner, now, lease_ms), not_before=now)


def _drops_the_due_key(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    return replace(claimed(run, owner, now, lease_ms), due_at=None)


def _forgets_that_it_collects(run: Run | None, *args: Any) -> Decision:
    return decide_claim(run and replace(run, collected=None), *args)


def _twice(held: GateWaits, gate: Gate, until: int) -> GateWaits:
    longer_ms = max(until - held.until, 0)
    return replace(held, until=max(until, held.until), **{gate: getattr(held, gate) + 2 * longer_ms})


FAULTS = {
    "a gate counts for twice as long as it held a run": Fault(
        given(GateWaits, "by", _twice), "lateness counts from the end of the last hold", meeting="a pause, and a resume"
    ),
    "an unexpired running run is claimed": Fault(
        instead(decide_claim, _claims_running_runs), "no lease is cut short", meeting="a pause, and a resume"
    ),
    "a claim ignores cancel_requested": Fault(
        instead(decide_claim, _ignores_that_it_is_asked_to_stop),
        "no run is claimed after a cancel was requested",
        meeting="an execution that breaks off, and a cancel of its run",
    ),
    "a cancel requested of a run is never carried out": Fault(
        instead(decide_claim, _leaves_cancelled_runs),
        "a run without a message is found again",
        meeting="an execution that breaks off, and a cancel of its run",
    ),
    "no hold window for early retries": Fault(
        instead(decide_claim, _has_no_hold_window), "a run without a message is found again", 69
    ),
    "a message is deleted that meets a live running run": Fault(
        instead(decide_claim, _drops_running_runs), "a run without a message is found again", 3
    ),
    "a run that waits for the overlap lock misfires": Fault(
        instead(decide_claim, _drops_waiters_of_the_lock), "a run that waits for the overlap lock does not misfire", 1
    ),
    "a flood after an outage": Fault(
        instead(decide_claim, _starts_late_runs),
        "no more runs start late than the catch up policy allows",
        meeting="a scan that breaks off after an outage",
    ),
    "a claim drops a due key that it found": Fault(
        instead(claimed, _drops_the_due_key),
        "nothing is stuck",
        meeting="a claim by an executor that dies, of a run whose message is given up",
    ),
    "a run is claimed when its message comes": Fault(
        both(given(waves, "CLAIM_AHEAD_MS", LATEST), given(claim_rules, "EARLIEST_CLAIM_MS", LATEST)),
        "no run is claimed long before its instant",
        meeting="a pause, and a resume",
    ),
    "a run that collects is claimed as early as any": Fault(
        instead(decide_claim, _forgets_that_it_collects), "no run is claimed long before its instant", 35
    ),
    "a run is called when it is claimed": Fault(
        instead(claimed, _forgets_the_instant), "nothing is early", meeting="a scan, and a pause and a resume"
    ),
    "a call leaves after its lease": Fault(
        given(InFlight, "stop_at", lambda *_: LATEST),
        "attempts of a run come in order",
        meeting="an execution that wakes when another has called its run",
    ),
    "a retry is called early": Fault(
        instead(claimed, _forgets_the_instant_of_a_retry),
        "nothing is called before its instant",
        scene="targets fail, and runs are retried",
    ),
}
