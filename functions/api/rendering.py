"""From the domain's values to the API's answers."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic import BaseModel

from timeball.domain.backfill import Backfill
from timeball.domain.catch_up import CatchUpPolicy
from timeball.domain.instants import SECOND_MS, format_instant
from timeball.domain.job import Job, RuleSet
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.preview import clock_policies
from timeball.domain.run import SENTENCES, Attempt, Outcome, Run, RunState
from timeball.domain.schedule import At, Cron, Every

from .answers import (
    AttemptAnswer,
    BackfillAnswer,
    CatchUpAnswer,
    DryRunAnswer,
    DstPolicyAnswer,
    JobAnswer,
    ResultAnswer,
    RetryPolicyAnswer,
    RulesAnswer,
    RunAnswer,
    RunDetailAnswer,
    TargetAnswer,
)
from .upcoming import upcoming

_WHEN = ("schedule_at", "cron_expression", "timezone", "dst_policy", "every_seconds", "anchor_at")
MAX_SHOWN: Final = 1_000
"""Of the fire times of a dry run, so many are shown."""

_UNDER_WAY = frozenset({RunState.QUEUED, RunState.RUNNING, RunState.RETRYING})


def text_of(answer: BaseModel) -> str:
    """Return an answer as JSON text, with the fields that were set."""
    return answer.model_dump_json(by_alias=True, exclude_unset=True)


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
        ),
        retry_timetable=[_seconds(wait_ms) for wait_ms in job.retry.timetable()],
        timeout_seconds=job.timeout_seconds,
        **_recurring_fields(job),
        overlap_policy=job.overlap,
        tags=job.tags,
        schedule_rules=rules_answer(job.rules),
        paused_at=_time(job.paused_at),
        created_at=format_instant(job.created_at),
        updated_at=format_instant(job.updated_at),
        version=job.version,
        **about,
    )


def job_with_latest_run(job: Job, latest: Run | None, own: Run | None, now: int) -> JobAnswer:
    """Return the answer about a job and its newest run. A pending one-off whose `own` run has begun is `running`."""
    answer = job_answer(job, now, latest_run=None if latest is None else run_answer(latest))
    begun = own is not None and own.attempt > 0 and own.state in _UNDER_WAY
    return answer.model_copy(update={"status": "running"}) if begun else answer


def run_answer(run: Run) -> RunAnswer:
    """Return the answer about a run."""
    return RunAnswer(**_run_fields(run))


def run_detail_answer(run: Run, stored: Iterable[Attempt]) -> RunDetailAnswer:
    """Return the answer about a run and its attempts: stored, in the run's own row, and under way."""
    attempts = {attempt.number: attempt for attempt in (*([run.last] if run.last else []), *stored)}
    answers = [_attempt_answer(attempt) for _, attempt in sorted(attempts.items())]
    if run.state is RunState.RUNNING and run.attempt not in attempts:
        answers.append(_live_attempt_answer(run))
    succeeded = [attempt for attempt in attempts.values() if attempt.outcome is Outcome.SUCCEEDED]
    result = ResultAnswer(http_status=succeeded[0].status, body=succeeded[0].body) if succeeded else None
    return RunDetailAnswer(**_run_fields(run), attempts=answers, result=result)


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
        "start_at": _time(schedule.start_at),
        "end_at": _time(schedule.end_at),
        "max_runs": schedule.max_runs,
    }


def _run_fields(run: Run) -> dict[str, Any]:
    waits = run.state in {RunState.QUEUED, RunState.RETRYING}
    return {
        "run_id": str(run.id),
        "job_id": run.id.job.job_id,
        "fire_time": format_instant(run.id.fire_at),
        "last_fire_time": _time(run.last_fire_at),
        "count": run.count,
        "origin": run.id.origin,
        "backfill_id": run.id.series or None,
        "status": run.state,
        "reason": run.reason,
        "reason_text": None if run.reason is None else SENTENCES[run.reason],
        "attempt": run.attempt,
        "next_attempt_at": format_instant(run.not_before) if waits else None,
        "created_at": format_instant(run.created_at),
        "started_at": _time(run.first_started_at),
        "finished_at": _time(run.finished_at),
        "lateness_seconds": None if run.lateness_ms is None else run.lateness_ms / SECOND_MS,
        "cancel_requested": run.cancel_requested,
    }


def _attempt_answer(attempt: Attempt) -> AttemptAnswer:
    return AttemptAnswer(
        number=attempt.number,
        outcome=attempt.outcome,
        claimed_at=format_instant(attempt.claimed_at),
        started_at=_time(attempt.started_at),
        finished_at=_time(attempt.finished_at),
        http_status=attempt.status,
        error=attempt.error,
        body=attempt.body,
    )


def _live_attempt_answer(run: Run) -> AttemptAnswer:
    return AttemptAnswer(
        number=run.attempt,
        outcome=None,
        claimed_at=format_instant(run.created_at if run.claimed_at is None else run.claimed_at),
        started_at=None,
        finished_at=None,
        http_status=None,
        error=None,
        body=None,
    )


def _range(first_at: int, last_at: int) -> dict[str, Any]:
    """Return what a backfill's answer says of its range; as a mapping, for `from` is a word of Python's."""
    return {"from": format_instant(first_at), "to": format_instant(last_at)}


def _time(at: int | None) -> str | None:
    return None if at is None else format_instant(at)


def _seconds(milliseconds: int) -> int | float:
    whole, rest = divmod(milliseconds, SECOND_MS)
    return milliseconds / SECOND_MS if rest else whole
