"""The next generation of a job that has ended: it begins anew under the same id, and its ledger goes on."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Shards
from timeball.domain.model.jobs.job import Intent, Job, JobSpec, Verb
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.tenants.actor import Actor


def renewed(job: Job, spec: JobSpec, since: int, now: int, by: Actor, depth: int) -> Job | None:
    """Return the next generation of a job that has ended; None if the job is open. Raises InvalidSchedule.

    The generation begins at `since` (ms), from which the relative times of the spec count.

    It keeps its position in the listing, its children and its overlap lock, which a run of the last generation may
    hold. Its children are notified, because they may go on. The intent ends what is left of the last generation.
    """
    if job.is_open:
        return None
    new = new_job(evolve(spec, fingerprint=job.spec.fingerprint), now, Shards(1), by, depth)
    return evolve(
        new,
        shard=job.shard,
        created_at=job.created_at,
        created_by=job.created_by,
        default_owner=job.default_owner,
        generation=job.generation + 1,
        generation_at=since,
        version=job.version + 1,
        schedule_version=job.schedule_version + 1,
        revision=job.revision,
        holder=job.holder,
        next_holder=job.next_holder,
        handed_at=job.handed_at,
        has_children=job.has_children,
        is_gate=job.is_gate and spec.schedule.is_one_off,
        must_notify_children=job.has_children,
        unblocked=job.unblocked,
        ancestors=job.ancestors,
        waits_since=now if new.waits else None,
        due_at=now,
        intent=Intent(Verb.RENEW, now, None),
    )
