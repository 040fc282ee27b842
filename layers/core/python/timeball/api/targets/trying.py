"""A trial of a target: one call, made at once and shown in full, without retries; nothing is stored.

An executor makes the call, with the same rights and checks as for runs: the API's own function may call no target.
"""

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, WhyItFailed, ok, read_body
from timeball.api.http.fields import Payload
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, over_quota, refuse
from timeball.api.http.quotas import large_payload, quotas_of
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import together
from timeball.api.targets.http import TaskId, Url
from timeball.api.targets.models import Target, called, closed_target
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.terms import target
from timeball.domain.model.terms.policies import Work
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.counters import CountWindow
from timeball.ports.errors import UnavailableError
from timeball.ports.target import Trial, Tried

router = Router()

MOST_IN_A_MINUTE: Final = 30
"""Trials of a tenant: each occupies a request and an executor until its target answers or its timeout ends."""
QUOTA: Final = "trialsPerMinute"

_LONGEST_SECONDS: Final = 20
_SECONDS: Final = 10
_TO_CALL: Final = ("handler", "target", "taskId")


class TrialRequest(Strict):
    """What to call, and with what."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_TO_CALL, exclusive=[_TO_CALL]))

    handler: Url | None = Field(None, description="The URL to call, short for an `http` target with a POST.")
    target: Target | None = Field(None, description="What to call. Give exactly one of this, `handler` and `taskId`.")
    task_id: TaskId | None = Field(None, description="The task whose target is called.")
    payload: Payload = Field(None, description="The payload of the call: any JSON, at most 256 KB.")
    timeout_seconds: int = Field(
        _SECONDS, ge=1, le=_LONGEST_SECONDS, description="The longest time for the call in seconds."
    )


class TrialResultAnswer(AnswerModel):
    """The target's answer."""

    status: int | None = Field(description="The status, if the target's protocol has one.")
    headers: dict[str, str] = Field(description="The headers, up to 8 KB.")
    body: str = Field(description="The body, up to 16 KB.")


class TrialTimingsAnswer(AnswerModel):
    """How long each step took in ms; null for a step that the call did not reach or that cannot be measured."""

    name_ms: int | None = Field(description="Milliseconds to look up and check the host's addresses.")
    connect_ms: int | None = Field(description="Milliseconds to connect.")
    tls_ms: int | None = Field(description="Milliseconds for the TLS handshake; null without TLS.")
    wait_ms: int | None = Field(description="Milliseconds from then until the answer's headers arrived.")
    body_ms: int | None = Field(description="Milliseconds to read the answer's body.")
    total_ms: int | None = Field(description="Milliseconds for the whole call.")


class TrialSignatureAnswer(AnswerModel):
    """The signature of the call."""

    secret_id: str = Field(description="The name of the secret.")
    keys: int = Field(
        description="The number of keys that signed: two during a rotation; 0 if the secret was not read."
    )


class TrialAnswer(AnswerModel):
    """One call in full."""

    verdict: Literal["succeeded", "accepted", "failed"] = Field(description="The result of a run with this call.")
    may_retry: bool = Field(description="Whether a run with this result would be retried, by the default `retryOn`.")
    error: WhyItFailed
    request: dict[str, Any] | None = Field(
        description=(
            "The request as it was sent: for a webhook `method`, `url`, `headers` and `body` (up to 16 "
            "KB), without the values of your own headers; for a target of AWS `service`, `region`, "
            "`operation` and `arguments`. Null if nothing could be sent."
        )
    )
    response: TrialResultAnswer | None = Field(description="The target's answer; null if there was none.")
    timings: TrialTimingsAnswer = Field(description="How long each step took.")
    signature: TrialSignatureAnswer | None = Field(description="The signature; null if the target names no secret.")


@router.post(
    "/v1/targets:test",
    "Call a target once, now, and show the request, the answer and the timings; nothing is stored",
    TrialAnswer,
    body=TrialRequest,
    problems=(Problem.QUOTA_EXCEEDED,),
    access=Access.OPERATE,
)
def test_target(edge: ApiContext, request: Request) -> Reply:
    """Call a target once, now, and return the request, the answer and the timings."""
    wanted, given, errors = read_fields(TrialRequest, read_body(request))
    named = given & set(_TO_CALL)
    if not errors and len(named) != 1:
        errors.append(
            FieldError("target", "Say what to call: give one of target, handler, an https:// URL, or taskId.")
        )
    refuse(errors)
    called = _target(edge, request, wanted)
    payload = compact(wanted.payload) if "payload" in wanted.model_fields_set else None
    errors = large_payload(quotas_of(edge, request), payload)
    if wanted.task_id is None:
        url_field = "handler" if wanted.target is None else None
        errors += closed_target(edge, request.tenant, "target", called, url_field)
    refuse(errors)
    _count(edge, request)
    return ok(_answer(called, _tried(edge, Trial(request.tenant, Work(called, payload), wanted.timeout_seconds))))


def _target(edge: ApiContext, request: Request, wanted: TrialRequest) -> target.Target:
    own = called(wanted.target, wanted.handler)
    if own is not None:
        return own
    (task,) = edge.context.store.tasks.read([TaskKey(request.tenant, wanted.task_id or "")])
    if task is None or task.is_deleted:
        raise invalid([FieldError("taskId", "You have no task with this id; list yours at /v1/tasks.")])
    return task.spec.target


def _count(edge: ApiContext, request: Request) -> None:
    """Raise ProblemError if the tenant has made too many trials in this minute."""
    now = edge.context.clock.now()
    window = CountWindow(request.tenant, "trials", now - now % MINUTE_MS, 60)
    if not edge.context.store.windows.take(window, 1, MOST_IN_A_MINUTE):
        raise over_quota(
            QUOTA,
            f"A tenant may try targets {MOST_IN_A_MINUTE} times a minute; try again in the next minute.",
            -(-(window.ends_at - now) // SECOND_MS),
        )


def _tried(edge: ApiContext, trial: Trial) -> Tried:
    if edge.trials is None:
        raise LookupError("this function was given nothing to make trials with")
    try:
        return edge.trials.make(trial)
    except UnavailableError:
        raise ProblemError(
            Problem.UNAVAILABLE,
            "No executor has reported a result, so the call may have been made; check the target before you try again.",
            headers={"Retry-After": "1"},
        ) from None


def _answer(called: target.Target, tried: Tried) -> TrialAnswer:
    secret_id = called.secret_id if isinstance(called, target.HttpTarget) else None
    has_answer = tried.status is not None or tried.headers or tried.body
    return TrialAnswer.about(
        tried,
        request=tried.request or None,
        response=tried if has_answer else None,
        timings={f"{step}Ms": tried.took_ms.get(step) for step in ("name", "connect", "tls", "wait", "body", "total")},
        signature=None if secret_id is None else {"secretId": secret_id, "keys": tried.signatures},
    )
