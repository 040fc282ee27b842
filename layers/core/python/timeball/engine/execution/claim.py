"""Claim runs: read strongly, decide purely, write on condition. The attempt number that a claim gets is its fence.

A run of a job with an overlap policy takes the job's overlap lock first. A claim whose answer was lost is looked up:
the runs whose rows name this owner are its own.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.job import Job, Work, with_spec
from timeball.domain.model.policies import OverlapPolicy
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import claimed, deferred, ended, put_off, retrying, superseded
from timeball.domain.policy.claim import Action, Decision, decide_claim, deferred_or_given_up
from timeball.domain.policy.outcome import lost_attempt
from timeball.domain.policy.overlap import Step, holds_nothing
from timeball.domain.policy.search_window import starts_out_of_reach
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.execution.circuits import is_watched, pass_hosts, watched_hosts
from timeball.engine.execution.invocation import call_seconds
from timeball.engine.metrics import moved, skipped
from timeball.engine.runs.attempts import keep_last_attempts
from timeball.engine.runs.on_run_end import on_run_end
from timeball.engine.runs.overlap_lock import admit, needs_lock
from timeball.engine.runs.reopen import note_reopened
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)


_WRITTEN = frozenset({Action.CLAIM, Action.PUT_OFF, Action.DEFER, Action.END})


@dataclass(frozen=True)
class Claim:
    """What is to be done about a message: work on the claimed run, let it wait until an instant, or be done with it.

    `is_watched`: the run's host has failed lately, so its success is to be noted.
    """

    run: Run | None
    job: Job | None
    is_mine: bool = False
    is_done: bool = False
    is_watched: bool = False
    wait_until: int | None = None


@dataclass
class _Decided:
    """A message's run on its way: its rows as read, what is decided, and the claim that comes of it."""

    id: RunId
    run: Run | None
    job: Job | None
    decision: Decision
    claim: Claim | None = None
    is_watched: bool = False

    @property
    def wants_to_start(self) -> bool:
        return self.decision.action is Action.CLAIM


def claim(context: Context, ids: Sequence[RunId], owner: str, last_call_at: int = LATEST) -> list[Claim]:
    """Claim each run, none named twice, for `owner`: an invocation that has no other claims of these runs in its hands.

    A claim that loses a race waits: the message comes again and is decided about anew. So does a run whose call might
    not be over by `last_call_at` (ms): nothing of it is touched. Raises UnavailableError.
    """
    now = context.clock.now()
    decided = _read_and_decide(context, ids, owner, now)
    _give_back_what_does_not_fit(context, decided, now, last_call_at)
    _pass_locks(context, decided, now)
    _pass_hosts(context, decided, now)
    _write(context, decided, owner, now)
    _carry_out_ends(context, decided, now)
    return [one.claim or _claim(one) for one in decided]


def _read_and_decide(context: Context, ids: Sequence[RunId], owner: str, now: int) -> list[_Decided]:
    """Read runs and jobs strongly; a run that has a payload of its own brings that instead of its job's.

    A run that `owner` holds was claimed by a call that could not tell.
    """
    jobs = list(dict.fromkeys(run_id.job for run_id in ids))
    rows = context.store.runs.read(ids)
    found = dict(zip(jobs, context.store.jobs.read(jobs, with_work=True), strict=True))
    own = {row.id: (row.id.job, row.work_digest) for row in rows if row is not None and row.work_digest is not None}
    works = dict(zip(own, context.store.works.read(list(own.values())), strict=True)) if own else {}
    decided: list[_Decided] = []
    for run_id, run in zip(ids, rows, strict=True):
        job = found[run_id.job]
        if job is not None and run_id in works:
            job = _with_payload_of(job, works[run_id])
        decision = _decide(context, run, job, now)
        begun = Claim(run, job, is_mine=True) if run is not None and run.is_held_by(owner) else None
        decided.append(_Decided(run_id, run, job, decision, begun))
    return decided


def _with_payload_of(job: Job, work: Work | None) -> Job:
    """Return a job with another payload. Its target stays its own: it may have been changed since, for good reason."""
    if job.spec.work is None or work is None:
        return with_spec(job, work=None)
    return with_spec(job, work=evolve(job.spec.work, payload=work.payload))


def _decide(context: Context, run: Run | None, job: Job | None, now: int) -> Decision:
    """Decide about one run; one that cannot be decided about waits, and stops no other of its batch."""
    try:
        return decide_claim(run, job, now, context.rules.claim)
    except Exception:
        log.exception("run cannot be decided about", extra={"run_id": str(run.id) if run else None})
        return Decision(Action.WAIT, wait_until=now + context.rules.misfire_ms)


def _give_back_what_does_not_fit(context: Context, decided: Sequence[_Decided], now: int, last_call_at: int) -> None:
    for one in decided:
        if one.wants_to_start and one.run is not None and one.job is not None:
            call_ms = int(call_seconds(one.job.spec.timeout_seconds) * SECOND_MS)
            if max(now, one.run.not_before) + call_ms > last_call_at:
                log.warning("run does not fit into this executor's time", extra={"run_id": str(one.id)})
                one.decision = Decision(Action.WAIT, wait_until=now + context.rules.margin_ms)


def _pass_hosts(context: Context, decided: Sequence[_Decided], now: int) -> None:
    """Defer each run whose host does not let it call yet; it keeps the lock that it has."""
    wanting = _wanting(decided)
    hosts = watched_hosts(context, [job for _, _, job in wanting]) if wanting else {}
    if not hosts:
        return
    admissions = pass_hosts(context, hosts, [(run, job) for _, run, job in wanting], now)
    for (one, run, job), admission in zip(wanting, admissions, strict=True):
        one.is_watched = is_watched(context, hosts, job)
        if admission.until is not None:
            one.decision = deferred_or_given_up(run, job, now, admission)


def _wanting(decided: Sequence[_Decided]) -> list[tuple[_Decided, Run, Job]]:
    return [(one, one.run, one.job) for one in decided if one.wants_to_start and one.run and one.job]


def _pass_locks(context: Context, decided: Sequence[_Decided], now: int) -> None:
    """Take the lock for each run that needs it; a lock that cannot be asked for lets its run wait."""
    wanting = [(one, run, job) for one, run, job in _wanting(decided) if needs_lock(run, job)]
    if not wanting:
        return
    retry_at = now + context.rules.margin_ms
    try:
        steps = admit(context, [(run, job) for _, run, job in wanting], now)
    except UnavailableError as unavailable:
        log.warning("overlap locks not taken: %s", unavailable)
        steps = [Step.WAIT] * len(wanting)
    for (one, run, job), step in zip(wanting, steps, strict=True):
        match step:
            case Step.START:
                one.job = evolve(job, holder=run.id)  # as its row says now: the run's end releases the lock
            case Step.SKIP:
                reason = Reason.REPLACED if job.spec.overlap is OverlapPolicy.CANCEL_OTHER else Reason.OVERLAP
                state = RunState.SKIPPED if run.is_unstarted else RunState.CANCELLED
                one.decision = Decision(Action.END, state, reason)
            case Step.STAY:
                one.decision = Decision(Action.DROP)  # the end of the run before it sends it again
            case _:
                one.decision = Decision(Action.WAIT, wait_until=run.not_before if run.not_before > now else retry_at)


def _write(context: Context, decided: Sequence[_Decided], owner: str, now: int) -> None:
    """Write what was decided. Where the outcome is unknown the rows tell; raises UnavailableError if they cannot."""
    swaps = {
        position: Swap(one.run, _after(one.run, one.job, one.decision, owner, now, context.rules.lease_ms))
        for position, one in enumerate(decided)
        if one.run is not None and one.decision.action in _WRITTEN
    }
    if not swaps:
        return
    _note_late_starts(context, decided, now)
    keep_last_attempts(context, [(swap.before, decided[position].job) for position, swap in swaps.items()], now)
    outcomes = _swapped(context, list(swaps.values()), now)
    moved(context, [swap for swap, outcome in zip(swaps.values(), outcomes, strict=True) if outcome.done])
    for position, outcome in zip(swaps, outcomes, strict=True):
        one = decided[position]
        one.run = outcome.row
        if outcome.done:
            continue
        if outcome.row is not None and holds_nothing(outcome.row):
            one.decision = Decision(Action.DROP)  # it may just have taken a lock that nobody else releases
        else:
            one.claim = Claim(outcome.row, one.job, wait_until=now)


def _note_late_starts(context: Context, decided: Sequence[_Decided], now: int) -> None:
    """Let a change of a job find a run that starts days after its fire time, as after an outage of the executors."""
    late = [
        one.id
        for one in decided
        if one.wants_to_start
        and one.job is not None
        and one.id.origin is not Origin.BACKFILL  # found by its backfill
        and starts_out_of_reach(one.job, one.id.fire_at, now, context.rules.misfire_ms)
    ]
    if late:
        note_reopened(context, late)


def _swapped(context: Context, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
    try:
        return context.store.runs.swap(swaps, now)
    except UnavailableError as unavailable:
        log.warning("claims looked up: %s", unavailable)
    rows = context.store.runs.read([swap.before.id for swap in swaps])
    return [Swapped(row == swap.written, row) for swap, row in zip(swaps, rows, strict=True)]


def _after(run: Run, job: Job | None, decision: Decision, owner: str, now: int, lease_ms: int) -> Run:
    wait_until = decision.wait_until or now
    if decision.action is Action.PUT_OFF:
        return put_off(run, wait_until, run.due_at)
    if decision.action is Action.DEFER and decision.reason is not None:
        waiting = retrying(run, wait_until, lost_attempt(run)) if run.state is RunState.RUNNING else run
        return deferred(waiting, wait_until, decision.reason, since=max(now, run.not_before))
    if decision.reason is Reason.SUPERSEDED and job is not None:
        return superseded(run, job.schedule_version, now, Guarantor.MESSAGE)
    last = lost_attempt(run) if run.state is RunState.RUNNING else None
    if decision.action is Action.END and decision.state is not None:
        return ended(run, decision.state, now, Guarantor.MESSAGE, decision.reason, last)
    return evolve(claimed(run, owner, now, lease_ms), last=last or run.last)


def _carry_out_ends(context: Context, decided: Sequence[_Decided], now: int) -> None:
    """Do what ends entail, of whoever's doing; what cannot be done now is done when the messages come again."""
    over = [(one, one.run) for one in decided if one.claim is None and one.run is not None and holds_nothing(one.run)]
    for one, _ in over:
        _tell(context, one)
    try:
        on_run_end(context, [(run, one.job) for one, run in over])
    except UnavailableError as unavailable:
        log.warning("effects put off: %s", unavailable)
        for one, _ in over:
            one.claim = Claim(one.run, one.job, wait_until=now + context.rules.margin_ms)


def _tell(context: Context, one: _Decided) -> None:
    if one.decision.action is not Action.END or one.run is None or one.decision.reason is None:
        return
    if one.decision.state is RunState.SKIPPED:
        skipped(context, one.id.job, one.decision.reason, 1, one.id.fire_at)
    else:
        log.info("run %s", one.decision.state, extra={"run_id": str(one.id), "reason": one.decision.reason.value})


def _claim(one: _Decided) -> Claim:
    match one.decision.action:
        case Action.CLAIM:
            return Claim(one.run, one.job, is_mine=True, is_watched=one.is_watched)
        case Action.WAIT | Action.PUT_OFF:
            return Claim(one.run, one.job, wait_until=one.decision.wait_until)
        case Action.END | Action.DROP | Action.DEFER:
            return Claim(one.run, one.job, is_done=True)
