"""Events that wait for a fire: a job with a pattern and a schedule runs at a fire only if an event came.

A fire uses the newest event that was accepted before it, unless an earlier fire has run with that event. So an event
that the bus delivers late counts for the next fire, and a fire that is decided late sees no later event.

Invariant: an event that came is used by a run, or is older than one that is, or is the newest that the next fire sees.
"""

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import (
    Event,
    WaitingEvent,
    WaitingEventKey,
    name_of_event,
    waiting_name,
    waiting_prefix,
)
from timeball.domain.planning.ledger import subscription_of


def needs_event(run: Run, job: Job) -> bool:
    """Return whether a run may only begin with an event: a fire of the schedule that has none, and never began."""
    is_fire = run.id.origin is Origin.SCHEDULE and run.attempt == 0
    return is_fire and run.event_digest is None and job.spec.needs_events


def waiting_event(job: Job, event: Event, digest: str) -> WaitingEvent | None:
    """Return the row of an event that came for a job, the same one however often it comes; None: it runs at once."""
    pattern = subscription_of(job.spec)
    if pattern is None or not job.spec.needs_events:
        return None
    name = waiting_name(pattern, job.generation, event.accepted_at, name_of_event(event.attributes))
    return WaitingEvent(WaitingEventKey(job.key, name), digest)


def after_later_events(job: Job, fire_at: int) -> tuple[str, str] | None:
    """Return the prefix of the names of a job's waiting events, and the last name that is too late for a fire."""
    pattern = subscription_of(job.spec)
    if pattern is None:
        return None
    return waiting_prefix(pattern, job.generation), waiting_name(pattern, job.generation, fire_at - 1)


def may_use(run: RunId, newest: WaitingEvent | None, user: Run | None) -> bool:
    """Say whether a fire may use the newest event before it; `user` is the row of the run that has taken that event.

    A run that was skipped all the same has not used it.
    """
    if newest is None:
        return False
    return newest.used_by in (None, run) or (user is not None and user.state is RunState.SKIPPED)
