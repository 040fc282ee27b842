"""Policies of runs, which a job states, or a task for all of its jobs."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from timeball.api.http.fields import Checked
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, stated
from timeball.api.targets.models import Target
from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.model.jobs.job import Completion, JobSpec, Priority
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT, Cause, Jitter, RetryPolicy
from timeball.engine.execution.invocation import LONGEST_CALL_SECONDS

_RETRY_CAUSE: Final = re.compile(rf"{Cause.TIMEOUT}|{Cause.CONNECTION}|{Cause.REPORTED}|[1-5][0-9]{{2}}|[345]xx")
_NAMED: Final = {str(cause): position for position, cause in enumerate(Cause)}


def _retry_causes(causes: list[str]) -> list[str]:
    if len(set(causes)) < len(causes):
        raise ValueError("Give each entry once.")
    return sorted(causes, key=_position)


def _position(cause: str) -> tuple[int, str]:
    """Return the sort key of a cause, for a fixed order: causes by name, then statuses, then classes."""
    position = _NAMED.get(cause)
    return (len(_NAMED) + (not cause.isdigit()), cause) if position is None else (position, "")


RetryCause = Annotated[
    str,
    Checked(
        _RETRY_CAUSE.fullmatch,
        'Give timeout, connection, reported, a status such as "409", or a class: "3xx", "4xx", "5xx".',
        pattern=f"^({_RETRY_CAUSE.pattern})$",
        examples=["timeout", "409", "5xx"],
    ),
]
RetryCauses = Annotated[
    list[RetryCause], Field(max_length=20, json_schema_extra={"uniqueItems": True}), AfterValidator(_retry_causes)
]
Factor = Annotated[float, Field(ge=1, le=10)]


class RetryPolicyField(Strict):
    """A retry policy: exponential backoff within all limits."""

    base_seconds: int = Field(5, ge=0, le=86_400, description="The longest wait before the first retry in seconds.")
    factor: Factor = Field(2.0, description="The factor by which the longest wait grows with each retry.")
    max_seconds: int = Field(3600, ge=0, le=86_400, description="The bound of every wait in seconds.")
    jitter: Annotated[Jitter, ByValue] = Field(
        Jitter.FULL, description="`full`: a wait is random, up to the longest; `none`: it is the longest."
    )
    max_age_seconds: int | None = Field(
        None,
        ge=1,
        le=2_592_000,
        description="The seconds after the fire time from which no retry begins; default: no bound.",
    )
    retry_on: RetryCauses = Field(
        [str(cause) for cause in RETRIED_BY_DEFAULT],
        description=(
            "The failures that are retried: `timeout`, `connection`, `reported`, a status, a class of statuses."
        ),
    )


class PolicyFields(Strict):
    """The policies of a job or a task."""

    priority: Annotated[Priority, ByValue] | None = Field(None, description="The priority of runs; default `normal`.")
    max_retries: int | None = Field(None, ge=0, le=100, description="The most retries of a run; default 3.")
    retry_policy: RetryPolicyField | None = Field(None, description="When a failed attempt is retried.")
    timeout_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_SECONDS,
        description=(
            f"The longest time for one attempt in seconds; default 300. More than {LONGEST_CALL_SECONDS} is "
            "only valid with completion `callback` and `heartbeatSeconds`, or with a target that is followed."
        ),
    )
    completion: Annotated[Completion, ByValue] | None = Field(
        None,
        description="Whether the call's answer ends an attempt (default), or, after a 202, the target's report.",
    )
    heartbeat_seconds: int | None = Field(
        None,
        ge=1,
        le=3600,
        description=(
            "The longest time in seconds between two heartbeats of the target after a 202; only with "
            "completion `callback`."
        ),
    )


_FOLLOWED: Final = {"type": "object", "required": ["follow"], "properties": {"follow": {"const": True}}}


def only_of_reports(*otherwise: dict[str, Any]) -> dict[str, Any]:
    """Return the rule of `beyond_an_answer` in JSON Schema, without its comparison of two fields.

    The rule does not apply where one of the schemas `otherwise` matches.
    """
    short = {"timeoutSeconds": {"maximum": LONGEST_CALL_SECONDS}}
    reports = {"completion": {"const": "callback"}}
    return {
        "anyOf": [
            {"properties": {**short, "heartbeatSeconds": {"type": "null"}}},
            {"required": ["completion"], "properties": {**short, **reports}},
            {
                "required": ["completion", "heartbeatSeconds"],
                "properties": {**reports, "heartbeatSeconds": {"not": {"type": "null"}}},
            },
            {"required": ["target"], "properties": {"target": _FOLLOWED, "heartbeatSeconds": {"type": "null"}}},
            {"required": ["target", "completion"], "properties": {"target": _FOLLOWED, **reports}},
            *otherwise,
        ]
    }


def beyond_an_answer(request: PolicyFields, names: set[str], target: Target | None = None) -> Iterator[FieldError]:
    """Yield the errors of fields that only a target with reports may have. A field's own errors are not repeated.

    A target that is followed may take as long without a heartbeat. `names` are the fields of the body.
    """
    reports = request.completion is Completion.CALLBACK or ("completion" in names and request.completion is None)
    has_heartbeat = "heartbeatSeconds" in names
    seconds = _timeout_of(request, names)
    if has_heartbeat and not reports:
        yield FieldError(
            "heartbeatSeconds", "This is only valid with completion callback; give that too, or leave this out."
        )
    has_time = getattr(target, "follow", False) or (reports and has_heartbeat)
    if seconds > LONGEST_CALL_SECONDS and not has_time:
        yield FieldError(
            "timeoutSeconds",
            f"This must be at most {LONGEST_CALL_SECONDS}; up to {LONGEST_SECONDS} is only valid with completion "
            "callback and heartbeatSeconds, or with a target that is followed.",
        )
    if reports and 0 < seconds < (request.heartbeat_seconds or 0):
        yield FieldError("heartbeatSeconds", f"This is longer than timeoutSeconds, which is {seconds}; give less.")


def _timeout_of(request: PolicyFields, names: set[str]) -> int:
    """Return the timeout of a request in seconds; 0 if it is not valid."""
    return request.timeout_seconds or (0 if "timeoutSeconds" in names else JobSpec.timeout_seconds)


def stated_policies(request: PolicyFields) -> dict[str, Any]:
    """Return the policies that a valid request states, as the specs of jobs and tasks name them."""
    same = stated(request, "priority", "timeout_seconds", "completion", "heartbeat_seconds")
    return {**same, "retry": RetryPolicy(**stated(request, "max_retries"), **stated(request.retry_policy))}


def policy_fields(spec: JobSpec | TaskSpec) -> dict[str, Any]:
    """Return the policies of a job or a task by the names of the API, which are also those of `Override`."""
    return {
        "priority": spec.priority,
        "maxRetries": spec.retry.max_retries,
        "retryPolicy": spec.retry,
        "timeoutSeconds": spec.timeout_seconds,
        "completion": spec.completion,
        "heartbeatSeconds": spec.heartbeat_seconds,
    }
