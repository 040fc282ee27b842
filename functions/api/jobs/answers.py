"""What the API answers about jobs: the models, and how they are filled from the domain's jobs.

Only `latestRun`, `waitingFor` and `claimedRuns` stand in those answers alone that are about them.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, Literal

from pydantic import Field

from functions.api.dependencies.answers import BlockedAnswer, blocked_answer
from functions.api.dependencies.fields import for_each_document, parent_document
from functions.api.http.edge import Edge
from functions.api.http.reply import Answer, Time, time_of
from functions.api.jobs.flow import FlowAnswer, flow_document
from functions.api.jobs.notify import NoticeAnswer, NotifyAnswer, notice_answer, notify_answer
from functions.api.jobs.of_tasks import shown
from functions.api.runs.answers import RunAnswer
from functions.api.runs.policy import RetryPolicyAnswer, retry_policy_answer
from functions.api.schedules.rules import RulesAnswer, rules_answer
from functions.api.targets.answers import TargetAnswer, target_answer
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Completion, Guarantee, Job, JobStatus, Priority
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.calendar import CalendarPolicy
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.model.terms.policies import CatchUpPolicy, OverlapPolicy
from timeball.domain.model.terms.task_use import Override
from timeball.domain.model.terms.work import TASKS_TARGET
from timeball.domain.planning.exclusions import Exclusions, fires_to_come
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At, Cron, Every, OnEvents, fires
from timeball.domain.time.stepper import Gap, Overlap, clock_policies
from timeball.engine.exclusions.outlook import NO_CALENDAR, Outlook, outlooks

SHOWN: Final = 5
"""Of the fire times to come, so many are shown."""

_WHEN = ("schedule_at", "cron_expression", "timezone", "dst_policy", "every_seconds", "anchor_at")


class DstPolicyAnswer(Answer):
    """What becomes of local times that clocks skip or show twice; where none was given, what follows from the cron."""

    gap: Gap
    overlap: Overlap


class CatchUpAnswer(Answer):
    """What becomes of fires that were missed."""

    policy: CatchUpPolicy
    max_runs: int | None = Field(description="Of `all`: so many run at most.")
    max_age_seconds: int


class CalendarUseAnswer(Answer):
    """The calendar on whose dates a job does not fire."""

    name: str
    policy: CalendarPolicy = Field(description="A fire on its dates is skipped, or starts on the next allowed day.")


class JobSummaryAnswer(FlowAnswer):
    """A job as it stands, without what it calls."""

    job_id: str
    name: str | None
    status: JobStatus | Literal["running"]
    next_run_at: Time | None
    next_runs: list[Time] = Field(description="The next five fire times; of one that its calendar moves, its start.")
    schedule_type: Literal["once", "cron", "interval", "event"]
    schedule_at: Time | None
    cron_expression: str | None
    timezone: str | None
    dst_policy: DstPolicyAnswer | None = Field(description="The policies that hold for the cron.")
    every_seconds: int | None
    anchor_at: Time | None
    start_at: Time | None
    end_at: Time | None
    max_runs: int | None
    event: Mapping[str, Any] | None = Field(description="The pattern of the events that let it run.")
    depends_on: list[str | dict[str, str]] = Field(description="The jobs that it waits for: ids, or objects.")
    trigger_rule: TriggerRule | None = Field(description="Of a job that depends on others.")
    dependency_timeout_seconds: int | None = Field(description="The same.")
    pass_parents: bool | None = Field(description="The same.")
    for_each: str | None = Field(description="Of a job that has a run for each item: who names these.")
    blocked_by: BlockedAnswer | None = Field(description="Of a blocked job, what blocks it.")
    priority: Priority
    max_retries: int
    retry_policy: RetryPolicyAnswer
    retry_timetable: list[int | float] = Field(description="The longest wait before each retry, in seconds.")
    timeout_seconds: int
    completion: Completion
    heartbeat_seconds: int | None = Field(description="Of a job with completion `callback`.")
    task_id: str | None = Field(description="The task that says what the job does not say itself, as it is now.")
    overrides: list[Override] = Field(description="Of a job with a task, what it says itself.")
    delivery: Guarantee
    catch_up: CatchUpAnswer | None = Field(description="Of a recurring job.")
    overlap_policy: OverlapPolicy
    calendar: CalendarUseAnswer | None
    jitter_seconds: int | None = Field(description="Of a recurring job.")
    notify: NotifyAnswer | None = Field(description="Who is told of how its runs fare.")
    pause_after_failures: int | None = Field(description="So many failures in a row pause it.")
    notice: NoticeAnswer | None = Field(description="Of a job that Timeball made to tell of another, what it tells.")
    tags: Mapping[str, str]
    schedule_rules: RulesAnswer = Field(description="The rules by which the next fire time was reckoned.")
    paused_at: Time | None
    paused_reason: Literal["failures"] | None = Field(description="Null if a user has paused it.")
    created_at: Time
    created_by: str | None = Field(description="The id of the API key that created it.")
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")


class JobAnswer(JobSummaryAnswer):
    """A job as it stands."""

    target: TargetAnswer | None
    payload: Any = None
    latest_run: RunAnswer | None = Field(
        None, description="The newest row of the ledger where a job is read; the skipped row where a fire is skipped."
    )
    waiting_for: list[str] = Field(
        [], description="The ids of the jobs that a one-off still waits for; only where a job is read."
    )
    claimed_runs: list[str] = Field(
        [], description="Runs that were under way already; only in the answer to a change of the job."
    )


def shown_job(edge: Edge, job: Job, status: str | None = None, **about: Any) -> JobAnswer:  # noqa: ANN401 - of the model
    """Return the answer about a job now, as its task and its calendar are now; the rest is as of `job_answer`."""
    now = edge.context.clock.now()
    calendars = outlooks(edge.context, [job], now)
    return job_answer(shown(edge, [job])[0], now, status, calendars=calendars, **about)


def job_answer(
    job: Job,
    now: int,
    status: str | None = None,
    calendars: Mapping[JobKey, Outlook] | None = None,
    **about: Any,  # noqa: ANN401 - of the model
) -> JobAnswer:
    """Return the answer about a job at an instant (ms); `about` is `latest_run` or `claimed_runs`.

    `status` is what is shown of it, if its row says another; `calendars` say what they do to the fires of jobs.
    """
    return JobAnswer(**_fields(job, now, status, calendars or {}), **_work_fields(job), **about)


def job_summary(job: Job, now: int, status: str, calendars: Mapping[JobKey, Outlook]) -> JobSummaryAnswer:
    """Return the answer about a job in a list."""
    fields = _fields(job, now, status, calendars)
    return JobSummaryAnswer(**{**fields, "notify": notify_answer(job.spec.notify, is_listed=True)})


def _fields(job: Job, now: int, status: str | None, calendars: Mapping[JobKey, Outlook]) -> dict[str, Any]:
    following = [format_instant(at) for at in upcoming(job, now, outlook=calendars.get(job.key, NO_CALENDAR))]
    calendar = job.spec.calendar
    return {
        "job_id": job.key.job_id,
        "name": job.spec.name,
        "status": status or job.listed_status,
        "next_run_at": following[0] if following else None,
        "next_runs": following,
        **_schedule_fields(job),
        "event": None if job.spec.event is None else json.loads(job.spec.event),
        **_dependency_fields(job),
        "priority": job.spec.priority,
        "max_retries": job.spec.retry.max_retries,
        "retry_policy": retry_policy_answer(job.spec.retry),
        "retry_timetable": [_seconds(wait_ms) for wait_ms in job.spec.retry.timetable()],
        "timeout_seconds": job.spec.timeout_seconds,
        "completion": job.spec.completion,
        "heartbeat_seconds": job.spec.heartbeat_seconds,
        "task_id": job.task_id,
        "overrides": [] if job.spec.task is None else list(job.spec.task.own),
        "delivery": job.spec.delivery,
        **_recurring_fields(job),
        "overlap_policy": job.spec.overlap,
        "calendar": None if calendar is None else CalendarUseAnswer(name=calendar.name, policy=calendar.policy),
        "notify": notify_answer(job.spec.notify),
        "pause_after_failures": job.spec.pause_after_failures,
        **flow_document(job.spec.flow),
        "notice": notice_answer(job.spec.notice),
        "tags": job.spec.tags,
        "schedule_rules": rules_answer(job.rules),
        "paused_at": time_of(job.paused_at),
        "paused_reason": "failures" if job.paused_by_failures else None,
        "created_at": format_instant(job.created_at),
        "created_by": job.created_by,
        "updated_at": format_instant(job.updated_at),
        "version": job.version,
    }


def upcoming(job: Job, now: int, count: int = SHOWN, outlook: Outlook = NO_CALENDAR) -> tuple[int, ...]:
    """Return the next fire times of a job at an instant (ms), earliest first; none unless it is pending.

    Those that its calendar skips are left out, unless they are sent; of one that this moves it is the start. One that
    is due and not dispatched yet may lie in the past. A job that waits for its parents, without a schedule of its own,
    has none.
    """
    if job.status is not JobStatus.PENDING or (job.waits and job.spec.inherits):
        return ()
    fire_times = chain(_moved(job, outlook.moved), _dispatched(job, now), _planned(job, outlook.excluded))
    return tuple(outlook.excluded.starts_at(job.spec.schedule, at) or at for at in islice(fire_times, count))


def _dependency_fields(job: Job) -> dict[str, Any]:
    spec = job.spec
    return {
        "depends_on": [parent_document(parent) for parent in spec.depends_on],
        "trigger_rule": spec.trigger_rule if spec.depends_on else None,
        "dependency_timeout_seconds": spec.dependency_timeout_seconds if spec.depends_on else None,
        "pass_parents": spec.pass_parents if spec.depends_on else None,
        "for_each": for_each_document(spec.for_each, spec.depends_on),
        "blocked_by": blocked_answer(job.blocked, job.key.job_id),
    }


def _recurring_fields(job: Job) -> dict[str, Any]:
    """Return what only a recurring job has."""
    if not job.spec.schedule.is_recurring:
        return {"catch_up": None, "jitter_seconds": None}
    counted = job.spec.catch_up.policy is CatchUpPolicy.ALL
    catch_up = CatchUpAnswer(
        policy=job.spec.catch_up.policy,
        max_runs=job.spec.catch_up.max_runs if counted else None,
        max_age_seconds=job.spec.catch_up.max_age_seconds,
    )
    return {"catch_up": catch_up, "jitter_seconds": job.spec.jitter_seconds}


def _work_fields(job: Job) -> dict[str, Any]:
    if job.spec.work is None:
        return {"target": None, "payload": None}
    target = job.spec.work.target
    return {
        "target": None if target == TASKS_TARGET else target_answer(target),
        "payload": None if job.spec.work.payload is None else json.loads(job.spec.work.payload),
    }


def _schedule_fields(job: Job) -> dict[str, Any]:
    schedule = job.spec.schedule
    fields: dict[str, Any] = dict.fromkeys(_WHEN)
    match schedule.timing:
        case OnEvents():
            fields |= {"schedule_type": "event"}
        case At(at):
            fields |= {"schedule_type": "once", "schedule_at": format_instant(at)}
        case Cron(expression, timezone, gap, overlap):
            gap, overlap = clock_policies(parse_cron(expression), gap, overlap)
            fields |= {
                "schedule_type": "cron",
                "cron_expression": expression,
                "timezone": timezone,
                "dst_policy": DstPolicyAnswer(gap=gap, overlap=overlap),
            }
        case Every(seconds, anchor_at):
            fields |= {
                "schedule_type": "interval",
                "every_seconds": seconds,
                "anchor_at": format_instant(anchor_at),
            }
    return fields | {
        "start_at": time_of(schedule.start_at),
        "end_at": time_of(schedule.end_at),
        "max_runs": schedule.max_runs,
    }


def _seconds(milliseconds: int) -> int | float:
    whole, rest = divmod(milliseconds, SECOND_MS)
    return milliseconds / SECOND_MS if rest else whole


def _dispatched(job: Job, now: int) -> Iterator[int]:
    """Yield the fires to come whose runs wait in the queue already; behind them may be some that somebody skips."""
    last_at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at - 1
    if job.skipped_from is not None:
        last_at = job.skipped_from - 1
    return iter(()) if last_at is None else fires(job.spec.schedule, now, last_at)


def _moved(job: Job, waiting: Run | None) -> Iterator[int]:
    """Yield the fire of a run that its calendar has moved, if the job is behind it."""
    is_behind = waiting is not None and (job.next_fire_at is None or waiting.id.fire_at < job.next_fire_at)
    return iter([waiting.id.fire_at] if waiting is not None and is_behind else [])


def _planned(job: Job, excluded: Exclusions) -> Iterator[int]:
    left = None if job.spec.schedule.max_runs is None else max(0, job.spec.schedule.max_runs - job.runs_planned)
    return islice(fires_to_come(job, excluded), left)
