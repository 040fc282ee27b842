"""Promises about a recovery from lost rows, messages and watches: what is due runs, and what is over stays over."""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.story import Story
from tests.simulation.world.loss import Loss
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import fires


def _each_due_instant_since_a_loss_has_one_row(story: Story) -> Iterator[str]:
    """Checked are the jobs that no user changed after the recovery was asked for, from their newest change on."""
    for loss in story.losses:
        for key, job in story.store.jobs.items():
            before = story.store.history.job_at(key, loss.asked[0][0])
            if before is not None and before.version == job.version:
                yield from _without_one_row(story, loss, job)


def _without_one_row(story: Story, loss: Loss, job: Job) -> Iterator[str]:
    first_at = job.change.next_fire_at
    if first_at is None or job.status in (JobStatus.CANCELLED, JobStatus.SKIPPED):
        return
    rows = [run for run in story.store.runs.values() if run.id.job == job.key and run.id.origin is Origin.SCHEDULE]
    last_at = min([loss.at, *(at for at in (_not_yet(job), job.final_fire_at) if at is not None)])
    for at in fires(job.spec.schedule, max(loss.since - MINUTE_MS, first_at), last_at):
        found = [row for row in rows if row.covers(at)]
        if len(found) != 1:
            yield f"{at - loss.since} ms after the rows that are left, {job} has {found}"


def _not_yet(job: Job) -> int | None:
    return None if job.next_fire_at is None else job.next_fire_at - 1


def _what_was_over_after_a_loss_is_not_called(story: Story) -> Iterator[str]:
    """Exceptions are runs that a user retries, and attempts whose claims were lost. A superseded run is not over."""
    for loss in story.losses:
        for at, over in ((loss.at, loss.over), *loss.asked):
            for one in story.receiver.arrivals:
                is_late = one.at > at and one.run in over and (one.run, one.attempt) not in loss.forgotten
                if is_late and not _is_retried(story, one.run, at):
                    yield f"{one} came {one.at - at} ms later, of {story.store.runs[one.run]}"


def _is_retried(story: Story, run: RunId, since: int) -> bool:
    return any(
        one.at >= since and one.before is not None and one.before.budget_at != one.after.budget_at
        for one in story.store.history.of_run(run)
    )


def _nothing_that_may_begin_once_is_called_twice(story: Story) -> Iterator[str]:
    """Each manual retry allows one more call, also one that is lost.

    A client may repeat a trigger whose row is lost: no row tells that from a first one.
    """
    for loss in story.losses:
        later = [one for one in story.receiver.arrivals if one.at > loss.at]
        calls = Counter(one.run for one in (*loss.arrivals, *later))
        for run, count in calls.items():
            is_once = run.job not in loss.often and _is_once(story, run.job)
            if is_once and count > 1 + _retries(story, loss, run) and not _is_triggered_again(story, loss, run):
                yield f"{run} was called {count} times: {story.store.runs.get(run)}"


def _is_triggered_again(story: Story, loss: Loss, run: RunId) -> bool:
    return run.origin is Origin.MANUAL and any(
        one.before is None and one.at > loss.at for one in story.store.history.of_run(run)
    )


def _retries(story: Story, loss: Loss, run: RunId) -> int:
    kept = {one.after.budget_at for one in story.store.history.of_run(run) if one.after.budget_at is not None}
    return len(kept | {at for name, at in loss.by_hand if name == run})


def _is_once(story: Story, key: JobKey) -> bool:
    return all(one.after.spec.delivery is Guarantee.AT_MOST_ONCE for one in story.store.history.of_job(key))


def _only_what_may_not_begin_again_is_in_doubt(story: Story) -> Iterator[str]:
    for run in _in_doubt(story):
        jobs = [one.after for one in story.store.history.of_job(run.id.job)]
        if not any(_may_doubt(job) for job in jobs):
            yield f"{run}, of {jobs[-1]}"


def _may_doubt(job: Job) -> bool:
    is_ended_once = job.spec.schedule.is_one_off and not job.is_open
    return is_ended_once or job.spec.delivery is Guarantee.AT_MOST_ONCE


def _in_doubt(story: Story) -> list[Run]:
    return [run for run in story.store.runs.values() if run.reason is Reason.RECOVERY_IN_DOUBT]


def _a_second_recovery_puts_nothing_in_doubt(story: Story) -> Iterator[str]:
    """Nothing was lost since the first: what it left to run may run.

    Checked are jobs that no user changed since, and whose calendar is that of the loss: it says which fires may have
    begun. A request that hung may store a run that looks older than the first recovery.
    """
    history = story.store.history
    for loss in story.losses:
        since, asked_at = loss.ended[0], loss.asked[0][0]
        for run in _in_doubt(story):
            ends = [one for one in history.of_run(run.id) if one.after.reason is Reason.RECOVERY_IN_DOUBT]
            versions = {job.version for job in history.jobs_between(run.id.job, asked_at, ends[0].at)}
            inserted = history.of_run(run.id)[0]
            was_slow = inserted is not ends[0] and inserted.at > asked_at > inserted.after.created_at
            is_as_it_was = len(versions) == 1 and not history.has_another_calendar(run.id.job, loss.since, ends[0].at)
            if ends[0].at > since and is_as_it_was and not was_slow:
                yield f"{ends[0]} came {ends[0].at - since} ms after the first was through"


def _nothing_is_left_behind_by_a_loss(story: Story) -> Iterator[str]:
    """Each run that was due is over, unless its job is paused."""
    for run in story.store.past.live.values():
        job = story.store.jobs[run.id.job]
        is_due = run.regular_at <= story.ends_at and job.status is not JobStatus.PAUSED
        if is_due and not (run.state is RunState.WITHDRAWN and job.intent is not None):
            yield f"{run}, of {job}"


PROMISES = (
    _each_due_instant_since_a_loss_has_one_row,
    _what_was_over_after_a_loss_is_not_called,
    _nothing_that_may_begin_once_is_called_twice,
    _only_what_may_not_begin_again_is_in_doubt,
    _a_second_recovery_puts_nothing_in_doubt,
    _nothing_is_left_behind_by_a_loss,
)
