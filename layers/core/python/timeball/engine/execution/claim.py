"""Claim runs: read strongly, decide purely, write on condition. The attempt number of a claim is its fence.

A run of a job with an overlap policy takes the job's overlap lock first. A claim whose answer was lost is repeated: the
runs whose rows name this owner are its own, and continue with their jobs as they were read for that claim.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from timeball.domain.attempts.after_claim import decided, with_gate_waits
from timeball.domain.attempts.claim import DROP, ClaimAction, ClaimRules, Decision, decide_claim
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import NO_WAITS, GateWaits
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.sharing.overlap import holds_nothing
from timeball.domain.sharing.slots_and_tokens import SETTLES_MS, slots_of
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.execution.gates import GATES, Gate, replace_older
from timeball.engine.execution.invocation import call_seconds
from timeball.engine.metrics import missed, moved
from timeball.engine.resolving import read_jobs_of
from timeball.engine.runs.attempts import keep_last_attempts, log_ended
from timeball.engine.runs.effects import apply_effects
from timeball.engine.runs.waiting_lines import expect, release_slots
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)


_LATE_MS = SETTLES_MS // 2
"""A run that enters a line this long after its limiter was asked may have been missed: the limiter may not check
again."""

_DONE = frozenset(
    {
        ClaimAction.END,
        ClaimAction.WITHDRAW,
        ClaimAction.DROP,
        ClaimAction.DEFER,
        ClaimAction.LINE_UP,
        ClaimAction.HOLD,
        ClaimAction.MOVE,
        ClaimAction.STAY,
    }
)
_WRITTEN = frozenset({ClaimAction.CLAIM, ClaimAction.PUT_OFF, *_DONE} - {ClaimAction.DROP, ClaimAction.STAY})


@dataclass
class Claim:
    """The run that a message names, and its job, as they were read, then as they stand; and the decision.

    `is_watched`: the run's resource has failed lately, so its success is recorded. `event`: the event that a gate gave
    it, which its row names once it is claimed.
    """

    run: Run | None
    job: Job | None
    decision: Decision
    is_watched: bool = False
    excluded: Blackouts = NOTHING
    event: str | None = None

    def decide(self, decision: Decision) -> None:
        """Replace the decision, by that of a gate."""
        self.decision = decision
        self.job = decision.job or self.job
        self.event = decision.event or self.event
        self.is_watched |= decision.is_watched

    @property
    def is_mine(self) -> bool:
        """Whether this executor has claimed the run, and must process it."""
        return self.decision.action in (ClaimAction.CLAIM, ClaimAction.KEEP)

    def waits_briefly(self, now: int) -> bool:
        """Return whether this executor claims the run again, within a second: a queue counts in seconds."""
        wait_until = self.decision.wait_until
        return not self.is_done and wait_until is not None and now < wait_until < now + SECOND_MS

    @property
    def is_done(self) -> bool:
        """Whether the message is done; a message that is not done, of a run that is not ours, comes again."""
        return self.decision.action in _DONE


def claim(
    context: Context,
    ids: Sequence[RunId],
    owner: str,
    last_call_at: int = LATEST,
    tried: dict[RunId, Claim] | None = None,
) -> list[Claim]:
    """Claim each run, none named twice, for `owner`: an invocation that has no other claims of these runs.

    A claim that loses a race waits: the message comes again and is decided anew. A run whose call might not end by
    `last_call_at` (ms) is returned untouched. `tried` remembers what this owner is about to write, in case it does not
    learn whether that was done. Raises UnavailableError.

    Order of writes of claim:

    1. Hide the messages until shortly before their runs' instants, plus a lease and its margin; wait for the instants,
       and for capacity: a message without capacity is kept for some seconds, and then sent anew before it is removed.
    2. Read runs and jobs strongly.
    3. Decide (`domain/attempts/claim.py`); if the job says so, a newer run supersedes this one.
    4. Take the event that its fire needs, if the job has both a pattern and a schedule.
    5. Acquire the overlap lock, if the job has one.
    6. Check the resource's circuit.
    7. Ask the limiters of its limits and of its tenant's quotas, if any: the limiter names a run that may begin before
       step 9; a run that must wait is swapped into the line instead; a run that waits for anything else is swapped out
       of its line, and gives back its slots.
    8. Note on the job a start that comes days late.
    9. Swap to `running`, attempt + 1, owner, lease.

    Safe: of any number of messages one wins; the messages of a dead executor come back after the lease. A claim whose
    answer was lost is repeated, finds itself done, and continues with the job as it was read then.
    """
    now, tried = context.clock.now(), {} if tried is None else tried
    claims = _read_and_decide(context, ids, owner, now, tried)
    _give_back_what_does_not_fit(claims, now, last_call_at)
    for gate in GATES:
        _pass_gate(context, gate, claims, now)
    tried.update({run.id: one for one, run, _ in _starting(claims)})
    had = {one.run.id: slots_of(one.run).union(one.decision.slots) for one in claims if one.run is not None}
    _write(context, claims, owner, now)
    _carry_out_ends(context, claims, had, now)
    replace_older(context, [(one.run, one.job) for one in claims if one.run and one.job])
    return claims


def _starting(claims: Sequence[Claim]) -> list[tuple[Claim, Run, Job]]:
    return [
        (one, one.run, one.job) for one in claims if one.decision.action is ClaimAction.CLAIM and one.run and one.job
    ]


def _read_and_decide(
    context: Context, ids: Sequence[RunId], owner: str, now: int, tried: Mapping[RunId, Claim]
) -> list[Claim]:
    """Read runs strongly, and the job of each as the run sees it: with its task, and a payload of the run's own."""
    rows = context.store.runs.read(ids)
    jobs = read_jobs_of(context, rows, with_work=True)
    there = {job.key: job for job in jobs if job is not None}
    excluded = dict(zip(there, read_blackouts(context, list(there.values())), strict=True))
    kept_away = [NOTHING if job is None else excluded[job.key] for job in jobs]
    return [
        _kept(run, owner, tried) or Claim(run, job, _decide(context, run, job, now, kept), excluded=kept)
        for run, job, kept in zip(rows, jobs, kept_away, strict=True)
    ]


def _kept(run: Run | None, owner: str, tried: Mapping[RunId, Claim]) -> Claim | None:
    """Return this owner's earlier claim of a run if it was written but its answer was lost; None if there is none.

    Its job is the one of that claim and not the current one: the run's row names the version of the task that it had.
    """
    if run is None or not run.is_held_by(owner) or run.id not in tried:
        return None
    return replace(tried[run.id], run=run, decision=Decision(ClaimAction.KEEP))


def _decide(context: Context, run: Run | None, job: Job | None, now: int, excluded: Blackouts) -> Decision:
    """Decide about one run. If that fails, the run waits, and stops no other of its batch."""
    try:
        return decide_claim(run, job, now, context.rules.claim, excluded)
    except Exception:
        log.exception("run cannot be decided about", extra={"run_id": str(run.id) if run else None})
        return Decision(ClaimAction.WAIT, wait_until=now + context.rules.misfire_ms)


def _give_back_what_does_not_fit(claims: Sequence[Claim], now: int, last_call_at: int) -> None:
    for one, run, job in _starting(claims):
        if max(now, run.not_before) + call_seconds(job.spec.timeout_seconds) * SECOND_MS > last_call_at:
            log.info("run does not fit into this executor's time", extra={"run_id": str(run.id)})
            one.decision = Decision(ClaimAction.RETURN)


def _pass_gate(context: Context, gate: Gate, claims: Sequence[Claim], now: int) -> None:
    """Let a gate decide about the runs that would start and have its feature."""
    entering = [(one, run, job) for one, run, job in _starting(claims) if gate.applies(run, job)]
    if not entering:
        return
    decisions = gate.decide(context, [(run, job) for _, run, job in entering], now)
    for (one, _, _), decision in zip(entering, decisions, strict=True):
        if decision is not None:
            one.decide(decision)


def _after(one: Claim, run: Run, owner: str, now: int, rules: ClaimRules) -> Run:
    """Return a run as it was decided, with the gates that have held it so far."""
    after = decided(run, one.job, one.decision, owner, now, rules)
    if one.event is not None and one.decision.action is ClaimAction.CLAIM:
        after = evolve(after, event_digest=one.event)
    if one.job is None or one.decision.action not in (ClaimAction.CLAIM, ClaimAction.LINE_UP, ClaimAction.DEFER):
        return after
    gate_waits = with_gate_waits(run, one.job, now, rules.misfire_ms, one.excluded, one.decision.starts_at or 0)
    is_plain = one.decision.action is ClaimAction.CLAIM and gate_waits == GateWaits(run.regular_at)
    return evolve(after, gate_waits=NO_WAITS if is_plain else gate_waits)


def _write(context: Context, claims: Sequence[Claim], owner: str, now: int) -> None:
    """Write the decisions. Raises UnavailableError if the outcome is unknown: a repeated claim finds it."""
    writing = [(one, one.run) for one in claims if one.run is not None and _is_written(one.decision, one.run)]
    if not writing:
        return
    keep_last_attempts(context, [(run, one.job) for one, run in writing], now)
    swaps = [Swap(run, _after(one, run, owner, now, context.rules.claim)) for one, run in writing]
    outcomes = context.store.runs.swap(swaps, now)
    moved(context, swaps, outcomes)
    log_ended(context, {run.id: one.job for one, run in writing}, swaps, outcomes)
    for (one, _), outcome in zip(writing, outcomes, strict=True):
        _note_missed(context, one, outcome)
    if context.clock.now() >= now + _LATE_MS:
        expect(context, _in_lines(outcomes), are_new=True)
    for (one, _), outcome in zip(writing, outcomes, strict=True):
        one.run = outcome.row
        if not outcome.done:
            one.decision = _instead(outcome.row, now)


def _note_missed(context: Context, one: Claim, outcome: Swapped[Run]) -> None:
    """Record a run that was skipped because it comes too late."""
    if one.decision.action is ClaimAction.END and outcome.done and outcome.row is not None and one.job is not None:
        missed(context, outcome.row, one.job, 1)


def _instead(row: Run | None, now: int) -> Decision:
    """Decide about a run that has changed since it was read: if it is over, the effects of its end are carried out.

    It may just have taken a lock that no other process releases.
    """
    return DROP if row is not None and holds_nothing(row) else Decision(ClaimAction.WAIT, wait_until=now)


def _in_lines(outcomes: Sequence[Swapped[Run]]) -> list[Run]:
    return [one.row for one in outcomes if one.row is not None and one.row.stands_in_line]


def _is_written(decision: Decision, run: Run) -> bool:
    return decision.action in _WRITTEN or decision.lets_go(run)


def _carry_out_ends(context: Context, claims: Sequence[Claim], had: Mapping[RunId, set[str]], now: int) -> None:
    """Carry out the effects of ends, whichever process caused them. If that fails, the messages come again.

    Slots that runs `had`, and no longer have, are passed on.
    """
    over = [(one, one.run) for one in claims if one.run is not None and holds_nothing(one.run)]
    try:
        apply_effects(context, [(run, one.job) for one, run in over])
        release_slots(context, [one.run for one in claims if one.run is not None], had)
    except UnavailableError as unavailable:
        log.warning("effects put off: %s", unavailable)
        for one, _ in over:
            one.decision = Decision(ClaimAction.WAIT, wait_until=now + context.rules.margin_ms)
