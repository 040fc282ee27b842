"""What happens when a fire comes while an earlier run of its job is live: one pure decision, taken at the claim.

A job whose policy is not `allow` has an overlap lock: one run *holds* it, and at most one is *next in line* (`parked`).
Only the holder may start; its end hands the lock to the next in line.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.policies import OverlapPolicy
from timeball.domain.model.run import Run, RunState


class Step(StrEnum):
    """What a run does about the lock that it needs."""

    START = "start"
    """It holds the lock, or needs none."""
    ACQUIRE = "acquire"
    """The lock is free: take it, then start."""
    PARK = "park"
    """Be next in line: the end of the holder sends the run again."""
    TAKE_PLACE = "take_place"
    """End the run that is next in line, which is older, and take its place."""
    STAY = "stay"
    """It is next in line already."""
    SKIP = "skip"
    """It does not run, or not again."""
    WAIT = "wait"
    """It has started before: try again later."""


@dataclass(frozen=True)
class Overlap:
    """A step, and whether the run that holds the lock is stopped for it."""

    step: Step
    stop_holder: bool = False


def holds_nothing(run: Run | None) -> bool:
    """Say whether a run that a lock names keeps nobody from it: it is gone, over, or waits for its paused job."""
    return run is None or run.is_terminal or run.state is RunState.WITHDRAWN


def decide_overlap(policy: OverlapPolicy, run: Run, holder: Run | None, parked: Run | None) -> Overlap:
    """Decide about a run that is to be claimed, from the rows that the lock names, as read strongly.

    A holder that is over, withdrawn or gone holds nothing; a run that is no longer queued is not next in line. A holder
    that is retried manually takes its lock anew, so that a release for the end before is refused. So does
    one that has a run next in line: a slow pause may be about to let them change places.
    """
    if policy is OverlapPolicy.ALLOW:
        return Overlap(Step.START)
    if holder is not None and holder.id == run.id:
        may_be_moved = run.is_renewed or (run.is_unstarted and parked is not None)
        return Overlap(Step.ACQUIRE if may_be_moved else Step.START)
    if holder is None or holds_nothing(holder):
        return Overlap(Step.ACQUIRE)
    waiting = parked if parked is not None and parked.state is RunState.QUEUED else None
    if policy is OverlapPolicy.CANCEL_OTHER:
        return _instead_of(holder, run, waiting)
    if not run.is_unstarted:
        return Overlap(_behind(run, waiting, Step.WAIT))
    return Overlap(Step.SKIP if policy is OverlapPolicy.SKIP else _behind(run, waiting, Step.SKIP))


def _behind(run: Run, parked: Run | None, otherwise: Step) -> Step:
    """Be next in line if nobody else is: also a run that cannot be skipped, or newer fires would overtake it."""
    if run.state is not RunState.QUEUED:
        return Step.WAIT
    if parked is None:
        return Step.PARK
    return Step.STAY if parked.id == run.id else otherwise


def _instead_of(holder: Run, run: Run, parked: Run | None) -> Overlap:
    """Let the newest go on, in whatever order they come; one that was retried manually is as new as its retry."""
    if holder.asked_at > run.asked_at:
        return Overlap(Step.SKIP)
    if run.state is not RunState.QUEUED:
        return Overlap(Step.WAIT)
    if parked is None:
        step = Step.PARK
    elif parked.id == run.id:
        step = Step.STAY
    else:
        step = Step.TAKE_PLACE if parked.asked_at < run.asked_at else Step.SKIP
    return Overlap(step, stop_holder=step is not Step.SKIP and not holder.cancel_requested)
