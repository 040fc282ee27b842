"""The fire times of a schedule as a person reads them: by the clock on the wall, with a note where clocks change.

Invariant: a preview shows what the scheduler will do. Its fire times come from the same function as the runs.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice

from timeball.domain.time.clock_change import clock_change
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.domain.time.schedule import Cron, Schedule, fires
from timeball.domain.time.zones import Zone, load_zone


@dataclass(frozen=True, slots=True)
class Fire:
    """One fire: its instant (ms), what clocks show then, and what a clock change does to it, if anything."""

    fire_at: int
    local_time: str
    """`2026-10-25T02:30:00`, without an offset; parts of a second are cut off."""
    utc_offset: str
    """`+02:00`; with seconds (`-00:44:30`) where a zone once had such an offset."""
    note: str | None


def preview(schedule: Schedule, from_at: int, count: int, timezone: str = "UTC") -> list[Fire]:
    """Return the first fires from an instant (ms) on, itself included, earliest first; fewer if the schedule ends.

    A cron is shown in its own zone, anything else in `timezone`. Ignores `max_runs`.
    """
    timing = schedule.timing
    zone = load_zone(timing.timezone if isinstance(timing, Cron) else timezone)
    return [_fire(zone, schedule, fire_at) for fire_at in islice(fires(schedule, from_at, LATEST), count)]


def _fire(zone: Zone, schedule: Schedule, fire_at: int) -> Fire:
    instant = fire_at // SECOND_MS
    offset = timezone(timedelta(seconds=zone.offsets[zone.period_at(instant)]))
    text = datetime.fromtimestamp(instant, offset).isoformat()
    match schedule.timing:
        case Cron(expression, _, gap, overlap):
            note = clock_change(zone, fire_at, parse_cron(expression), gap, overlap)
        case _:
            note = clock_change(zone, fire_at)
    return Fire(fire_at, local_time=text[:19], utc_offset=text[19:], note=note)
