"""A job's fields by the names of the API, for its answers, and the document that asks for such a job.

Invariant: a job's document, read as a request, asks for exactly the stored job; only that the tenant's default of
`notify` is then the job's own.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from pydantic.alias_generators import to_camel

from timeball.api.dependencies.fields import dependency_fields
from timeball.api.jobs.flow import flow_fields
from timeball.api.jobs.policies import policy_fields
from timeball.api.schedules.fields import schedule_fields
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.policies import CatchUpPolicy
from timeball.domain.model.terms.target import Override, Target

_alias: Final = cache(to_camel)


def spec_fields(spec: JobSpec) -> dict[str, Any]:
    """Return a job's fields as answers and requests name them, but its work; the values are those of the domain."""
    recurs, is_counted = spec.schedule.is_recurring, spec.catch_up.policy is CatchUpPolicy.ALL
    catch_up = {
        "policy": spec.catch_up.policy,
        "maxRuns": spec.catch_up.max_runs if is_counted else None,
        "maxAgeSeconds": spec.catch_up.max_age_seconds,
    }
    return {
        "name": spec.name,
        "owner": spec.owner,
        "taskId": spec.task and spec.task.task_id,
        **schedule_fields(spec.schedule),
        **dependency_fields(spec),
        "event": None if spec.event is None else json.loads(spec.event),
        **policy_fields(spec),
        "overlapPolicy": spec.overlap,
        "delivery": spec.delivery,
        "tags": spec.tags,
        "calendar": spec.calendar,
        "notify": spec.notify,
        "pauseAfterFailures": spec.pause_after_failures,
        **flow_fields(spec.flow),
        "catchUp": catch_up if recurs else None,
        "jitterSeconds": spec.jitter_seconds if recurs else None,
    }


def document_of(spec: JobSpec) -> dict[str, Any]:
    """Return a job, read with its work, as a request body. Values that need not be stated are left out."""
    if spec.work is None:
        raise ValueError(f"job {spec.key.job_id} was read without its work")
    target = {"target": spec.work.target} if spec.task is None else {}
    fields, unstated = {**spec_fields(spec), **target}, _unstated(spec)
    stated = {name: value for name, value in request_form(fields).items() if name not in unstated}
    if "retryPolicy" in stated:
        del stated["retryPolicy"]["maxRetries"]
    if spec.notify is not None:
        stated["notify"] = notify_document(spec.notify)
    if spec.work.payload is not None:
        stated["payload"] = json.loads(spec.work.payload)
    return stated


def notify_document(notify: Notify) -> dict[str, Any]:
    """Return notices as a request; a tenant's default as if it were stated."""
    stated: dict[str, Any] = request_form(notify)
    del stated["ofTenant"]
    if not notify.watches_streaks:
        del stated["afterFailures"]
    if notify.on_blocked is None:
        del stated["afterBlocked"]
    return stated


def _unstated(spec: JobSpec) -> set[str]:
    """Return the names of fields that come from the job's task or from its parents."""
    of_task = set() if spec.task is None else {*map(str, Override)} - {*spec.task.own}
    return of_task | ({*schedule_fields(spec.schedule)} if spec.inherits else set())


def request_form(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return a value of the domain as JSON of a request, where a field that is None is left out."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [request_form(one) for one in value]
    if isinstance(value, Mapping):
        return {name: request_form(part) for name, part in value.items() if part is not None}
    if not is_dataclass(value):
        return value
    tag = {"type": value.type} if isinstance(value, Target) else {}
    return request_form({**tag, **{_alias(name): part for name, part in vars(value).items()}})
