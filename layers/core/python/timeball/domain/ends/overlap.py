"""What happens when a fire comes while an earlier run of its job is live: one pure decision, taken at the claim.

A job whose policy is not `allow` has an overlap lock: one run *holds* it, and at most one is *next in line* (`parked`).
Only the holder may start; its end hands the lock to the next in line.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy


class Step(StrEnum):
    """What a run does about the lock that it needs."""

    START = "start"
    """It holds the lock, or needs none."""
    ACQUIRE = "acquire"
    """The lock is free: take it, then start."""
    PARK = "park"
    """Be next in line: the end of the holder sends the run again."""
    TAKE_PLACE = "take_place"
    """End the run that is next in line, and take its place: that is older, or it has started before."""
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


def decide_overlap(
    policy: OverlapPolicy, run: Run, holder: Run | None, parked: Run | None, *, supersedes: bool = False
) -> Overlap:
    """Decide about a run that is to be claimed, from the rows that the lock names, as read strongly.

    A holder that is over, withdrawn or gone holds nothing; a run that is no longer queued is not next in line. A holder
    takes its lock anew before the first attempt of a budget: so whoever read it as over, before a manual retry, or as
    withdrawn, before a resume, is refused if it is about to move the lock. One that `supersedes` takes the place of an
    older one in line that has not started; a run that has started before takes the place of a newer one that has not.
    """
    if policy is OverlapPolicy.ALLOW:
        return Overlap(Step.START)
    if holder is not None and holder.id == run.id:
        return Overlap(Step.START if run.attempts_spent else Step.ACQUIRE)
    if holder is None or holds_nothing(holder):
        return Overlap(Step.ACQUIRE)
    waiting = parked if parked is not None and parked.state is RunState.QUEUED else None
    if policy is OverlapPolicy.CANCEL_OTHER:
        return _instead_of(holder, run, waiting)
    if not run.is_unstarted:
        # It asks only now and then, and newer fires at their instants: else one of these would always be next in line.
        is_older = waiting is not None and waiting.is_unstarted and run.asked_at < waiting.asked_at
        return Overlap(_behind(run, waiting, Step.TAKE_PLACE if is_older else Step.WAIT))
    if policy is OverlapPolicy.SKIP:
        return Overlap(Step.SKIP)
    is_newer = supersedes and waiting is not None and waiting.is_unstarted and waiting.asked_at < run.asked_at
    return Overlap(_behind(run, waiting, Step.TAKE_PLACE if is_newer else Step.SKIP))


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
    is_newer = parked is not None and parked.asked_at < run.asked_at
    step = _behind(run, parked, Step.TAKE_PLACE if is_newer else Step.SKIP)
    waits_in_line = step not in (Step.SKIP, Step.WAIT)
    return Overlap(step, stop_holder=waits_in_line and not holder.cancel_requested)
