"""A trial of a target: one call, made at once and shown whole. Nothing is stored, and nothing is tried again.

An executor makes it, with the rights and the guards by which it calls runs' targets: the API's own function has none.
"""

from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from functions.api.http.body import compact
from functions.api.http.edge import Edge
from functions.api.http.fields import Payload
from functions.api.http.problems import FieldError, Problem, ProblemError, invalid, over_quota
from functions.api.http.quotas import large_payload, quotas_of
from functions.api.http.reply import Answer, Reply, ok
from functions.api.http.request import Request, read_body
from functions.api.http.request_model import Strict, read_fields
from functions.api.http.schema_rules import together
from functions.api.targets.http import TaskId, Url
from functions.api.targets.refused import closed_target
from functions.api.targets.request import Target, target_of
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.terms import target
from timeball.domain.model.terms.work import Work
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.registers.windows import Window
from timeball.ports.trials import Trial, Tried

MOST_IN_A_MINUTE: Final = 30
"""Trials of a tenant: each holds a request and an executor for as long as its target likes, up to its timeout."""
QUOTA: Final = "trialsPerMinute"

_LONGEST_SECONDS: Final = 20
_SECONDS: Final = 10
_TO_CALL: Final = ("handler", "target", "taskId")


class TrialRequest(Strict):
    """What to call, and with what."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_TO_CALL, exclusive=[_TO_CALL]))

    handler: Url | None = Field(None, description="The URL to call: short for an `http` target with a POST.")
    target: Target | None = Field(None, description="What to call. Either this, `handler` or `taskId`.")
    task_id: TaskId | None = Field(None, description="The task whose target is called.")
    payload: Payload = Field(None, description="Any JSON, at most 256 KB: what the call is handed.")
    timeout_seconds: int = Field(_SECONDS, ge=1, le=_LONGEST_SECONDS, description="How long the call may take.")


class TrialResultAnswer(Answer):
    """What the target answered."""

    status: int | None = Field(description="The status, where the target's protocol has one.")
    headers: dict[str, str] = Field(description="Up to 8 KB of them.")
    body: str = Field(description="Up to 16 KB of it.")


class TrialTimingsAnswer(Answer):
    """How long each part took, in ms; null for one that the call did not come to, or that cannot be told apart."""

    name_ms: int | None = Field(description="Until the host's addresses were looked up and found open.")
    connect_ms: int | None = Field(description="Until the connection was made.")
    tls_ms: int | None = Field(description="Until TLS was agreed on; null without TLS.")
    wait_ms: int | None = Field(description="From then on until the answer's head came.")
    body_ms: int | None = Field(description="Until its body was read.")
    total_ms: int | None = Field(description="All of it.")


class TrialSignatureAnswer(Answer):
    """By what the call was signed."""

    secret_id: str
    keys: int = Field(description="How many keys signed: two while one is changed; 0 if the secret was not read.")


class TrialAnswer(Answer):
    """One call, whole."""

    verdict: Literal["succeeded", "accepted", "failed"] = Field(description="What a run would make of it.")
    may_retry: bool = Field(description="Whether a run that failed so would be tried again, by the default `retryOn`.")
    error: str | None = Field(description="Why it failed.")
    request: dict[str, Any] | None = Field(
        description="What was sent: of a webhook `method`, `url`, `headers` and `body` (up to 16 KB), where headers of "
        "your own have no value; of a target of AWS `service`, `region`, `operation` and `arguments`. Null if nothing "
        "could be sent."
    )
    response: TrialResultAnswer | None = Field(description="Null if there was none.")
    timings: TrialTimingsAnswer
    signature: TrialSignatureAnswer | None = Field(description="Null if the target names no secret.")


def try_target(edge: Edge, request: Request) -> Reply:
    """Call a target once, now, and show what was sent, what came back and how long it took."""
    wanted, given, errors = read_fields(TrialRequest, read_body(request))
    named = given & set(_TO_CALL)
    if not errors and len(named) != 1:
        errors.append(
            FieldError("target", "Say what to call: give one of target, handler, an https:// URL, or taskId.")
        )
    if errors:
        raise invalid(errors)
    called = _target(edge, request, wanted)
    payload = compact(wanted.payload) if "payload" in wanted.model_fields_set else None
    errors = large_payload(quotas_of(edge, request), payload)
    if wanted.task_id is None:
        url_field = "handler" if wanted.target is None else None
        errors += closed_target(edge, request.tenant, "target", called, url_field)
    if errors:
        raise invalid(errors)
    _count(edge, request)
    return ok(_answer(called, _tried(edge, Trial(request.tenant, Work(called, payload), wanted.timeout_seconds))))


def _target(edge: Edge, request: Request, wanted: TrialRequest) -> target.Target:
    if wanted.target is not None:
        return target_of(wanted.target)
    if wanted.handler is not None:
        return target.HttpTarget(wanted.handler)
    (task,) = edge.context.store.tasks.read([TaskKey(request.tenant, wanted.task_id or "")])
    if task is None or task.is_deleted:
        raise invalid([FieldError("taskId", "You have no task with this id; list yours at /v1/tasks.")])
    return task.spec.target


def _count(edge: Edge, request: Request) -> None:
    """Raise ProblemError if the tenant has made as many trials as may be in this minute."""
    now = edge.context.clock.now()
    window = Window(request.tenant, "trials", now - now % MINUTE_MS, 60)
    if not edge.context.store.windows.take(window, 1, MOST_IN_A_MINUTE):
        raise over_quota(
            QUOTA,
            f"A tenant may try targets {MOST_IN_A_MINUTE} times in a minute; try again in the next.",
            -(-(window.ends_at - now) // SECOND_MS),
        )


def _tried(edge: Edge, trial: Trial) -> Tried:
    if edge.trials is None:
        raise LookupError("this function was given nothing to make trials with")
    try:
        return edge.trials.make(trial)
    except UnavailableError:
        raise ProblemError(
            Problem.UNAVAILABLE,
            "No executor has told what came of the call, so it may have been made; look at the target before you try "
            "again.",
            headers={"Retry-After": "1"},
        ) from None


def _answer(called: target.Target, tried: Tried) -> TrialAnswer:
    secret_id = called.secret_id if isinstance(called, target.HttpTarget) else None
    has_answer = tried.status is not None or tried.headers or tried.body
    parts = ("name", "connect", "tls", "wait", "body", "total")
    return TrialAnswer.model_validate(
        {
            "verdict": tried.verdict,
            "mayRetry": tried.may_retry,
            "error": tried.error,
            "request": tried.request or None,
            "response": {"status": tried.status, "headers": tried.headers, "body": tried.body} if has_answer else None,
            "timings": {f"{part}Ms": tried.took_ms.get(part) for part in parts},
            "signature": None if secret_id is None else {"secretId": secret_id, "keys": tried.signatures},
        },
        by_alias=True,
    )
