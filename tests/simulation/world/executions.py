"""Simulated Step Functions and ECS: the executions that runs have started, how AWS reports them, and how they end.

They answer as boto3's clients do, so Timeball's own adapters read the answers. As AWS documents it, a new execution is
invisible for a while, a name is given once, and requests are throttled.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from tests.simulation.world.process import Process, simulated
from timeball.aws.executions import AwsExecutions
from timeball.domain.attempts.callback_token import read_token
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import LATEST
from timeball.testing.virtual_clock import VirtualClock

SECRET = "s" * 64
"""The key that signs the tokens of a story."""

Answer = Mapping[str, Any]

_TAKES_MS, _TAKES_MS_IN_CALM = (1, 2_000, 5_000, 20_000, 45_000, 90_000, LATEST), (1, 2_000, 5_000)
_UNSEEN_MS = (0, 0, 0, 2_000, 30_000)
_STOPS_AFTER_MS = (0, 1_000, 30_000)
_THROTTLED = 0.1


class AwsError(Exception):
    """An error of AWS, as boto3 raises it."""

    def __init__(self, code: str, status: int = 400, **more: object) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}


@dataclass
class Execution:
    """An execution: the attempt that started it, the request to AWS, and when (ms) and how it ends by itself."""

    arn: str
    run: RunId
    attempt: int
    asked: Answer
    started_at: int
    ends_at: int
    end: Answer
    is_good: bool
    seen_from: int
    stop_asked_at: int = LATEST
    stopped_at: int = LATEST
    stop: Answer | None = None

    @property
    def resource(self) -> str:
        """The target's resource: the state machine, or the task definition in its cluster."""
        asked = self.asked
        return str(asked.get("stateMachineArn") or f"{asked['cluster']} {asked['taskDefinition']}")

    @property
    def over_at(self) -> int:
        """The end of the execution (ms)."""
        return min(self.ends_at, self.stopped_at)

    @property
    def was_stopped(self) -> bool:
        """Whether the execution ended because it was stopped."""
        return self.stopped_at < self.ends_at

    @property
    def has_succeeded(self) -> bool:
        """Whether the execution ended by itself, and well."""
        return self.is_good and not self.was_stopped


class SimulatedExecutions:
    """State machines and clusters. `on_end` gets each execution as soon as the time of its end is known.

    With `lasts_ms` each execution takes so long.
    """

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        self.all: dict[str, Execution] = {}
        self.is_calm = self.all_succeed = False
        self.lasts_ms: int | None = None
        self.on_end: Callable[[Execution], object] = lambda _: None
        self._clock, self.draw = clock, random

    def of_attempt(self, run: RunId, attempt: int) -> list[Execution]:
        """Return the executions that an attempt of a run has started, according to AWS."""
        return [one for one in self.all.values() if (one.run, one.attempt) == (run, attempt)]

    def start_execution(self, **asked: Any) -> Answer:
        """Start an execution of a state machine, unless there is one of that name."""
        arn = f"{asked['stateMachineArn'].replace(':stateMachine:', ':execution:')}:{asked['name']}"
        standing = self.all.get(arn)
        if standing is not None and (standing.asked != asked or standing.over_at <= self._clock.now()):
            raise AwsError("ExecutionAlreadyExists")
        if standing is None:
            facts = json.loads(asked["input"])["timeball"]
            self._start(arn, facts["runId"], facts["callbackToken"], asked, _ENDS_OF_EXECUTIONS)
        return {"executionArn": arn}

    def run_task(self, **asked: Any) -> Answer:
        """Run a task, unless one was run with that token."""
        arn = f"{asked['cluster'].replace(':cluster/', ':task/')}/{asked['clientToken']}"
        standing = self.all.get(arn)
        if standing is not None and standing.asked != asked:
            raise AwsError("ConflictException", resourceIds=[arn])
        if standing is None:
            (container,) = asked["overrides"]["containerOverrides"]
            told = {one["name"]: one["value"] for one in container["environment"]}
            self._start(arn, told["TIMEBALL_RUN_ID"], told["TIMEBALL_CALLBACK_TOKEN"], asked, _ENDS_OF_TASKS)
        return {"tasks": [{"taskArn": arn}]}

    def describe_execution(self, *, executionArn: str) -> Answer:  # noqa: N803 - as AWS names it
        """Return the state of an execution."""
        self._may_throttle()
        if self._is_unseen(executionArn):
            raise AwsError("ExecutionDoesNotExist")
        return self.told_of(self.all[executionArn])

    def describe_tasks(self, *, cluster: str, tasks: Iterable[str]) -> Answer:  # noqa: ARG002 - as AWS names it
        """Return the state of tasks."""
        self._may_throttle()
        seen = {arn: not self._is_unseen(arn) for arn in tasks}
        return {
            "tasks": [self.told_of(self.all[arn]) for arn in seen if seen[arn]],
            "failures": [{"arn": arn, "reason": "MISSING"} for arn in seen if not seen[arn]],
        }

    def stop_execution(self, *, executionArn: str, error: str, cause: str) -> None:  # noqa: N803 - as AWS names it
        """Stop an execution that is under way."""
        self._stop(executionArn, "ExecutionDoesNotExist", {"status": "ABORTED", "error": error, "cause": cause})

    def stop_task(self, *, cluster: str, task: str, reason: str) -> None:  # noqa: ARG002 - as AWS names it
        """Stop a task that is under way."""
        told, takes_ms = {**_stopped("UserInitiated", 137), "stoppedReason": reason}, self.draw.choice(_STOPS_AFTER_MS)
        self._stop(task, "InvalidParameterException", told, takes_ms)

    def told_of(self, one: Execution) -> Answer:
        """Return AWS's description of an execution, or a task, in its current state."""
        if self._clock.now() < one.over_at:
            desired = "STOPPED" if one.stop_asked_at < LATEST else "RUNNING"
            standing: Answer = {"status": "RUNNING", "lastStatus": "RUNNING", "desiredStatus": desired}
        else:
            standing = one.stop if one.was_stopped and one.stop is not None else one.end
        if _is_task(one):
            return {**standing, "taskArn": one.arn, "overrides": one.asked["overrides"]}
        return {**standing, "executionArn": one.arn, "input": one.asked["input"]}

    def event_of(self, one: Execution) -> str:
        """Return the body of an execution's event, as a queue delivers it."""
        return json.dumps({"source": "aws.ecs" if _is_task(one) else "aws.states", "detail": self.told_of(one)})

    def _start(self, arn: str, run_id: str, token: str, asked: Answer, ends: list[tuple[Answer, bool]]) -> None:
        claimed = read_token(token)
        run = None if claimed is None else RunId.parse(claimed.tenant, run_id)
        assert claimed is not None
        assert run is not None
        now, takes_ms = self._clock.now(), self.draw.choice(_TAKES_MS_IN_CALM if self.is_calm else _TAKES_MS)
        takes_ms = takes_ms if self.lasts_ms is None else self.lasts_ms
        end, is_good = ends[0] if self.all_succeed else self.draw.choice(ends)
        unseen_ms = self.draw.choice((0,) if self.is_calm else _UNSEEN_MS)
        one = Execution(arn, run, claimed.attempt, asked, now, now + takes_ms, end, is_good, now + unseen_ms)
        self.all[arn] = one
        self.on_end(one)

    def _stop(self, arn: str, unknown: str, told: Answer, takes_ms: int = 0) -> None:
        self._may_throttle()
        if self._is_unseen(arn):
            raise AwsError(unknown)
        one = self.all[arn]
        now = self._clock.now()
        one.stop_asked_at = min(one.stop_asked_at, now)
        if now + takes_ms < one.over_at:
            one.stopped_at, one.stop = now + takes_ms, told
            self.on_end(one)

    def _is_unseen(self, arn: str) -> bool:
        return arn not in self.all or self._clock.now() < self.all[arn].seen_from

    def _may_throttle(self) -> None:
        if not self.is_calm and self.draw.random() < _THROTTLED:
            raise AwsError("ThrottlingException")


def _is_task(one: Execution) -> bool:
    return "clientToken" in one.asked


def _stopped(why: str | None, *codes: int | None) -> Answer:
    """Return the description of a task whose container, and the one beside it, ended with these codes."""
    containers = [{"name": name, "exitCode": code} for name, code in zip(("main", "router"), codes, strict=False)]
    return {"lastStatus": "STOPPED", "stopCode": why, "containers": containers}


_ENDS_OF_EXECUTIONS: list[tuple[Answer, bool]] = [
    ({"status": "SUCCEEDED", "output": '{"rows":7}'}, True),
    ({"status": "SUCCEEDED", "output": '{"rows":7}'}, True),
    ({"status": "FAILED", "error": "Broken"}, False),
    ({"status": "TIMED_OUT"}, False),
    ({"status": "ABORTED"}, False),
]
_ENDS_OF_TASKS: list[tuple[Answer, bool]] = [
    (_stopped("EssentialContainerExited", 0, 137), True),
    (_stopped("EssentialContainerExited", 0), True),
    (_stopped("EssentialContainerExited", 1, 0), False),
    (_stopped("SpotInterruption", 0), False),
    (_stopped("TaskFailedToStart", None), False),
]


class _InTurn:
    """A thread pool without threads: it runs its work inline."""

    def submit(self, work: Callable[..., Any], *given: object) -> "Future[Any]":
        """Run some work."""
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


def seen_by(process: Process, aws: SimulatedExecutions) -> AwsExecutions:
    """Return executions as a process sees them, by Timeball's own adapter."""
    client = simulated(aws, process)
    return AwsExecutions(lambda *_: client, cast("ThreadPoolExecutor", _InTurn()))
