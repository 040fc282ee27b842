"""How runs are carried out: what a job may say of that, and a task for all of its jobs."""

from collections.abc import Iterator
from typing import Any, Final, Literal

from pydantic import Field

from functions.api.http.problems import FieldError
from functions.api.http.request_model import Strict
from functions.api.jobs.fields import Factor, RetryCauses
from functions.api.targets.request import EcsTarget, StepFunctionsTarget, Target
from timeball.domain.attempts.callback import LONGEST_SECONDS
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms import policies
from timeball.engine.execution.invocation import LONGEST_CALL_SECONDS


class RetryPolicy(Strict):
    """How a failed attempt is tried again: exponential backoff, whichever limit comes first."""

    base_seconds: int = Field(5, ge=0, le=86_400, description="The longest wait before the first retry.")
    factor: Factor = Field(2.0, description="What each wait grows by.")
    max_seconds: int = Field(3600, ge=0, le=86_400, description="No wait is longer.")
    jitter: Literal["full", "none"] = Field("full", description="`full` spreads a wait over all of its length.")
    max_age_seconds: int | None = Field(
        None, ge=1, le=2_592_000, description="No retry begins longer after the fire time."
    )
    retry_on: RetryCauses = Field(
        [str(cause) for cause in policies.RETRIED_BY_DEFAULT],
        description="What is worth another try: `timeout`, `connection`, `reported`, a status, a class of them.",
    )


class PolicyFields(Strict):
    """The policies of a job, or of a task."""

    priority: Literal["high", "normal", "low"] | None = Field(None, description="Default `normal`.")
    max_retries: int | None = Field(None, ge=0, le=100, description="Default 3.")
    retry_policy: RetryPolicy | None = Field(None, description="How a failed attempt is tried again.")
    timeout_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_SECONDS,
        description=f"How long one attempt may take; default 300. More than {LONGEST_CALL_SECONDS} only with "
        "completion `callback` and `heartbeatSeconds`.",
    )
    completion: Literal["answer", "callback"] | None = Field(
        None,
        description="What ends an attempt: the answer to its call (default), or, after a 202, the target's own word.",
    )
    heartbeat_seconds: int | None = Field(
        None, ge=1, le=3600, description="After a 202 the target must be heard of so often. With completion `callback`."
    )


_FOLLOWED: Final = {"type": "object", "required": ["follow"], "properties": {"follow": {"const": True}}}


def only_of_reports(*otherwise: dict[str, Any]) -> dict[str, Any]:
    """Return `beyond_an_answer` in JSON Schema, but for what compares two fields; it holds unless `otherwise` fits."""
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
    """Validate what only a target may have that reports later. What is wrong by itself is not held against the rest.

    One that is followed may take as long without a heartbeat.
    """
    reports = request.completion == "callback" or ("completion" in names and request.completion is None)
    if "heartbeatSeconds" in names and not reports:
        yield FieldError(
            "heartbeatSeconds", "This goes with completion callback only; give that too, or leave this out."
        )
    seconds = request.timeout_seconds or (0 if "timeoutSeconds" in names else JobSpec.timeout_seconds)
    is_followed = isinstance(target, StepFunctionsTarget | EcsTarget) and target.follow
    if seconds > LONGEST_CALL_SECONDS and not is_followed and not (reports and "heartbeatSeconds" in names):
        yield FieldError(
            "timeoutSeconds",
            f"This must be at most {LONGEST_CALL_SECONDS}; more, up to {LONGEST_SECONDS}, goes with completion "
            "callback and heartbeatSeconds only, or with a target that is followed.",
        )
    if reports and 0 < seconds < (request.heartbeat_seconds or 0):
        yield FieldError("heartbeatSeconds", f"This is longer than timeoutSeconds, which is {seconds}; give less.")


def retry_of(request: PolicyFields) -> policies.RetryPolicy:
    """Return the retry policy that a faultless request asks for."""
    asked = request.retry_policy or _DEFAULT
    return policies.RetryPolicy(
        max_retries=policies.RetryPolicy.max_retries if request.max_retries is None else request.max_retries,
        base_seconds=asked.base_seconds,
        factor=asked.factor,
        max_seconds=asked.max_seconds,
        jitter=policies.Jitter(asked.jitter),
        max_age_seconds=asked.max_age_seconds,
        retry_on=tuple(sorted(asked.retry_on, key=_place)),
    )


_DEFAULT: Final = RetryPolicy.model_validate({})
_NAMED: Final = {str(cause): place for place, cause in enumerate(policies.Cause)}


def _place(cause: str) -> tuple[int, str]:
    """Return where a cause stands, whatever order a request has: causes by name, then statuses, then classes."""
    place = _NAMED.get(cause)
    return (len(_NAMED) + (not cause.isdigit()), cause) if place is None else (place, "")
