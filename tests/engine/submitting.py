"""Submit jobs under a unique key, as the API does."""

from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.planning.collecting import collects_submits
from timeball.engine.context import Context
from timeball.engine.runs.trigger import collect_submit
from timeball.engine.scheduling.submit import Submission, meant_by, submit

_TRIES = 10


def submit_once(context: Context, spec: JobSpec, mark: str, by: Actor = NO_ACTOR) -> tuple[Submission, Job]:
    """Submit a job under its unique key, and return the outcome and the job. `mark` identifies the submit."""
    for _ in range(_TRIES):
        now = context.clock.now()
        (meant,) = meant_by(context, [spec], now)
        job = meant.job
        if job is None:
            (done,) = submit(context, [meant.spec], now, by)
            if done.outcome is Submission.CREATED:
                return done.outcome, done.job
            (job,) = context.store.jobs.read([meant.spec.key], with_work=True)
            if job is not None and (job.key, job.spec.work) == (spec.key, spec.work):
                return Submission.REPEATED, job  # this submit made it, and its answer was lost
        if job is not None and not collects_submits(job.spec):
            return Submission.REPEATED, job
        if job is not None and collect_submit(context, job, spec, mark, 0, by) is not None:
            return Submission.REPEATED, job
        (meant,) = meant_by(context, [spec], context.clock.now())
        if job is not None and meant.job == job:
            return Submission.REPEATED, job
    raise AssertionError("a submit under a unique key does not end")
