"""The news about a job's runs, and the notices of it: pure functions of rows as they were read.

Invariant: a notice's id is a hash of its content, so every process that finds the same news makes the same notice.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.pages import page_of
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.model.terms.notify import Milestone, News, Notice, Notify, RunEnd
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, Target
from timeball.domain.templates.filling import Format, content_type_of, format_of, over_notice
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At, Schedule

TIMEOUT_SECONDS = 30
"""The timeout of a notice's call."""

DECIDED = frozenset({RunState.SUCCEEDED, RunState.FAILED})
"""The ends that extend or break a streak."""

_KEPT: Mapping[Milestone, frozenset[Reason]] = {
    Milestone.STARTED: frozenset({Reason.FROZEN, Reason.WAITING_FOR_PARENTS, Reason.BLOCKED}),
    Milestone.SUCCEEDED: frozenset({Reason.FROZEN}),
}
"""The reasons for which a run that has not begun is not late: a user wants it so; or, for its start alone, it waits
for other jobs."""

_BY_PARENTS = frozenset({Reason.PARENT_SKIPPED, Reason.PARENT_CANCELLED, Reason.RULE_UNMET, Reason.DEPENDENCY_TIMEOUT})
"""The reasons of runs that are skipped because of their parents."""
_BEGUN = frozenset({RunState.RUNNING, RunState.RETRYING, RunState.SUCCEEDED, RunState.FAILED})

UNCOUNTED = frozenset({Origin.BACKFILL, Origin.DEPENDENCY})
"""The origins of runs whose ends are no news. A backfill says nothing about today, and a head stands for its items."""


def counts(run: Run) -> bool:
    """Say whether the end of a run is news, and extends or breaks a streak."""
    return run.state in DECIDED and run.id.origin not in UNCOUNTED


def end_of(run: Run) -> RunEnd:
    """Return the name of a run's newest end."""
    return RunEnd(run.id, run.attempt, run.reason, run.finished_at or run.created_at)


def streak_length(newest: Sequence[Run]) -> int:
    """Return how many of a job's newest runs have failed in a row; the newest run comes first."""
    return next((index for index, run in enumerate(newest) if run.state is not RunState.FAILED), len(newest))


def is_stopped(run: Run) -> bool:
    """Say whether the parents of a run stop it: it is skipped because of them, or a failed one blocks it.

    The skipped range of a one-off is no run: a one-off has no streaks.
    """
    if run.id.origin in UNCOUNTED or run.last_fire_at is not None:
        return False
    if run.state is RunState.SKIPPED:
        return run.reason in _BY_PARENTS
    return run.state is RunState.QUEUED and run.blocked is not None


def has_begun(run: Run) -> bool:
    """Say whether a run has begun, and so ends a streak of runs that their parents stop."""
    was_cancelled = run.state is RunState.CANCELLED and run.attempt > 0
    return (run.state in _BEGUN or was_cancelled) and run.id.origin not in UNCOUNTED


def watches_blocks(run: Run, job: Job | None) -> bool:
    """Say whether a run extends or ends a streak of stopped runs of which its job's user wants notice."""
    notify = None if job is None or not job.owns(run.id) else job.spec.notify
    return notify is not None and notify.on_blocked is not None and (is_stopped(run) or has_begun(run))


def stopped(job: Job, newest: Sequence[Run], by: Run) -> Job:
    """Return a job with `stopped` set or cleared by its newest runs; the same job if that is no news.

    `newest` has its newest runs that have begun or are stopped, at most as many as are news, the newest first. `by` is
    the run that has begun or is stopped now; it may lie further back.
    """
    notify, since = job.spec.notify or Notify(), job.stopped
    if since is not None and any(has_begun(run) and run.id.fire_at >= since.run.fire_at for run in (by, *newest)):
        since = None
    is_streak = notify.on_blocked is not None and len(newest) >= notify.after_blocked and all(map(is_stopped, newest))
    if since is None and is_streak:
        since = end_of(newest[0])
    return evolve(job, stopped=since)


def streak_needed(job: Job) -> int:
    """Return how many of its newest ends decide whether a job is failing."""
    notify = job.spec.notify
    notified_after = notify.after_failures if notify is not None and notify.watches_streaks else 0
    return max(notified_after, job.spec.pause_after_failures or 0)


def may_notify(run: Run, job: Job | None) -> bool:
    """Say whether a run has ended and its job's user wants notices, or a pause after failures."""
    if job is None or not run.is_terminal or not job.owns(run.id):
        return False
    return job.spec.notify is not None or job.spec.pause_after_failures is not None


def failing(job: Job, newest: Sequence[Run]) -> Job:
    """Return a job with `failing` set or cleared by its newest ends; the same job if that is no news.

    `newest` has as many ends as `streak_needed` says, and at least one. The newest comes first.
    """
    notify, streak = job.spec.notify or Notify(), streak_length(newest)
    if notify.watches_streaks and job.failing is None and streak >= notify.after_failures:
        return evolve(job, failing=end_of(newest[0]))
    return evolve(job, failing=None) if job.failing is not None and streak == 0 else job


def is_to_pause(job: Job, newest: Sequence[Run]) -> bool:
    """Say whether a job has failed so often in a row that it must be paused.

    A change by its user restarts the count.
    """
    most = job.spec.pause_after_failures
    if most is None or job.status is not JobStatus.PENDING or job.intent is not None:
        return False
    return streak_length([run for run in newest if (run.finished_at or 0) >= job.change.at]) >= most


def notice_of_end(job: Job, news: News, end: RunEnd, since: RunEnd | None = None) -> JobSpec | None:
    """Return the notice of a run's end; None if the job's user does not want it.

    `since`: the end that began a streak. It identifies the notice, so that a streak has one, whichever run ends it.
    """
    facts = {"runId": str(end.run), "fireTime": format_instant(end.run.fire_at), "reason": end.reason}
    at = end.at or end.run.fire_at
    notice = Notice(news, job.key.job_id, end.run)
    return _notice(job, notice, {**facts, "attempts": end.attempt}, at, since or end, _target(job, news))


def notice_of_block(job: Job, blocked: Blocked, now: int, run: Run | None = None) -> JobSpec | None:
    """Return the notice that a job, or a run of it, is blocked; None if the job's user does not want it."""
    run_id, fire_at, before = (None, job.next_fire_at, job.unblocked)
    if run is not None:
        run_id, fire_at, before = run.id, run.id.fire_at, run.unblocked
    facts = {
        "runId": run_id and str(run_id),
        "fireTime": None if fire_at is None else format_instant(fire_at),
        "reason": Reason.BLOCKED,
        "attempts": 0,
        "blockedBy": str(blocked.by),
    }
    notice = Notice(News.BLOCKED, job.key.job_id, run_id)
    return _notice(job, notice, facts, now, (run_id, blocked.by, before), _target(job, News.BLOCKED))


def notice_of_stop(job: Job) -> JobSpec | None:
    """Return the notice of the streak of stopped runs that a job has noted; None if there is none or no wish for it."""
    if job.stopped is None:
        return None
    end, target = job.stopped, (job.spec.notify or Notify()).on_blocked
    facts = {"runId": str(end.run), "fireTime": format_instant(end.run.fire_at), "reason": end.reason, "attempts": 0}
    notice = Notice(News.BLOCKED, job.key.job_id, end.run)
    return _notice(job, notice, facts, end.at or end.run.fire_at, ("streak", end), target)


def notices_ahead(job: Job, run: Run) -> Iterator[JobSpec]:
    """Yield the notices that are called if a scheduled run has not reached a milestone in time.

    A fire that is skipped as missed is late at once, with its whole range. A run whose regular start lies before the
    newest change of its job is not late: a pause may have delayed it.
    """
    notify = job.spec.notify
    if notify is None or run.id.origin is not Origin.SCHEDULE or run.regular_at < job.change.at:
        return
    if run.last_fire_at is not None and run.reason is not Reason.MISFIRED:
        return
    for milestone, seconds in (
        (Milestone.STARTED, notify.late_after_seconds),
        (Milestone.SUCCEEDED, notify.deadline_seconds),
    ):
        if seconds is not None:
            facts = {"runId": str(run.id), "fireTime": format_instant(run.id.fire_at), "reason": f"not_{milestone}"}
            at = run.regular_at + seconds * SECOND_MS
            notice = Notice(News.LATE, job.key.job_id, run.id, milestone)
            ahead = _notice(job, notice, {**facts, "attempts": None}, at, (run.id, milestone), _target(job, News.LATE))
            if ahead is not None:
                yield ahead


def is_late(run: Run | None, milestone: Milestone, by: int) -> bool:
    """Say whether a run has missed a milestone by a past instant (ms), without a user or a parent that delays it."""
    if run is None or run.state in {RunState.CANCELLED, RunState.WITHDRAWN} or run.regular_at > by:
        return False
    if run.state is RunState.SKIPPED:
        return run.reason is Reason.MISFIRED
    if run.attempt == 0 and run.reason in _KEPT[milestone]:
        return False
    reached_at = _reached_at(run, milestone)
    return reached_at is None or reached_at > by


def _reached_at(run: Run, milestone: Milestone) -> int | None:
    """Return when a run reached a milestone (ms; 0: unknown), or None."""
    if milestone is Milestone.SUCCEEDED:
        return (run.finished_at or 0) if run.state is RunState.SUCCEEDED else None
    return (run.first_started_at or run.claimed_at or 0) if run.attempt else None


def _notice(
    job: Job, notice: Notice, facts: Mapping[str, object], at: int, subject: object, target: Target | None
) -> JobSpec | None:
    if target is None:
        return None
    # The creation tells the notice from that of an older job with the same id.
    parts = (job.key.job_id, job.created_at, notice.news, subject)
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).hexdigest()
    named = {} if job.spec.name is None else {"jobName": job.spec.name}
    payload = {"type": notice.news, "jobId": job.key.job_id, **named, **facts, "at": format_instant(at)}
    return JobSpec(
        JobKey(job.key.tenant, f"notice-{digest}"),
        Schedule(At(at)),
        Work(target, json.dumps(payload, separators=(",", ":"))),
        fingerprint=digest,
        tags=job.spec.tags,
        retry=RetryPolicy(max_retries=5),
        timeout_seconds=TIMEOUT_SECONDS,
        notice=notice,
    )


def as_posted(notice: JobSpec, console: str) -> JobSpec:
    """Return a notice as it is posted: its target's templates are over its payload, as those of any job.

    The payload names the page of the run, or of the job, in the console; not without a console's address.
    """
    about, work = notice.notice, notice.work
    if about is None or work is None or work.payload is None:
        return notice
    payload = json.loads(work.payload)
    if console:
        payload["consoleUrl"] = console + page_of(about.job_id, about.run)
        work = evolve(work, payload=json.dumps(payload, separators=(",", ":")))
    return evolve(notice, work=evolve(work, target=_over_notice(work.target, payload)))


def _over_notice(target: Target, payload: Mapping[str, Any]) -> Target:
    """Return a target whose templates are over the payload of a notice."""
    if not isinstance(target, HttpTarget):
        return target
    body_format = format_of(content_type_of(target.headers))
    return evolve(
        target,
        url=over_notice(target.url, Format.TEXT, payload),
        headers={name: over_notice(value, Format.TEXT, payload) for name, value in target.headers.items()},
        body=None if target.body is None else over_notice(target.body, body_format, payload),
    )


def _target(job: Job, news: News) -> Target | None:
    notify = job.spec.notify or Notify()
    match news:
        case News.FAILURE | News.BLOCKED:
            return notify.on_failure
        case News.RECOVERY:
            return notify.on_recovery
        case News.LATE:
            return notify.on_late
        case News.SUCCESS:
            return notify.on_success
