"""Targets that answered 202: they are heard of now and then, and succeed, fail, or are never heard of again."""

import asyncio

from tests.simulation.client import Client
from tests.simulation.story import Story
from timeball.domain.ids import RunId
from timeball.domain.instants import SECOND_MS
from timeball.engine.callback import Answered, Heard, Word, heartbeat, report

_FATES = ("succeeds", "succeeds", "succeeds", "fails", "fails for good", "vanishes")


async def report_later(story: Story) -> None:
    """Let each target that has accepted a run work on it, side by side."""
    async with asyncio.TaskGroup() as group:
        while True:
            run, attempt = await story.receiver.accepted.get()
            group.create_task(_work_on(story, run, attempt))


async def _work_on(story: Story, run: RunId, attempt: int) -> None:
    client = Client(story, story.new_process("user-target"))
    process, draw = client.process, client.process.random
    fate, over_at = draw.choice(_FATES), process.now() + draw.choice((1, 100, 4_000, 30_000))
    every_seconds = story.store.jobs[run.job].heartbeat_seconds
    while every_seconds is not None and process.now() + every_seconds * 400 < over_at:
        await process.sleep_until(process.now() + every_seconds * 400)
        answered: Answered | None = await client.ask("heartbeat", run.job, heartbeat, [(run, attempt)])
        if answered is not None and answered.outcome is not Heard.DONE:
            return  # it is somebody else's
        if answered is not None and answered.run is not None and answered.run.cancel_requested:
            fate = draw.choice(("succeeds", "fails"))
            break
    await process.sleep_until(max(process.now(), over_at))
    if fate != "vanishes":
        error = None if fate == "succeeds" else "It broke."
        word = Word(run, attempt, error, "done" if error is None else None, may_retry=fate == "fails")
        for _ in range(draw.choice((1, 1, 2))):  # some say it twice
            await client.ask("report", run.job, report, [word])
            await process.sleep_until(process.now() + draw.randrange(1, SECOND_MS))
