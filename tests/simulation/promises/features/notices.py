"""Promises about notices: each piece of news has its own notice, and there are no others."""

from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, Priority
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.notify import Milestone, News, Notice
from timeball.domain.run_ends.notices import (
    counts,
    end_of,
    has_begun,
    is_stopped,
    notice_of_end,
    notice_of_stop,
    notices_ahead,
    streak_length,
)
from timeball.domain.time.instants import LATEST

_MOST_BETWEEN = 15


def is_needless(job: Job) -> bool:
    """Return whether a job is a notice that was needless."""
    return job.spec.notice is not None and job.status is JobStatus.SKIPPED


def is_ahead(job: Job) -> bool:
    """Return whether a job is a notice that is evaluated only after its instant."""
    return job.spec.notice is not None and job.spec.notice.milestone is not None


def _notices_of(story: Story, news: News) -> Iterator[Job]:
    for job in story.store.jobs.values():
        if job.spec.notice is not None and job.spec.notice.news is news:
            yield job


def _is_there(story: Story, notice: JobSpec | None) -> bool:
    return notice is None or notice.key in story.store.jobs


def _each_success_sends_a_notice(story: Story) -> Iterator[str]:
    coming = {run for priority in Priority for run, _ in story.queue.waiting(priority)}  # their effects may come
    for run in story.store.runs.values():
        job = story.store.jobs.get(run.id.job)
        if job is None:  # another check complains of that
            continue
        is_over = run.state is RunState.SUCCEEDED and (run.finished_at or 0) <= story.ends_at  # and its effects too
        if (
            is_over
            and run.id not in coming
            and counts(run)
            and not _is_there(story, notice_of_end(job, News.SUCCESS, end_of(run)))
        ):
            yield f"{run} of {job}"


def _a_job_that_begins_to_fail_sends_a_notice(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        before, after = write.before, write.after
        if before is None or after.failing is None or after.failing == before.failing:
            continue
        if write.at > story.ends_at:  # the effects may still be under way
            continue
        if not _is_there(story, notice_of_end(after, News.FAILURE, after.failing)):
            yield str(write)


def _a_job_that_recovers_sends_a_notice(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        before, after = write.before, write.after
        if before is None or before.failing is None or after.failing is not None:
            continue
        if not _is_there(story, notice_of_end(after, News.RECOVERY, before.failing, since=before.failing)):
            yield str(write)


def _a_job_is_failing_as_its_newest_ends_say(story: Story) -> Iterator[str]:
    """This holds even if runs ended at the same time. A run that is rerun and cancelled is no longer an end.

    If pages are short, five of them do not reach an end further back.
    """
    for job in story.store.jobs.values():
        notify = job.spec.notify
        if notify is None or not notify.watches_streaks:
            continue
        ends = [run for run in story.store.runs.values() if run.id.job == job.key and counts(run)]
        newest = sorted(ends, key=lambda run: (run.id.fire_at, run.id.origin), reverse=True)
        began = None if job.failing is None else story.store.runs[job.failing.run]
        is_over = began is not None and began.state is RunState.FAILED and streak_length(newest) == 0
        is_unseen = began is None and streak_length(newest) >= notify.after_failures
        if story.store.past.blur.pages_are_short and is_unseen:
            oldest_at = newest[notify.after_failures - 1].id.fire_at
            others = [run for run in story.store.runs.values() if run.id.job == job.key and not counts(run)]
            is_unseen = sum(run.id.fire_at >= oldest_at for run in others) < _MOST_BETWEEN
        if story.store.past.blur.pages_are_short and is_over:
            is_over = not _lay_too_far_back(story, job, newest[0])
        if (is_over or is_unseen) and all((run.finished_at or 0) <= story.ends_at for run in ends):
            yield f"{job} after {newest[: notify.after_failures]}"


def _lay_too_far_back(story: Story, job: Job, end: Run) -> bool:
    """Return whether five short pages showed no end when the job was noted as failing.

    Then the failed run, which lies further back, counts as the newest. An end that came later was seen.
    """
    history = story.store.history
    noted = [write for write in history.of_job(job.key) if write.before and write.before.failing is None]
    at = max(write.at for write in noted if write.after.failing == job.failing)
    place = (end.id.fire_at, end.id.origin)
    later = [run for run in story.store.runs if run.job == job.key and (run.fire_at, run.origin) > place]
    between = [row for run in later if (row := history.run_at(run, at)) is not None and not counts(row)]
    standing = history.run_at(end.id, at)
    return standing is not None and counts(standing) and len(between) >= _MOST_BETWEEN


def _a_job_that_its_parents_stop_sends_a_notice(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        before, after = write.before, write.after
        if before is None or after.stopped is None or after.stopped == before.stopped or write.at > story.ends_at:
            continue
        if not _is_there(story, notice_of_stop(after)):
            yield str(write)


def _a_job_is_stopped_as_its_newest_runs_say(story: Story) -> Iterator[str]:
    """Short pages may hide runs. A change of the job's parents or notices is no news of its runs."""
    for job in story.store.jobs.values():
        notify = job.spec.notify
        if notify is None or notify.on_blocked is None or story.store.past.blur.pages_are_short:
            continue
        rows = [run for run in story.store.runs.values() if run.id.job == job.key and job.owns(run.id)]
        newest = sorted(filter(_is_stopped_or_begun, rows), key=lambda run: (run.id.fire_at, run.id.origin))
        streak = newest[-notify.after_blocked :]
        written = [write.at for run in streak for write in story.store.history.of_run(run.id)]
        is_streak = len(streak) == notify.after_blocked and all(map(is_stopped, streak))
        if is_streak and job.stopped is None and max(written) <= story.ends_at:
            yield f"{job} after {streak}"


def _is_stopped_or_begun(run: Run) -> bool:
    return is_stopped(run) or has_begun(run)


def _only_a_streak_of_failures_pauses_a_job(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        before, after = write.before, write.after
        if before is None or not after.paused_by_failures or before.paused_by_failures:
            continue
        failed = [
            one.after.id
            for one in story.store.history.runs
            if one.after.id.job == after.key and one.at <= write.at and one.after.state is RunState.FAILED
        ]
        if len(set(failed)) < (after.spec.pause_after_failures or 0):
            yield f"{write} after {failed}"


def _a_notice_sends_no_notice(story: Story) -> Iterator[str]:
    for job in story.store.jobs.values():
        if job.spec.notice is None:
            continue
        of = JobKey(job.key.tenant, job.spec.notice.job_id)
        if story.store.jobs[of].spec.notice is not None or job.spec.notify is not None:
            yield str(job)


def _each_run_that_may_be_late_has_its_notice_ahead(story: Story) -> Iterator[str]:
    for run in story.store.runs.values():
        job = story.store.jobs[run.id.job]
        always = all(write.after.spec.notify == job.spec.notify for write in story.store.history.of_job(job.key))
        was_sent = run.attempt > 0 and run.id.origin is Origin.SCHEDULE
        was_free = not any(
            freeze.from_at <= run.regular_at < (freeze.to_at or LATEST)
            for freeze in story.store.history.freezes_between(job, 0, LATEST)
        )
        for notice in notices_ahead(job, run) if was_sent and always and was_free else ():
            if not _is_there(story, notice):
                yield f"{run} has no {notice.notice}"


def _exactly_the_late_runs_send_a_notice(story: Story) -> Iterator[str]:
    """Checked are runs that succeeded at their first attempt, by the times on their rows."""
    for job in _notices_of(story, News.LATE):
        notice, by = job.spec.notice, job.final_fire_at or 0
        run = story.store.runs.get(notice.run) if notice is not None and notice.run is not None else None
        if (
            notice is None
            or run is None
            or run.state is not RunState.SUCCEEDED
            or run.attempt > 1
            or run.marked_succeeded
        ):
            continue
        # A notice may be decided before the run's row shows it: a process that stalls writes late.
        written = (write.at for write in story.store.history.of_run(run.id) if _has_come(write.after, notice))
        is_end = notice.milestone is Milestone.SUCCEEDED
        came_at = max(min(written, default=LATEST), (run.finished_at if is_end else run.first_started_at) or 0)
        stood = [
            write.after for write in story.store.history.of_run(run.id) if write.at <= job.updated_at + MOST_SKEW_MS
        ]
        was_free = any(one.state is RunState.QUEUED and one.reason is None for one in stood[-1:])
        if is_needless(job) and was_free:
            yield f"came at {came_at} and by {by} it was needless at {job.updated_at}: {job}, {run}"
        if job.status in (JobStatus.COMPLETED, JobStatus.FAILED) and came_at < by - MOST_SKEW_MS:
            yield f"came at {came_at} and by {by} it was called: {job}, {run}"


def _has_come(run: Run, notice: Notice) -> bool:
    return run.state is RunState.SUCCEEDED if notice.milestone is Milestone.SUCCEEDED else run.attempt > 0


def _a_notice_is_called_or_needless_in_the_end(story: Story) -> Iterator[str]:
    for job in story.store.jobs.values():
        if job.spec.notice is not None and job.is_open and job.due_at is not None and job.due_at < story.ends_at:
            yield str(job)


PROMISES = (
    _each_success_sends_a_notice,
    _a_job_that_begins_to_fail_sends_a_notice,
    _a_job_that_recovers_sends_a_notice,
    _a_job_is_failing_as_its_newest_ends_say,
    _a_job_that_its_parents_stop_sends_a_notice,
    _a_job_is_stopped_as_its_newest_runs_say,
    _only_a_streak_of_failures_pauses_a_job,
    _a_notice_sends_no_notice,
    _each_run_that_may_be_late_has_its_notice_ahead,
    _exactly_the_late_runs_send_a_notice,
    _a_notice_is_called_or_needless_in_the_end,
)
