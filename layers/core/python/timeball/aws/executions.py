"""Executions on AWS: how they stand when they are asked for, and the events of EventBridge about their ends.

Step Functions takes a request for each, ECS one for up to a hundred tasks of a cluster. A caller waits for a bounded
time in all, whatever AWS does: executions without an answer by then are unknown.

An event has the input of the execution, with the token of its attempt: so it names its run, and no other event can do
so. An execution may pass its input on to another one: so an event counts only for the execution that the run follows.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeVar

from timeball.ports.target import UNDER_WAY, UNKNOWN, ExecutionStatus

log = logging.getLogger(__name__)

_Asked = TypeVar("_Asked")
_Answered = TypeVar("_Answered")

_SOURCES = ("aws.states", "aws.ecs")
_SECONDS: Final = 2.0
_TASKS_AT_ONCE: Final = 100
_BODY_BYTES: Final = 16 * 1024

Connect = Callable[[str, str], Any]
"""Returns a client of a service in a region."""


class AwsExecutions:
    """The executions of Step Functions and the tasks of ECS."""

    def __init__(self, connect: Connect, threads: ThreadPoolExecutor, seconds: float = _SECONDS) -> None:
        self._connect = connect
        self._threads = threads
        self._seconds = seconds

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return how each execution stands; None if that is unknown now."""
        found: dict[str, ExecutionStatus] = {}
        machines = [arn for arn in arns if not _is_task(arn)]
        for standings in self._in_time(self._described, [*map(_alone, machines), *_by_cluster(arns)]):
            found |= standings or {}
        return [found.get(arn) for arn in arns]

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution that is under way; return whether that is done."""
        return [bool(done) for done in self._in_time(self._stopped, arns)]

    def _in_time(self, ask: Callable[[_Asked], _Answered], asked: Sequence[_Asked]) -> list[_Answered | None]:
        """Ask all at once, and return the answers that come in time; None for the others."""
        futures = [self._threads.submit(ask, one) for one in asked]
        done, late = wait(futures, self._seconds)
        for one in late:
            one.cancel()
        return [one.result() if one in done else None for one in futures]

    def _described(self, arns: Sequence[str]) -> Mapping[str, ExecutionStatus]:
        try:
            if not _is_task(arns[0]):
                client = self._connect("stepfunctions", _region(arns[0]))
                return {arns[0]: of_execution(client.describe_execution(executionArn=arns[0]))}
            answer = self._connect("ecs", _region(arns[0])).describe_tasks(cluster=_cluster(arns[0]), tasks=[*arns])
            missing = {one["arn"]: UNKNOWN for one in answer.get("failures", ()) if one.get("reason") == "MISSING"}
            return {**missing, **{task["taskArn"]: of_task(task) for task in answer.get("tasks", ())}}
        except Exception as error:  # noqa: BLE001 - whatever it is, the scan asks again
            if _code(error) == "ExecutionDoesNotExist":
                return {arns[0]: UNKNOWN}
            log.warning("executions not polled: %s", error, extra={"execution": arns[0]})
            return {}

    def _stopped(self, arn: str) -> bool:
        reason = "The run was cancelled, or is out of time."
        try:
            if _is_task(arn):
                self._connect("ecs", _region(arn)).stop_task(cluster=_cluster(arn), task=arn, reason=reason)
            else:
                client = self._connect("stepfunctions", _region(arn))
                client.stop_execution(executionArn=arn, error="Timeball.Stopped", cause=reason)
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("execution not stopped: %s", error, extra={"execution": arn})
            return False
        return True


def of_execution(answer: Mapping[str, Any]) -> ExecutionStatus:
    """Return how an execution of a state machine stands, from the answer of Step Functions."""
    match answer["status"]:
        case "SUCCEEDED":
            return ExecutionStatus(is_over=True, body=_cut(answer.get("output")))
        case "FAILED" | "TIMED_OUT" | "ABORTED" as status:
            said = ": ".join(part for part in (answer.get("error"), answer.get("cause")) if part)
            return ExecutionStatus(is_over=True, error=_sentence(f"The execution ended as {status}", said))
        case _:  # it runs, or waits for a redrive
            return UNDER_WAY


def of_task(task: Mapping[str, Any]) -> ExecutionStatus:
    """Return how a task stands, from the answer of ECS.

    It has succeeded if it ended by itself, and the container that got the run's variables exited with 0: other
    containers, such as a log router, are killed at its end.
    """
    if task.get("lastStatus") != "STOPPED":
        return UNDER_WAY
    codes = {one.get("name", "?"): one.get("exitCode") for one in task.get("containers", ())}
    of_run = _containers_of_the_run(task)
    judged = {name: code for name, code in codes.items() if name in of_run} or codes
    failed = {name: code for name, code in judged.items() if code != 0}
    ended_by_itself = task.get("stopCode") in (None, "EssentialContainerExited")
    if ended_by_itself and judged and not failed:
        return ExecutionStatus(is_over=True, body=json.dumps({"exitCodes": codes}, separators=(",", ":")))
    return ExecutionStatus(is_over=True, error=_why_stopped(task, failed or judged))


def _why_stopped(task: Mapping[str, Any], codes: Mapping[str, Any]) -> str:
    ends = ", ".join(f"{name} {code}" for name, code in codes.items()) or "no container"
    return _sentence(f"The task stopped; exit codes: {ends}", task.get("stoppedReason") or "")


def _containers_of_the_run(task: Mapping[str, Any]) -> set[str]:
    """Return the names of the containers whose environment names a run."""
    return {
        override.get("name", "?")
        for override in _overrides(task)
        if any(one.get("name") == "TIMEBALL_RUN_ID" for one in override.get("environment") or ())
    }


def _overrides(task: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return what the starter of a task has changed of its containers."""
    return (task.get("overrides") or {}).get("containerOverrides") or ()


def _by_cluster(arns: Sequence[str]) -> list[list[str]]:
    tasks: dict[str, list[str]] = {}
    for arn in dict.fromkeys(filter(_is_task, arns)):
        tasks.setdefault(_cluster(arn), []).append(arn)
    return [of[at : at + _TASKS_AT_ONCE] for of in tasks.values() for at in range(0, len(of), _TASKS_AT_ONCE)]


def _alone(arn: str) -> list[str]:
    return [arn]


def _is_task(arn: str) -> bool:
    return ":ecs:" in arn


def _region(arn: str) -> str:
    return arn.split(":")[3]


def _cluster(arn: str) -> str:
    begin, _, rest = arn.partition(":task/")
    return f"{begin}:cluster/{rest.partition('/')[0]}"


def _code(error: Exception) -> str:
    answer: Mapping[str, Any] = getattr(error, "response", {})
    return str(answer.get("Error", {}).get("Code", ""))


def _cut(text: str | None) -> str | None:
    return None if text is None else text.encode()[:_BODY_BYTES].decode("utf-8", "ignore")


def _sentence(what: str, said: str) -> str:
    line = " ".join(said.split())[:500]
    return f"{what} ({line})." if line else f"{what}."


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
    environments = (override.get("environment") or () for override in _overrides(detail))
    variables = {one["name"]: one.get("value") for one in chain.from_iterable(environments)}
    return {"runId": variables.get("TIMEBALL_RUN_ID"), "callbackToken": variables.get("TIMEBALL_CALLBACK_TOKEN")}
