"""The drills of two releases: processes of both at once amid traffic, and one that begins with the rows of another.

The other drills play one release in `Deployment`. These play two: over the simulation's store of two releases, and over
the rows that `tests/rows` keeps.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tests.contract.backends import moto
from tests.drills.calm import CalmStory, Recorder, alarms_in
from tests.drills.deployment import PARTITIONS
from tests.drills.drill import CANARY_MINUTES, notified, record_before
from tests.drills.judge import MINUTE_MS, Series
from tests.rows.drills import run_on_old_rows
from tests.rows.kept import KeptRelease, releases
from tests.rows.world import Tables, World
from tests.simulation.hardships import Hardships

_RUNS_BEFORE: Final = 9
_STORIES: Final = 3
_BOTH: Final = {1, 100}
"""The versions of rows that two releases write, one of which has another shape (ADR 50)."""


@dataclass(frozen=True)
class ReleaseDrill:
    """A drill of two releases. It may set off no alarm."""

    trouble: str
    """What changes."""
    holds: str
    """What must hold, as text for the table."""
    play: Callable[[Mapping[str, Any]], Iterator[str]]
    """Plays it with the template of the alarms, and yields what it shows that it must not show."""


def _amid_traffic(template: Mapping[str, Any]) -> Iterator[str]:
    seeds = (seed for seed in count() if Hardships(seed).has_two_releases)
    for _, seed in zip(range(_STORIES), seeds, strict=False):
        story = CalmStory(seed)
        yield from (f"calm story {seed}: {found}" for found in alarms_in(story, template))
        if not story.store.versions() >= _BOTH:
            yield f"calm story {seed}: only one release has written rows"


def _old_rows(template: Mapping[str, Any]) -> Iterator[str]:
    for name in releases():
        yield from (f"{name}: {found}" for found in _on_rows_of(KeptRelease.read(name), template))


def _on_rows_of(kept: KeptRelease, template: Mapping[str, Any]) -> Iterator[str]:
    series = Series()
    record_before(series, kept.at, _RUNS_BEFORE)
    with moto():
        tables = Tables.new()
        tables.fill(kept.rows)
        world = World(tables, kept.at)
        world.play.telemetry = Recorder(world.play.clock, series)
        yield from run_on_old_rows(world, kept)
    for at in range(kept.at, world.now, MINUTE_MS):
        series.record("Ticks", at, PARTITIONS * 60)
        series.record("Watch.NumberOfMessagesDeleted", at, 1)
    for at in range(kept.at, world.now, CANARY_MINUTES * MINUTE_MS):
        series.record("CanaryDelay", at, 100)
    for name, minutes in notified(template, series, kept.at, world.now).items():
        yield f"{name} goes off in minute {(minutes[0] - kept.at) // MINUTE_MS}"


RELEASE_DRILLS: Final = {
    "deploy-amid-traffic": ReleaseDrill(
        "processes: each changes to a release whose rows have another shape, back, and to it again, while users work",
        "every promise of the simulation; rows of both shapes stand side by side",
        _amid_traffic,
    ),
    "old-rows": ReleaseDrill(
        "the release: this one begins with all rows and messages that an earlier one left",
        "each run goes on, each fire has its row, nothing that was over is called, no message waits for ever",
        _old_rows,
    ),
}
