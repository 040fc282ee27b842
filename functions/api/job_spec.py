"""From a faultless request to what the engine is asked: now, delays and intervals get their instants here."""

from timeball.domain import retry
from timeball.domain.ids import JobKey
from timeball.domain.instants import SECOND_MS
from timeball.domain.job import HttpTarget, Priority, Work
from timeball.domain.new_job import JobSpec
from timeball.domain.schedule import At, Schedule, Timing

from .body import compact
from .job_request import JobRequest, RetryPolicy
from .schedule_request import recurring_of


def schedule_of(request: JobRequest, now: int) -> Schedule:
    """Return the schedule that a faultless request asks for at an instant (ms)."""
    return Schedule(_timing(request, now), request.start_at, request.end_at, request.max_runs)


def _timing(request: JobRequest, now: int) -> Timing:
    recurring = recurring_of(request, now)
    if recurring is not None:
        return recurring
    if request.schedule_at is not None:
        return At(request.schedule_at)
    return At(now + (request.delay_seconds or 0) * SECOND_MS)


def spec_of(request: JobRequest, key: JobKey, fingerprint: str, now: int) -> JobSpec:
    """Return what a faultless request asks of the engine. What is not given takes its default."""
    return JobSpec(
        key=key,
        schedule=schedule_of(request, now),
        work=_work(request),
        fingerprint=fingerprint,
        name=request.name,
        tags=request.tags or {},
        priority=Priority(request.priority or Priority.NORMAL),
        retry=_retry(request),
        timeout_seconds=request.timeout_seconds or JobSpec.timeout_seconds,
    )


def _work(request: JobRequest) -> Work:
    payload = compact(request.payload) if "payload" in request.model_fields_set else None
    if request.target is not None:
        return Work(HttpTarget(request.target.url, request.target.method, request.target.headers), payload)
    if request.handler is None:
        raise ValueError("a faultless request names a handler or a target")
    return Work(HttpTarget(request.handler), payload)


def _retry(request: JobRequest) -> retry.RetryPolicy:
    asked = request.retry_policy or RetryPolicy.model_validate({})
    return retry.RetryPolicy(
        max_retries=retry.RetryPolicy.max_retries if request.max_retries is None else request.max_retries,
        base_seconds=asked.base_seconds,
        factor=asked.factor,
        max_seconds=asked.max_seconds,
        jitter=retry.Jitter(asked.jitter),
        max_age_seconds=asked.max_age_seconds,
    )
