"""Policies of runs, which a job states, or a task for all of its jobs."""

from collections.abc import Iterator
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import Strict
from timeball.api.jobs.fields import Factor, RetryCauses
from timeball.api.targets.request import EcsTargetField, StepFunctionsTargetField, Target
from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms import policies
from timeball.engine.execution.invocation import LONGEST_CALL_SECONDS


class RetryPolicyField(Strict):
    """A retry policy: exponential backoff within all limits."""

    base_seconds: int = Field(5, ge=0, le=86_400, description="The longest wait before the first retry in seconds.")
    factor: Factor = Field(2.0, description="The factor by which the longest wait grows with each retry.")
    max_seconds: int = Field(3600, ge=0, le=86_400, description="The bound of every wait in seconds.")
    jitter: Literal["full", "none"] = Field(
        "full", description="`full`: a wait is random, up to the longest; `none`: it is the longest."
    )
    max_age_seconds: int | None = Field(
        None,
        ge=1,
        le=2_592_000,
        description="The seconds after the fire time from which no retry begins; default: no bound.",
    )
    retry_on: RetryCauses = Field(
        [str(cause) for cause in policies.RETRIED_BY_DEFAULT],
        description=(
            "The failures that are retried: `timeout`, `connection`, `reported`, a status, a class of statuses."
        ),
    )


class PolicyFields(Strict):
    """The policies of a job or a task."""

    priority: Literal["high", "normal", "low"] | None = Field(
        None, description="The priority of runs; default `normal`."
    )
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
    completion: Literal["answer", "callback"] | None = Field(
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
    reports = request.completion == "callback" or ("completion" in names and request.completion is None)
    if "heartbeatSeconds" in names and not reports:
        yield FieldError(
            "heartbeatSeconds", "This is only valid with completion callback; give that too, or leave this out."
        )
    seconds = request.timeout_seconds or (0 if "timeoutSeconds" in names else JobSpec.timeout_seconds)
    is_followed = isinstance(target, StepFunctionsTargetField | EcsTargetField) and target.follow
    if seconds > LONGEST_CALL_SECONDS and not is_followed and not (reports and "heartbeatSeconds" in names):
        yield FieldError(
            "timeoutSeconds",
            f"This must be at most {LONGEST_CALL_SECONDS}; up to {LONGEST_SECONDS} is only valid with completion "
            "callback and heartbeatSeconds, or with a target that is followed.",
        )
    if reports and 0 < seconds < (request.heartbeat_seconds or 0):
        yield FieldError("heartbeatSeconds", f"This is longer than timeoutSeconds, which is {seconds}; give less.")


def retry_of(request: PolicyFields) -> policies.RetryPolicy:
    """Return the retry policy that a valid request asks for."""
    asked = request.retry_policy or _DEFAULT
    return policies.RetryPolicy(
        max_retries=policies.RetryPolicy.max_retries if request.max_retries is None else request.max_retries,
        base_seconds=asked.base_seconds,
        factor=asked.factor,
        max_seconds=asked.max_seconds,
        jitter=policies.Jitter(asked.jitter),
        max_age_seconds=asked.max_age_seconds,
        retry_on=tuple(sorted(asked.retry_on, key=_position)),
    )


_DEFAULT: Final = RetryPolicyField.model_validate({})
_NAMED: Final = {str(cause): position for position, cause in enumerate(policies.Cause)}


def _position(cause: str) -> tuple[int, str]:
    """Return the sort key of a cause, for a fixed order: causes by name, then statuses, then classes."""
    position = _NAMED.get(cause)
    return (len(_NAMED) + (not cause.isdigit()), cause) if position is None else (position, "")
