"""Targets that answered 202: they send heartbeats, and then succeed, fail, or go silent.

A target that stalls reports too late, when another attempt of its run is under way.
"""

import asyncio

from tests.simulation.actors.client import Client
from tests.simulation.actors.tasks import seen_by
from tests.simulation.story import TARGET, Story
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.runs.callback import Report, heartbeat, report
from timeball.engine.runs.effects import Answered

_FATES = ("succeeds", "succeeds", "succeeds", "fails", "fails for good", "stalls")


async def report_later(story: Story) -> None:
    """Let each target that has accepted a run work on it, in parallel."""
    stalled: dict[RunId, asyncio.Event] = {}
    async with asyncio.TaskGroup() as group:
        while True:
            run, attempt = await story.receiver.accepted.get()
            if run in stalled:
                stalled.pop(run).set()
            group.create_task(_work_on(story, run, attempt, stalled))


async def _work_on(story: Story, run: RunId, attempt: int, stalled: dict[RunId, asyncio.Event]) -> None:
    client = Client(story, story.new_process(f"{TARGET}{attempt}"))
    process, draw = client.process, client.process.random
    fate, over_at = draw.choice(_FATES), process.now() + draw.choice((1, 100, 4_000, 30_000))
    if story.is_calm:
        fate, over_at = "succeeds", process.now() + 100
    every_seconds = seen_by(story, run).spec.heartbeat_seconds
    while every_seconds is not None and process.now() + every_seconds * 400 < over_at:
        await process.sleep_until(process.now() + every_seconds * 400)
        answered: Answered | None = await client.ask("heartbeat", run.job, heartbeat, [(run, attempt)])
        if answered is None:
            continue
        refusal, standing = answered
        if refusal is not None or standing is None:
            return  # the run belongs to another attempt
        if standing.cancel_requested:
            fate = draw.choice(("succeeds", "fails"))
            break
    if fate == "stalls":
        await stalled.setdefault(run, asyncio.Event()).wait()
        fate, over_at = draw.choice(("succeeds", "fails")), process.now() + draw.randrange(1, 3_000)
    await process.sleep_until(max(process.now(), over_at))
    error = None if fate == "succeeds" else "It broke."
    told = Report(run, attempt, error, "done" if error is None else None, may_retry=fate == "fails")
    for _ in range(draw.choice((1, 1, 2))):  # some report twice
        await client.ask("report", run.job, report, [told])
        await process.sleep_until(process.now() + draw.randrange(1, SECOND_MS))
