"""The decision when a fire comes while an earlier run of its job is live: one pure function, applied at the claim.

A job whose policy is not `allow` has an overlap lock: one run *holds* it, and at most one is *next in line*
(`next_holder`).
Only the holder may start. Its end hands the lock to the next in line.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy


class LockStep(StrEnum):
    """The action of a run on the lock that it needs."""

    START = "start"
    """It holds the lock, or needs none."""
    ACQUIRE = "acquire"
    """The lock is free: take it, then start."""
    BECOME_NEXT = "become_next"
    """Be next in line: the end of the holder sends the run again."""
    REPLACE_NEXT = "replace_next"
    """End the run that is next in line and replace it: that run is older, or this run has started before."""
    STAY = "stay"
    """It is next in line already."""
    SKIP = "skip"
    """It does not run, or does not run again."""
    WAIT = "wait"
    """It has started before: try again later."""


@dataclass(frozen=True)
class OverlapDecision:
    """A step of a run."""

    step: LockStep
    """The action on the lock."""
    stop_holder: bool = False
    """The run that holds the lock is stopped."""


def holds_nothing(run: Run | None) -> bool:
    """Say whether a run that a lock names does not block it: the run is gone, has ended, or awaits its paused job."""
    return run is None or run.is_terminal or run.state is RunState.WITHDRAWN


def decide_overlap(
    policy: OverlapPolicy, run: Run, holder: Run | None, next_holder: Run | None, *, supersedes: bool = False
) -> OverlapDecision:
    """Decide about a run that is about to be claimed, from the rows that the lock names, as read strongly.

    A holder that has ended, was withdrawn or is gone does not block the lock; a run that is no longer queued is not
    next in line. A holder acquires its lock anew before the first attempt of a budget. So a process that has read it as
    ended, before a manual retry, or as withdrawn, before a resume, is refused when it tries to move the lock. A run
    that `supersedes` replaces an older run in line that has not started. A run that has started before replaces a newer
    run that has not.
    """
    is_holder = holder is not None and holder.id == run.id
    if policy is OverlapPolicy.ALLOW or (is_holder and run.attempts_spent):
        return OverlapDecision(LockStep.START)
    if holder is None or is_holder or holds_nothing(holder):
        return OverlapDecision(LockStep.ACQUIRE)
    return _blocked(policy, run, holder, next_holder, supersedes=supersedes)


def _blocked(
    policy: OverlapPolicy, run: Run, holder: Run, next_holder: Run | None, *, supersedes: bool
) -> OverlapDecision:
    """Decide about a run while another run holds the lock."""
    waiting = next_holder if next_holder is not None and next_holder.state is RunState.QUEUED else None
    if policy is OverlapPolicy.CANCEL_OTHER:
        return _instead_of(holder, run, waiting)
    if policy is OverlapPolicy.SKIP and run.is_unstarted:
        return OverlapDecision(LockStep.SKIP)
    replaces = waiting is not None and waiting.is_unstarted and _overtakes(run, waiting, supersedes=supersedes)
    otherwise = LockStep.SKIP if run.is_unstarted else LockStep.WAIT
    return OverlapDecision(_behind(run, waiting, LockStep.REPLACE_NEXT if replaces else otherwise))


def _overtakes(run: Run, waiting: Run, *, supersedes: bool) -> bool:
    """Say whether a run takes the position of an unstarted run in line.

    A run that has started before asks rarely, and newer fires ask at their instants: one of these would always be next.
    """
    if run.is_unstarted:
        return supersedes and waiting.asked_at < run.asked_at
    return run.asked_at < waiting.asked_at


def _behind(run: Run, next_holder: Run | None, otherwise: LockStep) -> LockStep:
    """Be next in line if no other run is. A run that cannot be skipped waits too, or newer fires would overtake it."""
    if run.state is not RunState.QUEUED:
        return LockStep.WAIT
    if next_holder is None:
        return LockStep.BECOME_NEXT
    return LockStep.STAY if next_holder.id == run.id else otherwise


def _instead_of(holder: Run, run: Run, next_holder: Run | None) -> OverlapDecision:
    """Let the newest run continue, whatever the order of claims.

    A run that was retried manually is as new as its retry.
    """
    if holder.asked_at > run.asked_at:
        return OverlapDecision(LockStep.SKIP)
    is_newer = next_holder is not None and next_holder.asked_at < run.asked_at
    step = _behind(run, next_holder, LockStep.REPLACE_NEXT if is_newer else LockStep.SKIP)
    waits_in_line = step not in (LockStep.SKIP, LockStep.WAIT)
    return OverlapDecision(step, stop_holder=waits_in_line and not holder.cancel_requested)
