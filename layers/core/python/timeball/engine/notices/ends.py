"""Notify of how runs ended: a success, a streak of failures, a recovery. Pause a job that keeps failing.

A job's row says whether the job is failing, so each streak is notified once, in whatever order its runs end. The notice
of a failure is posted after that is written, from the job's row: the run's own row may have changed by then. The notice
of a recovery is posted before that is written. A process that repeats either finds the same notice. The process that
writes the state then reads again: a run that ends meanwhile may have read the job before.
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
    notice_of_end,
    streak_needed,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobSpec, changed_by
from timeball.domain.model.jobs.revision import change_announced, revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import NO_ACTOR, Action
from timeball.domain.model.terms.notify import News, RunEnd
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.notices.post import post
from timeball.ports.collections.rows import Swap
from timeball.ports.collections.runs import LedgerQuery
from timeball.ports.errors import UnavailableError

_IN_VAIN = 5
"""How many pages of a ledger without a counted end are read at most to find a job's newest ends."""


def notify_of_ends(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Post the notices of ended runs. Jobs whose users want no notices cost nothing. May be repeated.

    Raises UnavailableError.
    """
    ended = [(run, job) for run, job in runs if job is not None and run.is_terminal]
    succeeded = [(run, job) for run, job in ended if counts(run) and run.state is RunState.SUCCEEDED]
    post(context, [(run.depth, notice_of_end(job, News.SUCCESS, end_of(run))) for run, job in succeeded])
    post(context, [_failure(job, run) for run, job in ended if not counts(run) and _is_noted(job, [run])])
    for run, job in ended:
        if counts(run) and streak_needed(job):  # a success too: this reading may not know yet that the job is failing
            _notify_of_streak(context, run)


def notify_after_change(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Post notices of recorded failures after their runs were changed: the process that recorded one may have died.

    A failure that is recorded only now is notified at the latest by the run's next end. Raises UnavailableError.
    """
    failed = [run for run, job in runs if job is not None and streak_needed(job) and run.state is RunState.FAILED]
    jobs = context.store.jobs.read([run.id.job for run in failed]) if failed else []
    noted = [(run, job) for run, job in zip(failed, jobs, strict=True) if job is not None and _is_noted(job, [run])]
    post(context, [_failure(job, run) for run, job in noted])


def _notify_of_streak(context: Context, run: Run) -> None:
    """Record whether a job is failing now that a run has ended, pause it if that is due, and post the notices of it."""
    is_news, noted = run.state is RunState.FAILED, None
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([run.id.job], with_work=True)
        if job is None:
            return
        is_news = is_news or job.failing is not None
        newest = _newest_ends(context, job, run) if is_news else [run]
        now, after = context.clock.now(), failing(job, newest)
        if is_to_pause(job, newest):
            after = changed_by(evolve(paused(after, now), paused_by_failures=True), Action.PAUSE, NO_ACTOR, now)
            context.store.changes.note([revision_of(job), change_announced(after)], now)
        if after == job:
            post(context, [_failure(job, run)] if job.failing != noted and _is_noted(job, [run, *newest]) else [])
            return
        if after.failing is None and job.failing is not None:
            _notify_of_recovery(context, job, job.failing, newest[0])
        (swapped,) = context.store.jobs.swap([Swap(job, after)], now)
        if swapped.done and job.failing is None:
            noted = after.failing
            post(context, [_failure(after, run)])
    raise UnavailableError(f"job {run.id.job.job_id} kept changing")


def _notify_of_recovery(context: Context, job: Job, since: RunEnd, by: Run) -> None:
    """Post the notice of a recovery, and of the failure before it unless the failed run's row has expired.

    The process that recorded the failure may have died before it posted the notice.
    """
    failed = [run for run in context.store.runs.read([since.run]) if run is not None]
    recovery = by.depth, notice_of_end(job, News.RECOVERY, end_of(by), since)
    post(context, [*(_failure(job, run) for run in failed), recovery])


def _is_noted(job: Job, runs: Sequence[Run]) -> bool:
    """Return whether a job is failing since the end of one of these runs."""
    return job.failing is not None and any(run.id == job.failing.run for run in runs)


def _failure(job: Job, by: Run) -> tuple[int, JobSpec | None]:
    """Return the notice of the end since which a job is failing, with the generation of the run that shows it."""
    return by.depth, None if job.failing is None else notice_of_end(job, News.FAILURE, job.failing)


def _newest_ends(context: Context, job: Job, run: Run) -> list[Run]:
    """Return a job's newest ends, as many as its policy counts, the newest first: at least the run that has ended.

    That run may be out of reach if very many fires since then were skipped, or are live.
    """
    most, found, in_vain = streak_needed(job), list[Run](), 0
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
    """Return the query for the next page. At one instant, uncounted rows come last, and may be a thousand."""
    if before.origin in UNCOUNTED:
        return evolve(query, before=None, to_at=before.fire_at - 1)
    return evolve(query, before=before)
