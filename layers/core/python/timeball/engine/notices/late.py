"""Tell of runs that are late: the notice is made beside the run, and called only if the run has not come so far.

So it is told also where nothing ever starts, as long as there are scans.
"""

from collections.abc import Sequence

from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.job_ends import concluded
from timeball.domain.model.run import Run
from timeball.domain.policy.exclusions import Exclusions
from timeball.domain.policy.notices import is_late, notices_ahead
from timeball.engine.context import Context
from timeball.engine.notices.post import due_when_passed, post
from timeball.ports.rows import Swap


def post_ahead(context: Context, planned: Sequence[tuple[Job, Run, Exclusions]]) -> None:
    """Post the notices of runs that are about to be sent, or were missed; not of those that a freeze has made late.

    Raises UnavailableError.
    """
    free = [(job, run) for job, run, excluded in planned if excluded.frozen.end_of(run.regular_at) is None]
    post(context, [(run.depth, notice) for job, run in free for notice in notices_ahead(job, run)])


def end_needless(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """End the notices among jobs whose runs are in time; return the other jobs, but no notice before its time.

    Raises UnavailableError.
    """
    notices = [(job, job.spec.notice) for job in jobs if job.spec.notice is not None]
    ahead = [(job, one.run, one.milestone) for job, one in notices if one.run is not None and one.milestone is not None]
    if not ahead:
        return list(jobs)
    names = list(dict.fromkeys(run for _, run, _ in ahead))
    rows = dict(zip(names, context.store.runs.read(names), strict=True))
    now, swaps = context.clock.now(), list[Swap[Job]]()
    for job, run, milestone in ahead:
        by = job.next_fire_at or 0
        if now < by:  # it was paused and resumed, and is due as any job
            swaps.append(Swap(job, due_when_passed(job, context.rules.lookahead_ms)))
        elif not is_late(rows[run], milestone, by):
            swaps.append(Swap(job, concluded(job, JobStatus.SKIPPED, now)))
    context.store.jobs.swap(swaps, now)
    left = {one.before.key for one in swaps}
    return [job for job in jobs if job.key not in left]
