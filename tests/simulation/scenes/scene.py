"""Scenes: acts at fixed instants in good weather, one feature each. They show the faults that need no bad luck.

A scene is played once, in tens of milliseconds. Nothing in it is drawn by chance but latencies, so it does not go stale
with the next change, as the story of a seed does.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.simulation.actors.executors import execute_messages
from tests.simulation.actors.on_cue import Verb
from tests.simulation.actors.workers import judge_dead_letters, scan_each_second
from tests.simulation.checker import complaints
from tests.simulation.idle_slots import IdleSlots, IdleTurns
from tests.simulation.story import START, Story
from tests.simulation.unfinished import is_going_on
from tests.simulation.world.process import Process, Weather
from timeball.domain.time.instants import SECOND_MS

Worker = Callable[[Story], Coroutine[Any, Any, None]]


PLAIN, LIMITED, COUNTED = 8, 752, 284
"""Stories of these kinds have few hardships or none: jobs name limiters; submits are counted."""


_CALM_SECONDS, _LONGEST_SECONDS = 20, 400


@dataclass(frozen=True)
class Scene:
    """Acts at instants (seconds after the start) beside all workers, and others that the feature needs.

    `kind` is the number of a story with the features that the scene needs, such as limiters.
    """

    acts: Sequence[tuple[float, Verb]]
    workers: Sequence[Worker] = ()
    kind: int = PLAIN
    executors: int = 1

    def complaints(self) -> Iterator[str]:
        """Yield the faults of its end."""
        yield from complaints(self.play())

    def play(self) -> Story:
        """Play the scene to its end."""
        story = Story(self.kind)
        story.calm_down()
        story.partitions, story.repartition_at = 1, None
        story.clock.run(self._told(story))
        return story

    async def _told(self, story: Story) -> None:
        workers = [scan_each_second(story, 1), judge_dead_letters(story), *(worker(story) for worker in self.workers)]
        workers += [execute_messages(story, number) for number in range(1, self.executors + 1)]
        tasks = [asyncio.create_task(worker) for worker in workers]
        for seconds, verb in self.acts:
            await story.clock.sleep_until(START + int(seconds * SECOND_MS))
            await verb(story, _user_of(story))
        story.calm_down()
        idle_slots, idle_turns = IdleSlots(found=story.idle_slots), IdleTurns(found=story.idle_turns)
        await story.clock.sleep_until(story.clock.now() + _CALM_SECONDS * SECOND_MS)
        while is_going_on(story) and story.clock.now() < START + _LONGEST_SECONDS * SECOND_MS:
            await story.clock.sleep_until(story.clock.now() + SECOND_MS)
            idle_slots.look(story)
            idle_turns.look(story)
        for task in tasks:
            if task.done():
                task.result()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _user_of(story: Story) -> Process:
    """Return a process for one act, with a good clock and in good weather."""
    process = story.new_process(f"user-at-{next(story.names)}")
    process.skew_ms, process.weather = 0, Weather()
    return process
