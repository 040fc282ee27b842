"""The row for an event that matches a job's pattern, given the job's status: a run, a skipped row, or none."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.gate_waits import NO_WAITS, GateWaits
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.event import Event, SubscriptionKey, subscription_key
from timeball.domain.planning.ledger import queued_run


def subscription_of(spec: JobSpec) -> SubscriptionKey | None:
    """Return the subscription of a job that runs on events."""
    return None if spec.event is None else subscription_key(spec.key.tenant, spec.event)


def event_row(job: Job, event: Event, digest: str | None, now: int, *, put_off: bool = False) -> Run:
    """Return the row of an event that matches the pattern of an open job. If the job is paused, it is skipped.

    `digest` names the payload of the run. The instant is the one at which the event was first accepted, so the row is
    the same however often the event comes. If it was `put_off`, the tenant's quota of created runs held it.
    """
    run = evolve(
        queued_run(job, Origin.EVENT, event.accepted_at, now),
        id=event.run_of(job.key),
        depth=max(job.depth, event.depth),
        gate_waits=GateWaits(event.accepted_at).by("quota", now) if put_off else NO_WAITS,
    )
    if job.status is JobStatus.PAUSED:
        return evolve(run, state=RunState.SKIPPED, finished_at=now, reason=Reason.JOB_PAUSED)
    return evolve(run, due_at=max(event.accepted_at, now), work_digest=digest)
