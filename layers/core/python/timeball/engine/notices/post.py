"""Post notices: each is inserted as a one-off job, which the scan finds even if the process dies right afterwards."""

from collections.abc import Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.new_job import new_job
from timeball.engine.context import Context


def post(context: Context, notices: Sequence[tuple[int, JobSpec | None]]) -> None:
    """Post the notices that are not None, each with its generation. A notice that is posted already stays.

    Raises UnavailableError.
    """
    now = context.clock.now()
    new = [
        due_when_passed(new_job(notice, now, context.shards, depth=depth), context.rules.lookahead_ms)
        for depth, notice in notices
        if notice is not None
    ]
    if new:
        context.store.jobs.insert(new, now)


def due_when_passed(notice: Job, lookahead_ms: int) -> Job:
    """Defer a notice that is made ahead until its time: a scan processes what is due soon."""
    is_ahead = notice.spec.notice is not None and notice.spec.notice.milestone is not None
    return evolve(notice, due_at=(notice.next_fire_at or 0) + lookahead_ms) if is_ahead else notice
