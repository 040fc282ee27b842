"""Notify of late runs: the notice is created beside the run, and called only if the run has not come far enough.

So a notice is called even if nothing ever starts, as long as there are scans.
"""

from collections.abc import Sequence

from timeball.domain.ends.notices import is_late, notices_ahead
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.blackouts import Blackouts
from timeball.engine.context import Context
from timeball.engine.notices.post import due_when_passed, post
from timeball.ports.collections.rows import Swap


def post_ahead(context: Context, planned: Sequence[tuple[Job, Run, Blackouts]]) -> None:
    """Post the notices of runs that are about to be sent or were missed, except for runs that a freeze has made late.

    Raises UnavailableError.
    """
    free = [(job, run) for job, run, excluded in planned if excluded.frozen.end_of(run.regular_at) is None]
    post(context, [(run.depth, notice) for job, run in free for notice in notices_ahead(job, run)])


def sort_out(context: Context, jobs: Sequence[Job]) -> tuple[list[Job], frozenset[JobKey]]:
    """Return the jobs without the notices whose time has not come, and which of the notices among them are needless.

    A notice is needless if its run is in time. Raises UnavailableError.
    """
    ahead = [
        (job, notice.run, notice.milestone, job.next_fire_at)
        for job in jobs
        if (notice := job.spec.notice) is not None and notice.run is not None
        if notice.milestone is not None and job.next_fire_at is not None
    ]
    if not ahead:
        return list(jobs), frozenset()
    now = context.clock.now()
    early = [job for job, _, _, by in ahead if now < by]  # paused and resumed, so due like any job
    context.store.jobs.swap([Swap(job, due_when_passed(job, context.rules.lookahead_ms)) for job in early], now)
    left = {job.key for job in early}
    announced = [one for one in ahead if one[0].key not in left]
    names = list(dict.fromkeys(run for _, run, _, _ in announced))
    rows = dict(zip(names, context.store.runs.read(names), strict=True))
    in_time = {job.key for job, run, milestone, by in announced if not is_late(rows[run], milestone, by)}
    return [job for job in jobs if job.key not in left], frozenset(in_time)
