"""Executors: each life of one has an invocation per batch; in some stories with a deadline, and successors.

Lambda ends an invocation at its deadline, in the middle of its work, and its process with it.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.simulation.actors.executions import caller_of
from tests.simulation.story import Story
from tests.simulation.world.process import Process, simulated
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution.execute import execute
from timeball.engine.execution.invocation import UNENDING, Term
from timeball.testing.memory_queue import handed_out

VISIBILITY_SECONDS = 90
"""How long a message is hidden that a killed executor had not hidden itself, in a story in which no message is lost.

This is less than the 900 s of a deployment, so that a story without a watch ends soon.
"""

_POLL_MS = 150
"""The longest time between the arrival of a message and its receipt."""

_TERMS_SECONDS = (70, 90, 150, 360, 455, 900)
"""How long an invocation may take: some are too short for a call of a minute, some need a successor soon."""

_COMES, _COMES_AFTER_MS = 0.8, (100, 3_000, 20_000)
"""The share of successors that start, and when."""


async def execute_messages(story: Story, number: int) -> None:
    """Execute messages as they arrive. Another executor follows one that is killed."""
    for life in count(1):
        process = story.executors[number] = story.new_process(f"executor-{number}.{life}")
        await _until_death(process, _invocations(story, process, number))
        await story.clock.sleep_until(story.clock.now() + story.random.randrange(SECOND_MS))


async def _until_death(process: Process, work: Coroutine[Any, Any, None]) -> None:
    """Let a process work until it is killed."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task, process.death], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()


async def _invocations(story: Story, process: Process, number: int) -> None:
    context, caller = story.context(process), caller_of(story, process)
    for invocation in count(1):
        priority = process.random.choice(await story.queue.arrivals())
        await process.sleep_until(process.now() + process.random.randrange(_POLL_MS))
        deliveries = story.queue.receive(priority, visibility_seconds=900 if story.is_lossy else VISIBILITY_SECONDS)
        if not deliveries:
            continue
        process.trace(f"{process.name} receives {', '.join(str(one.run) for one in deliveries)}")
        inbox = simulated(story.queue.inbox(priority), process)
        term = _term(story, process, priority, number)
        work = execute(context, inbox, caller, deliveries, f"{process.name}/{invocation}", process.run, term)
        await _within(term, process, handed_out(inbox, deliveries, work, process.run))


def _term(story: Story, process: Process, priority: str, number: int) -> Term:
    if not story.hardships.has_terms:
        return UNENDING
    is_stormy = story.clock.now() < story.storm_ends_at and not story.is_calm
    seconds = story.terms_draw.choice(_TERMS_SECONDS if is_stormy else (900,))
    return Term(process.now() + seconds * SECOND_MS, _Successor(story, priority, number))


async def _within(term: Term, process: Process, work: Coroutine[Any, Any, object]) -> None:
    """Work until the deadline of a term, and then kill the process."""
    if term.deadline_at is None:
        await work
        return
    task = asyncio.create_task(work)
    alarm = asyncio.create_task(process.clock.sleep_until(term.deadline_at - process.skew_ms))
    try:
        await asyncio.wait([task, alarm], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        else:
            process.trace(f"{process.name} has reached its deadline")
            process.kill()
    finally:
        task.cancel()
        alarm.cancel()


@dataclass(frozen=True)
class _Successor:
    """Starts an executor's successor, which takes waiting messages. The successor may come late, or not at all."""

    story: Story
    priority: str
    number: int

    def start(self, until: int) -> None:
        """Start the successor without waiting for it."""
        draw = self.story.terms_draw
        if draw.random() < _COMES:
            self.story.begin(self._succeed(until, draw.choice(_COMES_AFTER_MS)))

    async def _succeed(self, until: int, comes_after_ms: int) -> None:
        story, number = self.story, next(self.story.names)
        await story.clock.sleep_until(story.clock.now() + comes_after_ms)
        process = story.new_process(f"executor-{self.number}.s{number}")
        story.executors[number + 1_000] = process
        process.trace(f"{process.name} is a successor")
        term = Term(process.now() + 900 * SECOND_MS, stays_until=until)
        inbox, context = simulated(story.queue.inbox(self.priority), process), story.context(process)
        work = execute(context, inbox, caller_of(story, process), [], f"{process.name}/1", process.run, term)
        await _until_death(process, _within(term, process, work))
        del story.executors[number + 1_000]
