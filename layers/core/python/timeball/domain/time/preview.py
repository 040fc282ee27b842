"""The fire times of a schedule as a person reads them: by the clock on the wall, with a note where clocks change.

Invariant: a preview shows what the scheduler will do. Its fire times come from the same function as the runs.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from timeball.domain.time.clock_change import ClockChange, clock_change
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.domain.time.schedule import Cron, Schedule, fires
from timeball.domain.time.stepper import Gap, Overlap, fires_at_jump
from timeball.domain.time.zones import Zone, load_zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fire:
    """One fire: its instant (ms), what clocks show then, and what a clock change does to it, if anything."""

    fire_at: int
    local_time: str
    """`2026-10-25T02:30:00`, without an offset; parts of a second are cut off."""
    utc_offset: str
    """`+02:00`; with seconds (`-00:44:30`) where a zone once had such an offset."""
    note: str | None


@dataclass(frozen=True, slots=True)
class ClockPolicies:
    """What becomes of local times that clocks skip or show twice."""

    gap: Gap
    overlap: Overlap


def preview(schedule: Schedule, from_at: int, count: int, timezone: str = "UTC") -> list[Fire]:
    """Return the first fires from an instant (ms) on, itself included, earliest first; fewer if the schedule ends.

    A cron is shown in its own zone, anything else in `timezone`. Ignores `max_runs`.
    """
    timing = schedule.timing
    zone = load_zone(timing.timezone if isinstance(timing, Cron) else timezone)
    return [_fire(zone, schedule, fire_at) for fire_at in islice(fires(schedule, from_at, LATEST), count)]


def clock_policies(cron: Cron) -> ClockPolicies:
    """Return the policies that hold for a cron, where it has none of its own those that its expression implies."""
    fields = parse_cron(cron.expression)
    return ClockPolicies(
        gap=Gap.NEXT if fires_at_jump(fields, cron.gap) else Gap.SKIP,
        overlap=cron.overlap or (Overlap.FIRST if fields.fixed else Overlap.BOTH),
    )


def _fire(zone: Zone, schedule: Schedule, fire_at: int) -> Fire:
    offset = zone.offset_at(fire_at)
    change = _change(zone, schedule, fire_at)
    return Fire(fire_at, _local_time(fire_at, offset), _offset(offset), None if change is None else change.text)


def _local_time(at: int, offset: int) -> str:
    return (_EPOCH + timedelta(seconds=at // SECOND_MS + offset)).strftime("%Y-%m-%dT%H:%M:%S")


def _offset(offset: int) -> str:
    minutes, seconds = divmod(abs(offset), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def _change(zone: Zone, schedule: Schedule, fire_at: int) -> ClockChange | None:
    match schedule.timing:
        case Cron(expression, _, gap, overlap):
            return clock_change(zone, fire_at, parse_cron(expression), gap, overlap)
        case _:
            return clock_change(zone, fire_at)
