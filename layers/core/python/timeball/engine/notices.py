"""Notices: of runs that are late, and of how runs ended. A job that keeps failing is paused here, too.

A notice is posted as a one-off job, which the scan finds even if the process dies right afterwards. The notice of a
late run is created beside the run, and called only if the run has not come far enough. So it is called even if nothing
ever starts, as long as there are scans.

A job's row says whether the job is failing, so each streak of failures is notified once, in whatever order its runs
end. The notice of a failure is posted after that is written, from the job's row: the run's own row may have changed by
then. The notice of a recovery is posted before that is written. A process that repeats either finds the same notice.
The process that writes the state then reads again: a run that ends meanwhile may have read the job before. A streak of
runs that their parents stop is noted and notified in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timeball.domain.changes.change import paused
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, changed_by
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.jobs.revision import change_announced, revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import NO_ACTOR, Action
from timeball.domain.model.terms.notify import Milestone, News, RunEnd
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.run_ends.notices import (
    DECIDED,
    UNCOUNTED,
    as_posted,
    counts,
    end_of,
    failing,
    has_begun,
    is_late,
    is_stopped,
    is_to_pause,
    notice_of_end,
    notice_of_stop,
    notices_ahead,
    stopped,
    streak_needed,
    watches_blocks,
)
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

_IN_VAIN = 5
"""How many pages of a ledger without a counted end are read at most to find a job's newest ends."""


def post(context: Context, notices: Sequence[tuple[int, JobSpec | None]]) -> None:
    """Post the notices that are not None, each with its depth. A notice that is posted already stays.

    Raises UnavailableError.
    """
    now = context.clock.now()
    made = [
        new_job(as_posted(notice, context.console), now, context.shards, depth=depth)
        for depth, notice in notices
        if notice is not None
    ]
    new = [due_when_passed(notice, context.rules.lookahead_ms) for notice in made]
    if new:
        context.store.jobs.insert(new, now)


def due_when_passed(notice: Job, lookahead_ms: int) -> Job:
    """Defer a notice that is made ahead until its time: a scan processes what is due soon."""
    is_ahead = notice.spec.notice is not None and notice.spec.notice.milestone is not None
    return evolve(notice, due_at=(notice.next_fire_at or 0) + lookahead_ms) if is_ahead else notice


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
    ahead = [one for one in map(_ahead_of_time, jobs) if one is not None]
    if not ahead:
        return list(jobs), frozenset()
    now = context.clock.now()
    early = [one.job for one in ahead if now < one.by]  # paused and resumed, so due like any job
    context.store.jobs.swap([Swap(job, due_when_passed(job, context.rules.lookahead_ms)) for job in early], now)
    left = {job.key for job in early}
    needless = _needless(context, [one for one in ahead if one.job.key not in left])
    return [job for job in jobs if job.key not in left], needless


@dataclass(frozen=True)
class _Ahead:
    """A notice that was made ahead: its run must have reached the milestone by an instant (ms)."""

    job: Job
    run: RunId
    milestone: Milestone
    by: int


def _needless(context: Context, ahead: Sequence[_Ahead]) -> frozenset[JobKey]:
    """Return which notices are of runs that were in time."""
    names = list(dict.fromkeys(one.run for one in ahead))
    rows = dict(zip(names, context.store.runs.read(names), strict=True))
    return frozenset(one.job.key for one in ahead if not is_late(rows[one.run], one.milestone, one.by))


def _ahead_of_time(job: Job) -> _Ahead | None:
    notice = job.spec.notice
    if notice is None or notice.run is None or notice.milestone is None or job.next_fire_at is None:
        return None
    return _Ahead(job, notice.run, notice.milestone, job.next_fire_at)


def notify_of_ends(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Post the notices of ended runs (`may_notify`). May be repeated. Raises UnavailableError.

    Order of writes of post notices (about an end):

    1. Post the notice of a success, or of a recovery.
    2. Swap the job: failing since an end that it names, or no longer failing, or paused.
    3. Post the notice of a failure, from what the job names; check again.

    Safe: it is part of the effects; a notice's id is a hash of its content, so a repeat finds it. A retry changes the
    run's row and not the job's: after its swap it posts what is noted, and so does each later end of that run.
    """
    known = [(run, job) for run, job in runs if job is not None]
    counted = [(run, job) for run, job in known if counts(run)]
    post(context, [_success(job, run) for run, job in counted if run.state is RunState.SUCCEEDED])
    post(context, [_failure(job, run) for run, job in known if not counts(run) and _is_noted(job, [run])])
    for run, job in counted:
        if streak_needed(job):  # after a success too: this reading may not know yet that the job is failing
            _notify_of_streak(context, run)
    notify_of_blocks(context, runs)


def notify_of_blocks(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Post the notices of streaks of runs that their parents stop. May be repeated. Raises UnavailableError.

    Order of writes of post notices of blocks (about runs that are stopped, or have begun and ended):

    1. Post the notice of the streak that the job names, before it names another run or none.
    2. Swap the job: stopped since a run that it names, or no longer stopped.
    3. Post the notice from what the job names.

    Safe: it is part of the effects of an end, and of each evaluation of a run that stays blocked; a notice's id is a
    hash of its content, so a repeat finds it.
    """
    for run, job in runs:
        if watches_blocks(run, job):
            _notify_of_stop(context, run)


def _notify_of_stop(context: Context, run: Run) -> None:
    """Record whether the parents of a job stop run after run, and post the notice of it."""
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([run.id.job], with_work=True)
        if job is None:
            return
        is_news = job.stopped is not None or is_stopped(run)
        after_blocked = 0 if job.spec.notify is None else job.spec.notify.after_blocked
        newest = _newest_runs(context, job, after_blocked, _is_stopped_or_begun) if is_news else []
        after = stopped(job, newest, run)
        if after == job:  # also after the write: a run that ended meanwhile may have read the job before
            is_noted = job.stopped is not None and any(one.id == job.stopped.run for one in (run, *newest))
            post(context, [(run.depth, notice_of_stop(job))] if is_noted else [])
            return
        if job.stopped is not None:
            post(context, [(run.depth, notice_of_stop(job))])
        context.store.jobs.swap([Swap(job, after)], context.clock.now())
    raise UnavailableError(f"job {run.id.job.job_id} kept changing")


def _is_stopped_or_begun(run: Run) -> bool:
    return is_stopped(run) or has_begun(run)


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
        now = context.clock.now()
        after = _failing_or_paused(context, job, newest, now)
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


def _failing_or_paused(context: Context, job: Job, newest: Sequence[Run], now: int) -> Job:
    """Return a job as its newest ends leave it: failing or not, and paused if it has failed too often."""
    after = failing(job, newest)
    if not is_to_pause(job, newest):
        return after
    after = changed_by(evolve(paused(after, now), paused_by_failures=True), Action.PAUSE, NO_ACTOR, now)
    context.store.changes.note([revision_of(job), change_announced(after)], now)
    return after


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


def _success(job: Job, run: Run) -> tuple[int, JobSpec | None]:
    """Return the notice of a success, with the depth of its run."""
    return run.depth, notice_of_end(job, News.SUCCESS, end_of(run))


def _failure(job: Job, by: Run) -> tuple[int, JobSpec | None]:
    """Return the notice of the end since which a job is failing, with the depth of the run that shows it."""
    return by.depth, None if job.failing is None else notice_of_end(job, News.FAILURE, job.failing)


def _newest_ends(context: Context, job: Job, run: Run) -> list[Run]:
    """Return a job's newest ends, as many as its policy counts, the newest first: at least the run that has ended.

    That run may be out of reach if very many fires since then were skipped, or are live.
    """
    return _newest_runs(context, job, streak_needed(job), counts, DECIDED) or [run]


def _newest_runs(
    context: Context,
    job: Job,
    most: int,
    is_wanted: Callable[[Run], bool],
    states: frozenset[RunState] = frozenset(),
) -> list[Run]:
    """Return the newest wanted runs of a job's present generation, the newest first. Many others may hide them."""
    found, in_vain = list[Run](), 0
    query = LedgerQuery(job.key, most, states=states)
    while len(found) < most and in_vain < _IN_VAIN:
        page = context.store.runs.ledger(query)
        new = [run for run in page.runs if is_wanted(run) and job.owns(run.id)]
        found, in_vain = found + new, in_vain + (not new)
        if page.next_before is None:
            break
        query = _further_back(query, page.next_before)
    return found[:most]


def _further_back(query: LedgerQuery, before: RunId) -> LedgerQuery:
    """Return the query for the next page. At one instant, uncounted rows come last, and may be a thousand."""
    if before.origin in UNCOUNTED:
        return evolve(query, before=None, to_at=before.fire_at - 1)
    return evolve(query, before=before)
