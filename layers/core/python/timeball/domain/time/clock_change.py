"""What a clock change does to a fire, for a person who reads a preview of fire times."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.time.calendar import civil
from timeball.domain.time.cron import CronFields
from timeball.domain.time.stepper import Gap, Overlap, fires_at_jump, next_fire, next_minute
from timeball.domain.time.zones import Zone

_SHOWN: Final = 3


class Effect(StrEnum):
    """Name how a fire stands to a clock change."""

    MOVED = "moved"
    """It stands at the end of a gap, for local times that no clock showed."""
    FIRST_OF_TWO = "first_of_two"
    """Its local time comes again after the clocks go back."""
    SECOND_OF_TWO = "second_of_two"
    """Its local time was shown before the clocks went back."""
    FIRST_AFTER = "first_after"
    """The fire before it had another offset from UTC."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """Hold what a clock change does to one fire."""

    effect: Effect
    change_at: int
    """The instant of the change, in ms UTC."""
    step_seconds: int
    """How far the clocks went forward; negative if they went back."""
    text: str
    """The same for a person, such as `moved by the clock change from 02:30`."""


def clock_change(
    zone: Zone,
    fire_at: int,
    fields: CronFields | None = None,
    gap: Gap | None = None,
    overlap: Overlap | None = None,
) -> ClockChange | None:
    """Say what a clock change does to a fire (ms UTC); None if it does nothing.

    Without `fields` (an interval, a single instant) only the two passes of a repeated local time are told.
    """
    instant = fire_at // 1000
    period = zone.period_at(instant)
    local = instant + zone.offsets[period]
    if period + 1 < len(zone.starts) and zone.local_starts[period + 1] <= local:
        return _note(zone, period + 1, Effect.FIRST_OF_TWO, f"the first of two times that clocks show {_clock(local)}")
    if period == 0:
        return None
    if local < zone.reached[period]:
        return _note(zone, period, Effect.SECOND_OF_TWO, f"the second of two times that clocks show {_clock(local)}")
    if fields is None:
        return None
    if instant == zone.starts[period] and fires_at_jump(fields, gap):
        skipped = [_moment(time, local) for time in _skipped(fields, zone, period)]
        if skipped:
            more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
            shown = ", ".join(skipped[:_SHOWN])
            return _note(zone, period, Effect.MOVED, f"moved by the clock change from {shown}{more}")
    return _first_after(fields, zone, period, fire_at, gap, overlap)


def _first_after(
    fields: CronFields, zone: Zone, period: int, fire_at: int, gap: Gap | None, overlap: Overlap | None
) -> ClockChange | None:
    """Note the first fire of a period, if the period before had a fire too."""
    change_at = zone.starts[period] * 1000
    if next_fire(fields, zone, change_at - 1, gap, overlap) != fire_at:
        return None
    before = next_fire(fields, zone, zone.starts[period - 1] * 1000 - 1, gap, overlap)
    if before is None or before >= change_at:
        return None
    way = "forward" if zone.offsets[period] > zone.offsets[period - 1] else "back"
    day = _date((zone.starts[period] + zone.offsets[period]) // 86400)
    return _note(zone, period, Effect.FIRST_AFTER, f"the first fire after the clocks went {way} on {day}")


def _note(zone: Zone, period: int, effect: Effect, text: str) -> ClockChange:
    step = zone.offsets[period] - zone.offsets[period - 1]
    return ClockChange(effect, zone.starts[period] * 1000, step, text)


def _skipped(fields: CronFields, zone: Zone, period: int) -> Iterator[int]:
    """List the matching local times in the gap before a period, if there is a gap."""
    minute = next_minute(fields, -(-zone.reached[period] // 60))
    while minute is not None and minute * 60 < zone.local_starts[period]:
        yield minute * 60
        minute = next_minute(fields, minute + 1)


def _moment(time: int, local: int) -> str:
    """Write a local time, with its date if that is not the date of `local`."""
    day = time // 86400
    return _clock(time) if day == local // 86400 else f"{_date(day)} {_clock(time)}"


def _date(day: int) -> str:
    year, month, of_month = civil(day)
    return f"{year:04}-{month:02}-{of_month:02}"


def _clock(local: int) -> str:
    hour, second = divmod(local % 86400, 3600)
    return f"{hour:02}:{second // 60:02}"
