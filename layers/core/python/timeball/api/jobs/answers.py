"""The models of answers about jobs, and how they are filled from the domain's jobs.

`lastRun`, `running`, `recent`, `latestRun`, `waitingFor` and `claimedRuns` are set only in the answers to the requests
that they concern.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, Literal, TypeVar

from pydantic import Field

from timeball.api.dependencies.fields import BlockedAnswer, blocked_answer
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    CreatedBy,
    EndedAt,
    IdOfJob,
    IdOfRun,
    NameForPeople,
    Request,
    Seconds,
    Text,
    Time,
    UpdatedAt,
    Version,
    attribute,
)
from timeball.api.http.quotas import defaults_of
from timeball.api.jobs.document import spec_fields
from timeball.api.jobs.flow import FlowAnswer
from timeball.api.jobs.notify import NoticeAnswer, NotifyAnswer, notice_answer, without_long_bodies
from timeball.api.pages import CONSOLE_URL, ConsoleOfJob
from timeball.api.runs.answers import RetryPolicyAnswer, RunAnswer
from timeball.api.schedules.fields import RulesAnswer, ScheduleText, text_of_schedule
from timeball.api.targets.models import TargetAnswer
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import CalendarPolicy
from timeball.domain.model.jobs.job import Completion, Guarantee, Job, JobStatus, Priority
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.model.terms.policies import TASKS_TARGET, CatchUpPolicy, OverlapPolicy, Work
from timeball.domain.model.terms.target import Override
from timeball.domain.planning.blackouts import Blackouts, fires_to_come
from timeball.domain.run_ends.recent import OUTCOMES, Recent
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At, Cron, Every, OnEvents, Timing, fires
from timeball.domain.time.stepper import DstOverlap, Gap, clock_policies
from timeball.engine.blackouts.read import NO_CALENDAR, CalendarOutlook, outlooks
from timeball.engine.resolving import resolved

SHOWN: Final = 5
"""How many of the next fire times an answer shows."""

_Answer = TypeVar("_Answer", bound="JobHeadAnswer")
_SCHEDULE_TYPES: Final = {At: "once", Cron: "cron", Every: "interval", OnEvents: "event"}


class DstPolicyAnswer(AnswerModel):
    """The effect of a clock change on a cron's fires; a policy that was left out follows from the expression."""

    gap: Gap = Field(description="The policy for fires at local times that clocks skip.")
    overlap: DstOverlap = Field(description="The policy for fires at local times that occur twice.")


class CatchUpAnswer(AnswerModel):
    """The policy for missed fires, and its bounds."""

    policy: CatchUpPolicy = Field(description="Which of the missed fires run.")
    max_runs: int | None = Field(description="The most missed fires that run; null unless the policy is `all`.")
    max_age_seconds: int | None = Field(
        description=(
            "The age in seconds beyond which a missed fire does not run; null: the larger of an hour and half the "
            "distance from the fire to the next one."
        )
    )


class CalendarUseAnswer(AnswerModel):
    """The calendar on whose dates the job does not fire."""

    name: str = Field(description="The name of the calendar.")
    policy: CalendarPolicy = Field(description="`skip` skips a fire; `next` starts it on the next allowed day.")


class LastRunAnswer(AnswerModel):
    """The newest run of a job, or its newest skipped fire."""

    run_id: IdOfRun = attribute("id", description="The id of the run.")
    status: RunState = attribute("state", description="The state of the run.")
    started_at: Time | None = attribute("first_started_at", description="When the first attempt's call left.")
    finished_at: EndedAt
    lateness: Seconds | None = attribute("lateness_ms", description="How many seconds late it started, as in the run.")


class JobHeadAnswer(AnswerModel):
    """The first fields of a job: which one it is, and how it fares."""

    job_id: IdOfJob
    name: NameForPeople
    status: JobStatus | Literal["running"] = Field(
        description="Its status. A job that runs once is `running` while its run is under way."
    )
    next_run_at: Time | None = Field(description="The first of `nextRuns`; null if there is none.")
    last_run: LastRunAnswer | None = Field(
        None,
        description="Its newest run that has begun or ended, or its newest skipped fire; only where jobs are read.",
    )
    running: list[Text] = Field(
        [], description="The ids of its runs under way, the earliest first; only where jobs are read."
    )
    recent: str = Field(
        "",
        max_length=OUTCOMES,
        description="The outcomes of its newest runs, by fire time, the newest last: `s` succeeded, `f` failed, "
        "`k` skipped, `c` cancelled, `b` blocked; only where jobs are read.",
        examples=["sssfsssk"],
    )
    owner: str | None = Field(description="The owner as stated, or the name of the API key that created the job.")
    priority: Priority = Field(description="The priority of its runs, unless the tenant's ceiling is lower.")
    effective_priority: Priority = Field(description="The priority of its new runs: within the tenant's ceiling.")
    schedule_type: Literal["once", "cron", "interval", "event"] = Field(description="The form of the schedule.")
    schedule_text: ScheduleText
    tags: Mapping[str, str] = Field(description="The tags of the job.")
    console_url: ConsoleOfJob = attribute("job_id", description=CONSOLE_URL)


class JobSummaryAnswer(FlowAnswer, JobHeadAnswer):
    """A job without its target and payload."""

    next_runs: list[Time] = Field(description="The next five fire times, or starts where the calendar moves a fire.")
    schedule_at: Time | None = Field(description="The fire time of a job that runs once.")
    cron_expression: str | None = Field(description="The cron expression of a job with a cron.")
    timezone: str | None = Field(description="The IANA time zone of the cron.")
    dst_policy: DstPolicyAnswer | None = Field(description="The effect of a clock change on the cron's fires.")
    every_seconds: int | None = Field(description="The interval in seconds of a job with an interval.")
    anchor_at: Time | None = Field(description="An instant from which the interval counts, back and forth.")
    start_at: Time | None = Field(description="The job does not fire before this time.")
    end_at: Time | None = Field(description="The job does not fire after this time.")
    max_runs: int | None = Field(description="The number of runs after which the job is completed.")
    event: Mapping[str, Any] | None = Field(description="The pattern of the events on which the job runs.")
    depends_on: list[str | dict[str, str]] = Field(description="The jobs that it waits for: ids or objects.")
    trigger_rule: TriggerRule | None = Field(description="Which ends of these jobs let it run.")
    dependency_timeout_seconds: int | None = Field(description="The longest wait for these jobs in seconds.")
    pass_parents: bool | None = Field(description="Whether its calls receive the results of these jobs.")
    for_each: str | None = Field(description="The job whose items each get a run of this one.")
    blocked_by: BlockedAnswer | None = Field(description="The failed run that blocks the job.")
    max_retries: int = Field(description="The most retries of a run.")
    retry_policy: RetryPolicyAnswer = Field(description="When a failed attempt is retried.")
    retry_timetable: list[int | float] = Field(description="The longest wait before each retry in seconds.")
    timeout_seconds: int = Field(description="The longest time for one attempt in seconds.")
    completion: Completion = Field(description="Whether the call's answer ends an attempt, or the target's report.")
    heartbeat_seconds: int | None = Field(description="The longest time in seconds between heartbeats after a 202.")
    task_id: str | None = Field(description="The task that supplies the target and the policies as they are now.")
    overrides: list[Override] = Field(description="The policies that the job states itself instead of its task.")
    delivery: Guarantee = Field(description="`at_most_once`: no second call after a call that may have left.")
    catch_up: CatchUpAnswer | None = Field(description="The policy for missed fires; null unless the job recurs.")
    overlap_policy: OverlapPolicy = Field(description="The policy for a fire while an earlier run is live.")
    calendar: CalendarUseAnswer | None = Field(description="The calendar on whose dates the job does not fire.")
    jitter_seconds: int | None = Field(description="The most seconds by which a fire starts later.")
    notify: NotifyAnswer | None = Field(description="The targets to call when runs fail, recover, succeed or are late.")
    notify_source: Literal["job", "tenant"] | None = Field(
        description="Whose `notify` it is: the job's own, or the tenant's default as the job took it; null: none."
    )
    pause_after_failures: int | None = Field(description="The number of failed runs in a row that pauses the job.")
    notice: NoticeAnswer | None = Field(description="The content of this notice; null if the job is not a notice.")
    schedule_rules: RulesAnswer = Field(description="The rules by which the next fire time was calculated.")
    paused_at: Time | None = Field(description="When the job was paused; null unless it is paused.")
    paused_reason: Literal["failures", "parent_removed"] | None = Field(
        description="`failures` if failed runs paused it, `parent_removed` if a cancel took its parents; else null."
    )
    created_at: CreatedAt
    created_by: CreatedBy
    updated_at: UpdatedAt
    generation: int = Field(description="Counts the lives of the job: a PUT of an ended job begins the next one.")
    version: Version


class JobAnswer(JobSummaryAnswer):
    """A job."""

    target: TargetAnswer | None = Field(description="The target of its runs; of a job with a task, the task's target.")
    payload: Any = Field(None, description="The body of its runs' calls; any JSON.")
    latest_run: RunAnswer | None = Field(
        None, description="The newest row of the ledger, where a job is read; the skipped row, where a fire is skipped."
    )
    waiting_for: list[str] = Field([], description="The jobs that a one-off waits for; only where a job is read.")
    claimed_runs: list[str] = Field([], description="The runs under way at a change; only in the answer to it.")


def shown_job(edge: ApiContext, request: Request, job: Job, status: str | None = None, **about: Any) -> JobAnswer:  # noqa: ANN401 - of the model
    """Return the answer about a job with its task and its calendar as they are now; the rest as `job_answer`."""
    now = edge.context.clock.now()
    calendars = outlooks(edge.context, [job], now)
    (seen,), ceiling = resolved(edge.context, [job]), defaults_of(edge, request).priority_ceiling
    return job_answer(seen, now, ceiling, status, calendars=calendars, **about)


def job_answer(
    job: Job,
    now: int,
    ceiling: str | None,
    status: str | None = None,
    calendars: Mapping[JobKey, CalendarOutlook] | None = None,
    **about: Any,  # noqa: ANN401 - of the model
) -> JobAnswer:
    """Return the answer about a job at an instant (ms).

    `ceiling` is the tenant's ceiling of priorities. `status` replaces the status of the job's row. `calendars` has what
    calendars do to the fires of jobs. `about` sets `latest_run`, `waiting_for` or `claimed_runs`.
    """
    about |= _fields(job, now, ceiling, status, calendars or {}) | _work_fields(job.spec.work)
    return JobAnswer.model_validate(about)


def job_summary(
    job: Job,
    now: int,
    ceiling: str | None,
    status: str,
    recent: Recent | None,
    calendars: Mapping[JobKey, CalendarOutlook],
) -> JobSummaryAnswer:
    """Return the answer about a job in a list."""
    notify = without_long_bodies(job.spec.notify)
    fields = {**_fields(job, now, ceiling, status, calendars), **recent_fields(recent), "notify": notify}
    return JobSummaryAnswer.model_validate(fields)


def job_head(
    job: Job,
    now: int,
    ceiling: str | None,
    status: str,
    recent: Recent | None,
    calendars: Mapping[JobKey, CalendarOutlook],
) -> JobHeadAnswer:
    """Return the first fields of the answer about a job in a list."""
    return JobHeadAnswer.model_validate({**_fields(job, now, ceiling, status, calendars), **recent_fields(recent)})


def starting_at(answer: _Answer, start: int | None) -> _Answer:
    """Return the answer about a job with the start (ms) of its collecting run; unchanged if it is None."""
    if start is None:
        return answer
    shown = format_instant(start)
    following = {"next_runs": [shown]} if isinstance(answer, JobSummaryAnswer) else {}
    return answer.model_copy(update={"next_run_at": shown, **following})


def recent_fields(recent: Recent | None) -> dict[str, Any]:
    """Return what a job's newest runs did by the names of the model; nothing if it was not read."""
    if recent is None:
        return {}
    return {"last_run": recent.last, "running": recent.running, "recent": recent.outcomes}


def _fields(
    job: Job, now: int, ceiling: str | None, status: str | None, calendars: Mapping[JobKey, CalendarOutlook]
) -> dict[str, Any]:
    spec, fields = job.spec, spec_fields(job.spec)
    following = [format_instant(at) for at in upcoming(job, now, outlook=calendars.get(job.key, NO_CALENDAR))]
    return {
        **vars(job),  # its version, and when and by whom it was made and changed
        **fields,
        "dependsOn": fields["dependsOn"] or [],
        "job_id": job.key.job_id,
        "owner": job.owner,
        "effective_priority": spec.priority.within(ceiling),
        "notify_source": None if spec.notify is None else "tenant" if spec.notify.of_tenant else "job",
        "status": status or job.listed_status,
        "next_run_at": following[0] if following else None,
        "next_runs": following,
        "schedule_text": text_of_schedule(spec),
        "schedule_type": type_of_schedule(job),
        "dstPolicy": _dst_policy(spec.schedule.timing),
        "blocked_by": blocked_answer(job.blocked, job.key.job_id),
        "retry_timetable": [_seconds(wait_ms) for wait_ms in spec.retry.timetable()],
        "overrides": [] if spec.task is None else spec.task.own,
        "notice": notice_answer(spec.notice),
        "schedule_rules": job.rules,
        "paused_reason": paused_reason(job),
    }


def type_of_schedule(job: Job) -> str:
    """Return the form of a job's schedule, as answers name it."""
    return _SCHEDULE_TYPES[type(job.spec.schedule.timing)]


def paused_reason(job: Job) -> str | None:
    """Return why a job is paused if no user has paused it."""
    if job.lost_parent:
        return "parent_removed"
    return "failures" if job.paused_by_failures else None


def upcoming(job: Job, now: int, count: int = SHOWN, outlook: CalendarOutlook = NO_CALENDAR) -> tuple[int, ...]:
    """Return the next fire times of a job at an instant (ms), earliest first; none unless it is pending.

    For a fire that the calendar moves, the list has its start. Fires that the calendar skips are left out, unless they
    were dispatched before. A fire that is due and not dispatched yet may be in the past. A job that waits for its
    parents and has no schedule of its own has none.
    """
    if job.status is not JobStatus.PENDING or (job.waits and job.spec.inherits):
        return ()
    fire_times = chain(_moved(job, outlook.moved), _dispatched(job, now), _planned(job, outlook.excluded))
    return tuple(outlook.excluded.starts_at(job.spec.schedule, at) or at for at in islice(fire_times, count))


def _work_fields(work: Work | None) -> dict[str, Any]:
    return {
        "target": None if work is None or work.target == TASKS_TARGET else work.target,
        "payload": None if work is None or work.payload is None else json.loads(work.payload),
    }


def _dst_policy(timing: Timing) -> dict[str, str] | None:
    """Return the effect of a clock change on a cron; a policy that was left out follows from the expression."""
    if not isinstance(timing, Cron):
        return None
    gap, overlap = clock_policies(parse_cron(timing.expression), timing.gap, timing.overlap)
    return {"gap": gap, "overlap": overlap}


def _seconds(milliseconds: int) -> int | float:
    whole, rest = divmod(milliseconds, SECOND_MS)
    return milliseconds / SECOND_MS if rest else whole


def _dispatched(job: Job, now: int) -> Iterator[int]:
    """Yield the fires to come whose runs are in the queue already; skipped fires may follow them."""
    last_at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at - 1
    if job.skipped_from is not None:
        last_at = job.skipped_from - 1
    return iter(()) if last_at is None else fires(job.spec.schedule, now, last_at)


def _moved(job: Job, waiting: Run | None) -> Iterator[int]:
    """Yield the fire of a run that the calendar has moved, if the job's next fire is later."""
    is_behind = waiting is not None and (job.next_fire_at is None or waiting.id.fire_at < job.next_fire_at)
    return iter([waiting.id.fire_at] if waiting is not None and is_behind else [])


def _planned(job: Job, excluded: Blackouts) -> Iterator[int]:
    left = None if job.spec.schedule.max_runs is None else max(0, job.spec.schedule.max_runs - job.runs_planned)
    return islice(fires_to_come(job, excluded), left)
