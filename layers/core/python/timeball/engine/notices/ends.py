"""Tell of how runs have ended: a success, a streak of failures, a recovery; and pause a job that fails again and again.

Whether a job is failing stands on its row, so each streak is told of once, in whatever order its runs end. A failure is
told after that is written, a recovery before: whoever repeats either finds the same notice.
"""

from collections.abc import Sequence

from timeball.domain.model.actor import NOBODY, Action
from timeball.domain.model.evolve import evolve
from timeball.domain.model.job import Job, changed_by
from timeball.domain.model.notify import News
from timeball.domain.model.revision import change_announced, revision_of
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.change import paused
from timeball.domain.policy.notices import DECIDED, counts, failing, is_to_pause, looked_back, notice_of_end
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.notices.post import post
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.ports.runs import LedgerQuery

_PAGES = 5
"""So many pages of a ledger are looked through for a job's newest ends."""


def tell_of_ends(context: Context, runs: Sequence[tuple[Run, Job | None]]) -> None:
    """Tell what is news about ended runs; jobs of which nobody wants to know cost nothing. May be repeated.

    Raises UnavailableError.
    """
    ended = [(run, job) for run, job in runs if job is not None and counts(run)]
    succeeded = [(run, job) for run, job in ended if run.state is RunState.SUCCEEDED and job.spec.notify is not None]
    post(context, [(job, notice_of_end(job, News.SUCCESS, run)) for run, job in succeeded])
    for run, job in ended:
        if looked_back(job) and (run.state is RunState.FAILED or job.failing is not None or _may_recover(job)):
            _tell_of_streak(context, run)


def _may_recover(job: Job) -> bool:
    """Say whether somebody is to be told of a recovery: this reading may not know yet that the job is failing."""
    return job.spec.notify is not None and job.spec.notify.on_recovery is not None


def _tell_of_streak(context: Context, run: Run) -> None:
    """Note whether a job is failing now that a run has ended, tell it if that is new, and pause the job if it is to."""
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([run.id.job], with_work=True)
        if job is None:
            return
        newest = _newest_ends(context, job) if run.state is RunState.FAILED or job.failing is not None else []
        now, after = context.clock.now(), failing(job, run, newest)
        if after.failing is None and job.failing is not None:
            post(context, [(job, notice_of_end(job, News.RECOVERY, newest[0], since=job.failing))])
        if is_to_pause(job, newest):
            after = changed_by(evolve(paused(after, now), paused_by_failures=True), Action.PAUSE, NOBODY, now)
            context.store.changes.note([revision_of(job), change_announced(after)], now)
        if after == job or context.store.jobs.swap([Swap(job, after)], now)[0].done:
            if after.failing == run.id:
                post(context, [(job, notice_of_end(job, News.FAILURE, run))])
            return
    raise UnavailableError(f"job {run.id.job.job_id} kept changing")


def _newest_ends(context: Context, job: Job) -> list[Run]:
    """Return as many of a job's newest ends as are looked back at, the newest first."""
    most, found = looked_back(job), list[Run]()
    query = LedgerQuery(job.key, most, states=DECIDED)
    for _ in range(_PAGES):
        page = context.store.runs.ledger(query)
        found += [run for run in page.runs if counts(run)]
        if len(found) >= most or page.next_before is None:
            break
        query = evolve(query, before=page.next_before)
    return found[:most]
