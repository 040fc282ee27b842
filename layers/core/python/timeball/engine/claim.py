"""Claim runs: read strongly, decide purely, write on condition. The attempt number that a claim gets is its fence."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeball.domain.claim import Action, Decision, decide_claim
from timeball.domain.ids import RunId
from timeball.domain.job import Job
from timeball.domain.outcome import lost_attempt
from timeball.domain.run import Run, RunState, claimed, ended
from timeball.engine.follow_up import follow_up
from timeball.engine.lost import keep_lost_attempts
from timeball.engine.world import World
from timeball.ports import Swap

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claim:
    """What is to be done about a message: WORK on the claimed run, let it WAIT until an instant, or be DONE with it."""

    run: Run | None
    job: Job | None
    is_mine: bool = False
    is_done: bool = False
    wait_until: int | None = None


def claim(world: World, ids: Sequence[RunId], owner: str) -> list[Claim]:
    """Claim each run for `owner`, who is unique to this call. A run that is named twice is claimed once.

    A claim that loses a race waits: the message comes again and is judged anew. Raises UnavailableError.
    """
    now = world.clock.now()
    distinct = list(dict.fromkeys(ids))
    jobs = dict.fromkeys(run.job for run in distinct)
    rows = world.store.read_runs(distinct)
    found = dict(zip(jobs, world.store.read_jobs(list(jobs), with_work=True), strict=True))
    decided = [
        (run, found[run_id.job], _decide(world, run, found[run_id.job], now))
        for run_id, run in zip(distinct, rows, strict=True)
    ]
    claims = dict(zip(distinct, _apply(world, decided, owner, now), strict=True))
    retry_at = now + world.rules.lease_ms
    return [
        claims[run_id] if ids.index(run_id) == position else Claim(None, None, wait_until=retry_at)
        for position, run_id in enumerate(ids)
    ]


def _apply(
    world: World, decided: Sequence[tuple[Run | None, Job | None, Decision]], owner: str, now: int
) -> list[Claim]:
    swaps = {
        position: Swap(run, _after(run, decision, owner, now, world.rules.lease_ms))
        for position, (run, _, decision) in enumerate(decided)
        if run is not None and decision.action in (Action.CLAIM, Action.END)
    }
    keep_lost_attempts(world, [swap.before for swap in swaps.values()], now)
    outcomes = dict(zip(swaps, world.store.swap_runs(list(swaps.values()), now), strict=True))
    claims: list[Claim] = []
    ended_runs: list[tuple[Run, Job | None]] = []
    for position, (run, job, decision) in enumerate(decided):
        outcome = outcomes.get(position)
        if outcome is not None and not outcome.done:
            claims.append(Claim(outcome.row, job, wait_until=now))
            continue
        row = outcome.row if outcome is not None else run
        if row is not None and row.is_terminal:
            ended_runs.append((row, job))
        claims.append(_claim(row, job, decision))
        _log(row, decision)
    follow_up(world, ended_runs)
    return claims


def _decide(world: World, run: Run | None, job: Job | None, now: int) -> Decision:
    """Decide about one run; one that cannot be decided about waits, and stops no other of its batch."""
    try:
        return decide_claim(run, job, now, world.rules.claim)
    except Exception:
        log.exception("run cannot be decided about", extra={"run_id": str(run.id) if run else None})
        return Decision(Action.WAIT, wait_until=now + world.rules.misfire_ms)


def _takes_over(run: Run) -> bool:
    return run.state is RunState.RUNNING


def _after(run: Run, decision: Decision, owner: str, now: int, lease_ms: int) -> Run:
    last = lost_attempt(run) if _takes_over(run) else None
    if decision.action is Action.END and decision.state is not None:
        return ended(run, decision.state, now, decision.reason, last)
    return replace(claimed(run, owner, now, lease_ms), last=last or run.last)


def _claim(row: Run | None, job: Job | None, decision: Decision) -> Claim:
    match decision.action:
        case Action.CLAIM:
            return Claim(row, job, is_mine=True)
        case Action.WAIT:
            return Claim(row, job, wait_until=decision.wait_until)
        case Action.END | Action.FOLLOW_UP | Action.DROP:
            return Claim(row, job, is_done=True)


def _log(row: Run | None, decision: Decision) -> None:
    if decision.action is Action.END and row is not None and decision.reason is not None:
        log.info("run %s", decision.state, extra={"run_id": str(row.id), "reason": decision.reason.value})
