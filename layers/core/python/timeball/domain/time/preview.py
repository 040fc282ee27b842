"""The fire times of a schedule as a person reads them: by local clocks, with a note where clocks change.

Invariant: a preview shows what the scheduler will do. Its fire times come from the same function as the runs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Final

from timeball.domain.time.cron import CronFields, parse_cron
from timeball.domain.time.instants import EARLIEST, LATEST, SECOND_MS
from timeball.domain.time.schedule import Cron, Schedule, fires
from timeball.domain.time.stepper import DstOverlap, Gap, clock_policies, next_fire, next_minute
from timeball.domain.time.zones import Zone, load_zone

_SHOWN: Final = 3

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local time


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


def _is_first_since_change(zone: Zone, period: int, fire_at: int, next_after: Callable[[int], int | None]) -> bool:
    """Say whether a fire is the first of its period, if the previous period had a fire too."""
    change_at = zone.starts[period] * 1000
    if next_after(change_at - 1) != fire_at:
        return False
    before = next_after(max(zone.starts[period - 1] * 1000, EARLIEST) - 1)
    return before is not None and before < change_at


def _skipped(fields: CronFields, zone: Zone, period: int) -> Iterator[int]:
    """List the matching local times in the gap before a period, if there is a gap."""
    minute = next_minute(fields, -(-zone.reached[period] // 60))
    while minute is not None and minute * 60 < zone.local_starts[period]:
        yield minute * 60
        minute = next_minute(fields, minute + 1)


def _first_of(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(texts[:_SHOWN])}{more}"


def _clock(skipped: datetime, fire: datetime) -> str:
    """Return a local time as text, with its date if that differs from the date of the fire."""
    return f"{skipped:%H:%M}" if skipped.date() == fire.date() else f"{skipped:%Y-%m-%d %H:%M}"


def _moment(local: int) -> datetime:
    return _EPOCH + timedelta(seconds=local)


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


def clock_change(
    zone: Zone,
    fire_at: int,
    fields: CronFields | None = None,
    gap: Gap | None = None,
    overlap: DstOverlap | None = None,
) -> str | None:
    """Return the effect of a clock change on a fire (ms UTC), as a text such as `moved by the clock change from 02:30`.

    None: there is none. Without `fields` (an interval, a single instant) only a repeated local time is reported.
    """
    instant = fire_at // 1000
    period = zone.period_at(instant)
    local = instant + zone.offsets[period]
    if period + 1 < len(zone.starts) and zone.local_starts[period + 1] <= local:
        return f"the first of two times that clocks show {_moment(local):%H:%M}"
    if local < zone.reached[period]:
        return f"the second of two times that clocks show {_moment(local):%H:%M}"
    if period == 0 or fields is None:
        return None
    gap, overlap = clock_policies(fields, gap, overlap)
    if instant == zone.starts[period] and gap == Gap.NEXT:
        skipped = [_clock(_moment(time), _moment(local)) for time in _skipped(fields, zone, period)]
        if skipped:
            return f"moved by the clock change from {_first_of(skipped)}"
    if not _is_first_since_change(
        zone, period, fire_at, lambda after_at: next_fire(fields, zone, after_at, gap, overlap)
    ):
        return None
    way = "forward" if zone.offsets[period] > zone.offsets[period - 1] else "back"
    day = _moment(zone.starts[period] + zone.offsets[period])
    return f"the first fire after the clocks went {way} on {day:%Y-%m-%d}"
