"""Tell of how runs have ended: a success, a streak of failures, a recovery; and pause a job that fails again and again.

Whether a job is failing stands on its row, so each streak is told of once, in whatever order its runs end. A failure is
told after that is written, and at the latest before its run is tried again; a recovery is told before that is written.
Whoever repeats either finds the same notice. Who writes it looks again: a run that ends meanwhile may have read the job
before.
"""

from collections.abc import Sequence

from timeball.domain.changes.change import paused
from timeball.domain.ends.notices import (
    DECIDED,
    UNCOUNTED,
    counts,
    end_of,
    failing,
    is_to_pause,
    looked_back,
    notice_of_end,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobSpec, changed_by
from timeball.domain.model.jobs.revision import change_announced, revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import NOBODY, Action
from timeball.domain.model.terms.notify import End, News
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.notices.post import post
from timeball.ports.collections.rows import Swap
from timeball.ports.collections.runs import LedgerQuery
from timeball.ports.errors import UnavailableError

_IN_VAIN = 5
"""So many pages of a ledger are looked through in vain for a job's newest ends."""


def tell_of_ends(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Tell what is news about ended runs; jobs of which nobody wants to know cost nothing. May be repeated.

    Raises UnavailableError.
    """
    ended = [(run, job) for run, job in runs if job is not None and counts(run)]
    succeeded = [(run, job) for run, job in ended if run.state is RunState.SUCCEEDED]
    post(context, [(run.depth, notice_of_end(job, News.SUCCESS, run)) for run, job in succeeded])
    for run, job in ended:
        if looked_back(job):  # a success too: this reading may not know yet that the job is failing
            _tell_of_streak(context, run)


def tell_before_change(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Tell of failures that are noted, before their runs are changed: whoever noted one may not have come to tell it.

    Afterwards nobody would know any more how it had ended. Raises UnavailableError.
    """
    noted = [(run, job) for run, job in runs if job is not None and job.failing == end_of(run)]
    post(context, [_failure(job, run) for run, job in noted if run.state is RunState.FAILED])


def _tell_of_streak(context: Context, run: Run) -> None:
    """Note if a job is failing now that a run has ended, pause it if it is to be, and tell what of that is news."""
    is_news = run.state is RunState.FAILED
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([run.id.job], with_work=True)
        if job is None:
            return
        is_news = is_news or job.failing is not None
        newest = _newest_ends(context, job, run) if is_news else [run]
        now, after = context.clock.now(), failing(job, newest)
        if is_to_pause(job, newest):
            after = changed_by(evolve(paused(after, now), paused_by_failures=True), Action.PAUSE, NOBODY, now)
            context.store.changes.note([revision_of(job), change_announced(after)], now)
        if after == job:
            post(context, [_failure(job, one) for one in (run, *newest) if end_of(one) == job.failing][:1])
            return
        if after.failing is None and job.failing is not None:
            _tell_of_recovery(context, job, job.failing, newest[0])
        context.store.jobs.swap([Swap(job, after)], now)
    raise UnavailableError(f"job {run.id.job.job_id} kept changing")


def _failure(job: Job, run: Run) -> tuple[int, JobSpec | None]:
    return run.depth, notice_of_end(job, News.FAILURE, run)


def _tell_of_recovery(context: Context, job: Job, since: End, by: Run) -> None:
    """Tell of a recovery; and of the failure before: whoever noted that may not have come to tell it yet."""
    failed = [run for run in context.store.runs.read([since.run]) if run is not None and end_of(run) == since]
    recovery = by.depth, notice_of_end(job, News.RECOVERY, by, since)
    post(context, [*(_failure(job, run) for run in failed), recovery])


def _newest_ends(context: Context, job: Job, run: Run) -> list[Run]:
    """Return as many of a job's newest ends as are looked back at, the newest first: at least the run that has ended.

    That lies further back than is looked if very many fires since were skipped, or live.
    """
    most, found, in_vain = looked_back(job), list[Run](), 0
    query = LedgerQuery(job.key, most, states=DECIDED)
    while len(found) < most and in_vain < _IN_VAIN:
        page = context.store.runs.ledger(query)
        new = [run for run in page.runs if counts(run)]
        found, in_vain = found + new, in_vain + (not new)
        if page.next_before is None:
            break
        query = _further_back(query, page.next_before)
    return found[:most] or [run]


def _further_back(query: LedgerQuery, before: RunId) -> LedgerQuery:
    """Return the query for the next page. Of an instant those that do not count come last, and may be a thousand."""
    if before.origin in UNCOUNTED:
        return evolve(query, before=None, to_at=before.fire_at - 1)
    return evolve(query, before=before)
