"""EventBridge's events of the end of an execution, or of an ECS task, that a run has started.

The event carries the input of the execution, with the token of its attempt: so it names its run, and no other event can
do so. An execution may pass its input on to another one: so an event counts only for the execution that the run
follows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeball.aws.executions import of_execution, of_task
from timeball.ports.executions import ExecutionStatus

_SOURCES = ("aws.states", "aws.ecs")


@dataclass(frozen=True)
class EndedExecution:
    """An ended execution: the run and the token, as unchecked texts, the execution, and how it stands."""

    run: str
    token: str
    execution: str
    standing: ExecutionStatus


def is_of_executions(body: str) -> bool:
    """Return whether the text of a message is an event of Step Functions or ECS."""
    return _event(body).get("source") in _SOURCES


def parse_ended(body: str) -> EndedExecution | None:
    """Return the ended execution of an event, if Timeball has started it; None for any other event."""
    event = _event(body)
    try:
        return _ended(event["detail"], is_task=event.get("source") == "aws.ecs")
    except (
        AttributeError,
        KeyError,
        TypeError,
        RecursionError,
    ):  # the starter of a task chooses much of its content
        return None


def _ended(detail: Mapping[str, Any], *, is_task: bool) -> EndedExecution | None:
    facts = _of_environment(detail) if is_task else _of_input(detail.get("input"))
    standing = of_task(detail) if is_task else of_execution(detail)
    identity = (facts["runId"], facts["callbackToken"], detail["taskArn" if is_task else "executionArn"])
    return (
        EndedExecution(*identity, standing)
        if standing.is_over and all(isinstance(one, str) for one in identity)
        else None
    )


def _event(body: str) -> Mapping[str, Any]:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _of_input(text: object) -> Mapping[str, Any]:
    """Return the facts within an execution's input, which AWS omits from events that would be too large."""
    given = _event(text) if isinstance(text, str) else {}
    facts = given.get("timeball")
    return facts if isinstance(facts, dict) else {}


def _of_environment(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    overrides = (detail.get("overrides") or {}).get("containerOverrides") or ()
    variables = {one["name"]: one.get("value") for override in overrides for one in override.get("environment") or ()}
    return {"runId": variables.get("TIMEBALL_RUN_ID"), "callbackToken": variables.get("TIMEBALL_CALLBACK_TOKEN")}
