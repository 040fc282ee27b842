"""From the domain's jobs and backfills to the API's answers; run_rendering.py does the same for runs."""

import json
from collections.abc import Sequence
from typing import Any, Final

from timeball.domain.backfill import Backfill
from timeball.domain.catch_up import CatchUpPolicy
from timeball.domain.instants import SECOND_MS, format_instant
from timeball.domain.job import Job, JobStatus, RuleSet
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.preview import clock_policies
from timeball.domain.run import Run
from timeball.domain.schedule import At, Cron, Every

from .answers import (
    BackfillAnswer,
    CatchUpAnswer,
    DryRunAnswer,
    DstPolicyAnswer,
    JobAnswer,
    RetryPolicyAnswer,
    RulesAnswer,
    TargetAnswer,
)
from .run_rendering import run_answer, time_of
from .upcoming import upcoming

_WHEN = ("schedule_at", "cron_expression", "timezone", "dst_policy", "every_seconds", "anchor_at")
MAX_SHOWN: Final = 1_000
"""Of the fire times of a dry run, so many are shown."""


def job_answer(job: Job, now: int, **about: Any) -> JobAnswer:  # noqa: ANN401 - the optional fields of the model
    """Return the answer about a job at an instant (ms); `about` is `latest_run` or `claimed_runs`."""
    following = [format_instant(at) for at in upcoming(job, now)]
    return JobAnswer(
        job_id=job.key.job_id,
        name=job.name,
        status=job.status,
        next_run_at=following[0] if following else None,
        next_runs=following,
        **_work_fields(job),
        **_schedule_fields(job),
        priority=job.priority,
        max_retries=job.retry.max_retries,
        retry_policy=RetryPolicyAnswer(
            base_seconds=job.retry.base_seconds,
            factor=job.retry.factor,
            max_seconds=job.retry.max_seconds,
            jitter=job.retry.jitter,
            max_age_seconds=job.retry.max_age_seconds,
            retry_on=[str(cause) for cause in job.retry.retry_on],
        ),
        retry_timetable=[_seconds(wait_ms) for wait_ms in job.retry.timetable()],
        timeout_seconds=job.timeout_seconds,
        completion=job.completion,
        heartbeat_seconds=job.heartbeat_seconds,
        delivery=job.delivery,
        **_recurring_fields(job),
        overlap_policy=job.overlap,
        tags=job.tags,
        schedule_rules=rules_answer(job.rules),
        paused_at=time_of(job.paused_at),
        created_at=format_instant(job.created_at),
        updated_at=format_instant(job.updated_at),
        version=job.version,
        **about,
    )


def job_with_latest_run(job: Job, latest: Run | None, own: Run | None, now: int) -> JobAnswer:
    """Return the answer about a job and its newest run. `own` is the run of a one-off that may still be completed.

    While that is live, the job is `running`, or `pending` if no attempt has begun: none yet, or none since somebody
    wanted it tried again.
    """
    answer = job_answer(job, now, latest_run=None if latest is None else run_answer(latest))
    if own is None or own.is_terminal:
        return answer
    return answer.model_copy(update={"status": "running" if own.attempts_spent > 0 else JobStatus.PENDING})


def backfill_answer(backfill: Backfill, **about: Any) -> BackfillAnswer:  # noqa: ANN401 - the model's optional field
    """Return the answer about a backfill; `about` is `claimed_runs`."""
    return BackfillAnswer(
        backfill_id=backfill.key.name,
        job_id=backfill.key.job.job_id,
        status=backfill.status,
        **_range(backfill.first_at, backfill.last_at),
        total=backfill.total,
        started=backfill.started,
        skipped=backfill.skipped,
        remaining=backfill.total - backfill.started - backfill.skipped,
        pace_seconds=backfill.pace_seconds,
        overlap_policy=backfill.overlap,
        schedule_rules=rules_answer(backfill.rules),
        created_at=format_instant(backfill.created_at),
        updated_at=format_instant(backfill.updated_at),
        version=backfill.version,
        **about,
    )


def dry_run_answer(job: Job, fire_times: Sequence[int], pace_seconds: int, overlap: OverlapPolicy) -> DryRunAnswer:
    """Return what a backfill of these fire times (at least one, in order) would run."""
    return DryRunAnswer(
        dry_run=True,
        job_id=job.key.job_id,
        **_range(fire_times[0], fire_times[-1]),
        total=len(fire_times),
        instants=[format_instant(at) for at in fire_times[:MAX_SHOWN]],
        pace_seconds=pace_seconds,
        overlap_policy=overlap,
        schedule_rules=rules_answer(RuleSet()),
    )


def rules_answer(rules: RuleSet) -> RulesAnswer:
    """Return the answer about the rules that fire times follow."""
    return RulesAnswer(version=rules.version, tzdata=rules.tzdata)


def _recurring_fields(job: Job) -> dict[str, Any]:
    """Return what only a recurring job has."""
    if job.schedule.is_one_off:
        return {"catch_up": None, "jitter_seconds": None}
    counted = job.catch_up.policy is CatchUpPolicy.ALL
    catch_up = CatchUpAnswer(
        policy=job.catch_up.policy,
        max_runs=job.catch_up.max_runs if counted else None,
        max_age_seconds=job.catch_up.max_age_seconds,
    )
    return {"catch_up": catch_up, "jitter_seconds": job.jitter_seconds}


def _work_fields(job: Job) -> dict[str, Any]:
    if job.work is None:
        return {"target": None, "payload": None}
    target = job.work.target
    return {
        "target": TargetAnswer(type="http", url=target.url, method=target.method, headers=target.headers),
        "payload": None if job.work.payload is None else json.loads(job.work.payload),
    }


def _schedule_fields(job: Job) -> dict[str, Any]:
    schedule = job.schedule
    fields: dict[str, Any] = dict.fromkeys(_WHEN)
    match schedule.timing:
        case At(at):
            fields["schedule_at"] = format_instant(at)
        case Cron(expression, timezone) as cron:
            policies = clock_policies(cron)
            fields |= {
                "cron_expression": expression,
                "timezone": timezone,
                "dst_policy": DstPolicyAnswer(gap=policies.gap, overlap=policies.overlap),
            }
        case Every(seconds, anchor_at):
            fields |= {"every_seconds": seconds, "anchor_at": format_instant(anchor_at)}
    return fields | {
        "start_at": time_of(schedule.start_at),
        "end_at": time_of(schedule.end_at),
        "max_runs": schedule.max_runs,
    }


def _range(first_at: int, last_at: int) -> dict[str, Any]:
    """Return what a backfill's answer says of its range; as a mapping, for `from` is a word of Python's."""
    return {"from": format_instant(first_at), "to": format_instant(last_at)}


def _seconds(milliseconds: int) -> int | float:
    whole, rest = divmod(milliseconds, SECOND_MS)
    return milliseconds / SECOND_MS if rest else whole
