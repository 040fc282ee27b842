"""Clients of the API. They repeat unanswered requests, and some of their requests are cut off with the process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.simulation.story import Done, Story
from tests.simulation.world.process import CutOffError, Process
from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Context
from timeball.ports.errors import UnavailableError

_MOST_CALLS = 15
"""The last of a request's calls of the world before which it may be cut off."""

_GIVES_UP = 0.5


@dataclass
class Client:
    """A user, or a target that reports."""

    story: Story
    process: Process

    @property
    def context(self) -> Context:
        """The context of the process that serves this client."""
        return self.story.context(self.process)

    async def ask(self, verb: str, key: JobKey, work: Callable[..., Any], *args: Any) -> Any:
        """Repeat a request until it is answered, as clients do after a 503, or give up. Return the answer, or None."""
        story = self.story
        while True:
            answer = await self.request(verb, key, work, *args)
            if answer is not None:
                first = answer[0] if isinstance(answer, list) else answer
                story.done.append(Done(story.clock.now(), verb, key, first, args))
                return first
            if story.random.random() < _GIVES_UP:
                return None
            await self.process.sleep_until(self.process.now() + SECOND_MS)

    async def request(self, verb: str, key: JobKey, work: Callable[..., Any], *args: Any) -> Any:
        """Send a request once, and return the answer, or None without one."""
        process = self.process
        process.trace(f"{process.name}: {verb} {key.job_id}")
        process.lives_until = process.clock.now() + LONGEST_REQUEST_SECONDS * SECOND_MS
        try:
            if process.fails(process.weather.cut_off):
                answer = await process.run_cut_off(process.random.randrange(1, _MOST_CALLS), work, self.context, *args)
            else:
                answer = await process.run(work, self.context, *args)
        except (UnavailableError, CutOffError):
            return None
        finally:
            process.lives_until = LATEST
        process.trace(f"{process.name}: {verb} {key.job_id} is answered")
        return answer
