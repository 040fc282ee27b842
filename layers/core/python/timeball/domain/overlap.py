"""What happens when a fire comes while an earlier run of its job is live: one pure decision, taken at the claim.

A job whose policy is not `allow` has a guard: the run that *holds* it, and at most one that is *parked* behind it. Only
the holder may start; its end hands the guard to the parked run.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.run import Run, RunState


class OverlapPolicy(StrEnum):
    """Run beside the earlier one; skip; wait behind it, one at most; or stop the earlier one and go on in its place."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queueOne"
    CANCEL_OTHER = "cancelOther"


class Step(StrEnum):
    """What a run does about the guard that it needs."""

    START = "start"
    """It holds the guard, or needs none."""
    ACQUIRE = "acquire"
    """The guard is free: take it, then start."""
    PARK = "park"
    """Stand behind the holder, whose end sends the run again."""
    TAKE_PLACE = "take_place"
    """End the run that is parked, which is older, and park instead of it."""
    STAY = "stay"
    """It is parked already."""
    SKIP = "skip"
    """It does not run."""
    WAIT = "wait"
    """It has started before and cannot be skipped: try again later."""


@dataclass(frozen=True)
class Overlap:
    """A step, and whether the run that holds the guard is stopped for it."""

    step: Step
    stop_holder: bool = False


def decide_overlap(policy: OverlapPolicy, run: Run, holder: Run | None, parked: Run | None) -> Overlap:
    """Decide about a run that is to be claimed, from the rows that the guard names, as read strongly.

    A holder that is over, withdrawn or gone holds nothing; a parked run that is no longer queued is not parked. A
    holder that is tried again by hand takes its guard anew: who is about to give it back, for the end before, must
    notice.
    """
    if policy is OverlapPolicy.ALLOW:
        return Overlap(Step.START)
    if holder is not None and holder.id == run.id:
        return Overlap(Step.ACQUIRE if run.is_renewed else Step.START)
    if holder is None or holder.is_terminal or holder.state is RunState.WITHDRAWN:
        return Overlap(Step.ACQUIRE)
    waiting = parked if parked is not None and parked.state is RunState.QUEUED else None
    if not run.is_unstarted:
        return Overlap(_place_of_started(policy, run, waiting))
    if policy is OverlapPolicy.SKIP or (policy is OverlapPolicy.CANCEL_OTHER and holder.id.fire_at > run.id.fire_at):
        return Overlap(Step.SKIP)  # messages come in any order: an older fire never stops a newer one
    step = _place(policy, run, waiting)
    stops = policy is OverlapPolicy.CANCEL_OTHER and step is not Step.SKIP and not holder.cancel_requested
    return Overlap(step, stop_holder=stops)


def _place_of_started(policy: OverlapPolicy, run: Run, parked: Run | None) -> Step:
    """Let a run that cannot be skipped stand behind the holder if it may, or newer fires would always be before it.

    Under cancelOther it may not: the next fire would end whoever stands there.
    """
    if policy is OverlapPolicy.CANCEL_OTHER or run.state is not RunState.QUEUED:
        return Step.WAIT
    if parked is None:
        return Step.PARK
    return Step.STAY if parked.id == run.id else Step.WAIT


def _place(policy: OverlapPolicy, run: Run, parked: Run | None) -> Step:
    if parked is None:
        return Step.PARK
    if parked.id == run.id:
        return Step.STAY
    newer = policy is OverlapPolicy.CANCEL_OTHER and parked.id.fire_at < run.id.fire_at
    return Step.TAKE_PLACE if newer else Step.SKIP
