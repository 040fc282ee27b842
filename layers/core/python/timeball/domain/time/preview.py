"""The fire times of a schedule as a person reads them: by local clocks, with a note where clocks change.

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
    """One fire of a preview."""

    fire_at: int
    """The fire time (ms)."""
    local_time: str
    """`2026-10-25T02:30:00`, without an offset; parts of a second are cut off."""
    utc_offset: str
    """`+02:00`; with seconds (`-00:44:30`) where a zone once had such an offset."""
    note: str | None
    """The effect of a clock change on it; None: there is none."""


def preview(schedule: Schedule, from_at: int, count: int, timezone: str = "UTC") -> list[Fire]:
    """Return the first fires from an instant (ms) on, including it, earliest first; fewer if the schedule ends.

    A cron expression is shown in its own zone, every other schedule in `timezone`. `max_runs` is ignored.
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
