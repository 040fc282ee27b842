"""Calm stories: stories of the simulation with their users and without mishaps, which must set off no alarm.

Users submit, change, pause, freeze and cancel jobs, run graphs, send events, and so on, as in each story. Nothing else
happens: no process dies or stops, no request fails, no message is lost or doubled, and targets succeed within 200 ms.
Clocks still differ by up to half a second, requests take up to 10 ms, and some stories change their partitions or have
two sets of settings, as during a deployment.

A story has no canary: its arrivals are assumed. Before the story, the deployment had run on time for six hours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tests.drills.deployment import record_basic
from tests.drills.drill import CANARY_MINUTES, notified, record_before
from tests.drills.judge import MINUTE_MS, Series
from tests.simulation.checker import complaints
from tests.simulation.play import play_out
from tests.simulation.story import START, Story
from tests.simulation.world.process import Process
from timeball.engine.context import Context
from timeball.engine.scanning.pulse import Pulse
from timeball.engine.scanning.scan import ScanResult
from timeball.ports.telemetry import Measurement
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

_RUNS_BEFORE = 9
"""How many runs a minute there were before, all on time: a budget of late runs is of hours."""


class Recorder(KeptTelemetry):
    """Telemetry that also records the values of metrics as `basic` writes them."""

    def __init__(self, clock: VirtualClock, series: Series) -> None:
        super().__init__()
        self._clock, self._series = clock, series

    def note(self, events: Sequence[Measurement]) -> None:
        super().note(events)
        record_basic(self._series, self._clock.now(), events)


@dataclass
class CalmStory(Story):
    """A story without mishaps, and the series of its metrics."""

    is_calm: bool = True
    series: Series = field(default_factory=Series)
    pulses: dict[str, Pulse] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.telemetry = Recorder(self.clock, self.series)

    def note_scan(self, context: Context, found: ScanResult, began_at: int, loop: tuple[int, int]) -> None:
        """Do what the scan's function does after a scan."""
        pulse = self.pulses.setdefault(cast("Process", context.clock).name, Pulse())
        pulse.note(context, found, began_at, *loop)


def alarms_of_story(seed: int, template: Mapping[str, Any]) -> list[str]:
    """Play a calm story; return the alarms that it sets off, each with its first minute, and its broken promises."""
    return alarms_in(CalmStory(seed), template)


def alarms_in(story: CalmStory, template: Mapping[str, Any]) -> list[str]:
    """Play a story that has not begun, as `alarms_of_story` does."""
    record_before(story.series, START, _RUNS_BEFORE)
    story.clock.run(play_out(story))
    ended_at = story.clock.now()
    _record_queues(story, ended_at)
    for at in range(START, ended_at, CANARY_MINUTES * MINUTE_MS):
        story.series.record("CanaryDelay", at, 100)
    found = notified(template, story.series, START, ended_at)
    return [f"{name} in minute {(at[0] - START) // MINUTE_MS}" for name, at in found.items()] + complaints(story)


def _record_queues(story: CalmStory, ended_at: int) -> None:
    """Record what SQS reports each minute of the watch's queue, zeros too."""
    minutes = range(START, ended_at, MINUTE_MS)
    for name, instants in (("Sent", story.queue.watched_at.values()), ("Deleted", story.queue.dropped_at)):
        for at, value in sorted([*((at, 1) for at in instants), *((at, 0) for at in minutes)]):
            story.series.record(f"Watch.NumberOfMessages{name}", at, value)
