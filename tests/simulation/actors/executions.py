"""Jobs that start executions, the results of such calls, and the events by which AWS reports an execution's end.

Executions are drawn from their own stream, so that other stories stay as they are.
"""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from functions.events import report_ends
from tests.simulation.actors.client import Client
from tests.simulation.story import TARGET, Story
from tests.simulation.world.executions import SECRET, AwsError, Execution, SimulatedExecutions
from tests.simulation.world.process import Process
from tests.simulation.world.receiver import Receiver, SimulatedCaller
from timeball.aws.executions import parse_ended
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.jobs.job import Completion, JobSpec
from timeball.domain.model.terms.target import EcsTarget, HttpTarget, StepFunctionsTarget
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.ports.target import Answer, Call
from timeball.targets.aws.requests import request_of
from timeball.targets.aws.verdict import AwsReply, answered, refused, reply_of
from timeball.targets.calls import unanswered
from timeball.targets.envelope import facts_of

_AWS = "eu-west-1:123456789012"
_TARGETS = (
    StepFunctionsTarget(f"arn:aws:states:{_AWS}:stateMachine:nightly", follow=True),
    EcsTarget(f"arn:aws:ecs:{_AWS}:cluster/c", f"arn:aws:ecs:{_AWS}:task-definition/t:1", "main", follow=True),
)
_FOLLOWS = 0.7
_TIMEOUTS_SECONDS = (20, 60, 60, 120)

_ERRORS = (AwsError("StateMachineDoesNotExist"), AwsError("ThrottlingException"), AwsError("ServiceUnavailable", 503))
_REFUSED, _UNHEARD = 0.1, 0.1
_ANSWERS_AFTER_MS = (20, 200, 200, 3_000, 15_000, 45_000)

_TOLD = (0, 0, 1, 1, 1, 2)
"""How often the end of an execution is reported."""
_TOLD_AFTER_MS = (20, 500, 500, 5_000, 60_000)


def following(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job as a user wants it: in some stories it mostly starts executions that its runs follow."""
    draw = story.executions_draw
    if not story.has_executions or spec.task is not None or spec.work is None or draw.random() > _FOLLOWS:
        return spec
    work = replace(spec.work, target=draw.choice(_TARGETS))
    seconds = draw.choice(_TIMEOUTS_SECONDS)
    return replace(spec, work=work, timeout_seconds=seconds, completion=Completion.ANSWER, heartbeat_seconds=None)


def caller_of(story: Story, process: Process) -> SimulatedCaller:
    """Return the caller of targets of a process."""
    starting = partial(_start, story.receiver, story.executions)
    return SimulatedCaller(story.receiver, process, story.context(process), starting)


async def _start(receiver: Receiver, aws: SimulatedExecutions, process: Process, call: Call) -> Answer:
    """Start an execution for a call. AWS refuses it, or starts it, and then its answer may be late, or lost."""
    assert not isinstance(call.work.target, HttpTarget)
    receiver.note(call)
    called_at, draw = process.now(), aws.draw
    fate, takes_ms = (1.0, 20) if aws.is_calm else (draw.random(), draw.choice(_ANSWERS_AFTER_MS))
    reply = _reply(aws, call, draw.choice(_ERRORS) if fate < _REFUSED else None)
    limit_ms = int(call.timeout_seconds * SECOND_MS)
    process.trace(f"{process.name} starts {call.run} attempt {call.attempt}: {reply} in {takes_ms} ms")
    await process.sleep_until(called_at + min(takes_ms, limit_ms))
    if takes_ms > limit_ms:
        return unanswered(call, called_at, process.now(), "It took too long.", timed_out=True)
    if _REFUSED <= fate < _REFUSED + _UNHEARD:
        return unanswered(call, called_at, process.now(), "AWS did not answer.")
    return answered(call, called_at, process.now(), reply)


def _reply(aws: SimulatedExecutions, call: Call, error: AwsError | None) -> AwsReply:
    target: Any = call.work.target
    request = request_of(target, call, facts_of(call, token_of(call.run, call.attempt, SECRET)))
    try:
        if error is not None:
            raise error
        return reply_of(target.type, getattr(aws, request.operation)(**request.arguments))
    except AwsError as raised:
        return refused(raised.response)


async def tell_of_ends(story: Story) -> None:
    """Send events of ended executions: never, once or twice, soon or late."""
    aws, ending = story.executions, asyncio.Queue[Execution]()
    aws.on_end = ending.put_nowait
    async with asyncio.TaskGroup() as group:
        while True:
            one = await ending.get()
            for _ in range(aws.draw.choice(_TOLD) if one.over_at < LATEST else 0):
                group.create_task(tell(story, one, one.over_at, aws.draw.choice(_TOLD_AFTER_MS)))


async def tell(story: Story, one: Execution, over_at: int, after_ms: int) -> None:
    """Deliver an event until it is accepted. An end that a stop forestalled has no event."""
    await story.clock.sleep_until(over_at + after_ms)
    if one.over_at < over_at:
        return
    client = Client(story, story.new_process(f"{TARGET}{one.attempt}"))
    told = [parse_ended(story.executions.event_of(one))]
    while (
        await client.request("end of an execution", one.run.job, partial(report_ends, secrets=lambda: (SECRET,)), told)
        is None
    ):
        await client.process.sleep_until(client.process.now() + 2 * SECOND_MS)
