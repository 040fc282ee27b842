"""The verdict about an attempt from an answer of AWS, or from an error: pure rules.

An error is judged by its HTTP status like that of a webhook, so one `retryOn` fits all targets. AWS's throttling errors
count as a 429, whatever their status. A call that AWS has accepted is done, unless the target must report.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from timeball.domain.model.runs.values import Accepted, Failed, Succeeded
from timeball.domain.model.terms.target import StepFunctionsTarget, TargetType, is_followed
from timeball.ports.target import Answer, Call
from timeball.targets.aws.requests import execution_arn
from timeball.targets.calls import is_retried

BODY_BYTES: Final = 16 * 1024
"""How much of an answer is read, and kept."""

_THROTTLED: Final = 429
_FAULT: Final = 500

_OF_FUNCTION: Final = "FunctionError"
"""Lambda itself succeeded; the function failed."""

_AS_STATUS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        (
            "ExecutionLimitExceeded",
            "LimitExceededException",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "SlowDown",
            "TooManyRequestsException",
        ),
        _THROTTLED,
    ),
    # A function that is getting ready: it was idle for long, or is being changed.
    **dict.fromkeys(
        (
            "CodeArtifactUserPendingException",
            "ResourceConflictException",
            "SnapStartNotReadyException",
            "SnapStartRegenerationFailureException",
        ),
        _FAULT,
    ),
    # Errors of one event, or one task, within an answer of the status 200.
    "AGENT": _FAULT,
    "InternalException": _FAULT,
    "InternalFailure": _FAULT,
    _OF_FUNCTION: _FAULT,
}
"""The status for an error that has none, or a misleading one."""

_NO_ROOM: Final = (
    "RESOURCE:",
    "Capacity is unavailable",
    "EMPTY CAPACITY PROVIDER",
    "NO ACTIVE INSTANCES",
    "No Container Instances were found",
    "You've reached the limit",
)
"""The beginnings of ECS's codes and messages that say that it has no room for a task now."""

_ALREADY: Final = ("ExecutionAlreadyExists", "ConflictException")
"""An execution has this name, or a task this token: it was started before. For a task, AWS adds its ARN."""


@dataclass(frozen=True)
class AwsReply:
    """An answer of AWS: the status, what is kept of it, and the code of an error with its message."""

    status: int
    body: str = ""
    code: str | None = None
    message: str = ""


def reply_of(kind: TargetType, answer: Mapping[str, Any]) -> AwsReply:
    """Return the reply in an answer of AWS that is no error by itself; a function's `Payload` was read already."""
    status: int = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 200)
    match kind:
        case TargetType.LAMBDA:
            body = answer.get("Payload", b"")[:BODY_BYTES].decode("utf-8", "replace").encode()[:BODY_BYTES]
            failed = answer.get("FunctionError")
            text = body.decode("utf-8", "ignore")
            return AwsReply(status, text, failed and _OF_FUNCTION, _said_by_function(text) if failed else "")
        case TargetType.SQS | TargetType.SNS:
            return AwsReply(status, _kept(messageId=answer.get("MessageId")))
        case TargetType.STEP_FUNCTIONS:
            return AwsReply(status, _kept(executionArn=answer.get("executionArn")))
        case TargetType.ECS:
            return _of_tasks(status, answer)
        case TargetType.EVENT_BRIDGE:
            (entry,) = answer.get("Entries") or [{}]
            kept = _kept(eventId=entry.get("EventId"))
            return AwsReply(status, kept, entry.get("ErrorCode"), entry.get("ErrorMessage", ""))
        case _:
            return AwsReply(status)


def refused(answer: Mapping[str, Any]) -> AwsReply:
    """Return the reply in an error of AWS."""
    error, about = answer.get("Error", {}), answer.get("ResponseMetadata", {})
    tasks = answer.get("resourceIds") or [None]
    kept = "" if tasks[0] is None else _kept(taskArn=tasks[0])
    return AwsReply(about.get("HTTPStatusCode", 0), kept, error.get("Code", "Unknown"), error.get("Message", ""))


def answered(call: Call, called_at: int, finished_at: int, reply: AwsReply) -> Answer:
    """Return the result of a call from its reply. An error that blames the request shows that the service works."""
    if reply.code is None or reply.code in _ALREADY:
        done = _handed_over(call, reply)
        return Answer(done, called_at, finished_at, reply.status, reply.body, is_down=False)
    status = _as_status(reply)
    what = "The function failed" if reply.code == _OF_FUNCTION else f"AWS refused the call: {reply.code}"
    error = f"{what}{_in_brackets(reply.message)}"
    verdict = Failed(may_retry=is_retried(call, status))
    return Answer(verdict, called_at, finished_at, reply.status, reply.body, error, is_down=status >= _FAULT)


def _handed_over(call: Call, reply: AwsReply) -> Succeeded | Accepted:
    """Return the verdict on a call that AWS has accepted: done, unless it is followed or the target must report."""
    target = call.work.target
    if is_followed(target):
        ids = json.loads(reply.body or "{}")
        named = ids.get("executionArn") or ids.get("taskArn")
        if named is None and isinstance(target, StepFunctionsTarget):  # it was started before, under its name
            named = execution_arn(target, call)
        if named is not None:
            return Accepted(named)
    return Accepted() if call.takes_report else Succeeded()


def _as_status(reply: AwsReply) -> int:
    code = reply.code or ""
    if code.startswith(_NO_ROOM) or reply.message.startswith(_NO_ROOM):
        return _FAULT
    if "throttl" in code.lower():  # each service has its own codes for it, and several for KMS
        return _THROTTLED
    return _AS_STATUS.get(code, reply.status if reply.status >= 300 else 400)


def _of_tasks(status: int, answer: Mapping[str, Any]) -> AwsReply:
    tasks, failures = answer.get("tasks") or [], answer.get("failures") or []
    if tasks:
        return AwsReply(status, _kept(taskArn=tasks[0].get("taskArn")))
    failure = failures[0] if failures else {}
    return AwsReply(status, "", failure.get("reason", "no task was started"), failure.get("detail", ""))


def _kept(**ids: str | None) -> str:
    return json.dumps({name: value for name, value in ids.items() if value is not None}, separators=(",", ":"))


def _said_by_function(text: str) -> str:
    """Return the message of a function's error, whose text may be cut."""
    try:
        said = json.loads(text)
    except ValueError:
        return ""
    return str(said.get("errorMessage", "")) if isinstance(said, dict) else ""


def _in_brackets(message: str) -> str:
    line = " ".join(message.split())[:500]
    return f" ({line})." if line else "."
