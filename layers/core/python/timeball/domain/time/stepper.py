"""The next instant at which a cron schedule fires: search local time as sets, then map it through the zone.

The search in local time ignores clocks (`next_minute`: which minute of the calendar matches next), and the zone's
periods say when, if ever, a clock shows that minute. Where clocks change, two policies decide:
- *gap* (local times that no clock shows): `next` fires once at the first instant after the gap, however many
  times fell into it; `skip` does not fire.
- *overlap* (local times shown twice): `first` fires in the first pass only; `both` fires in each pass.

The default is cronie's: a fixed schedule (see cron.py) takes `next` and `first`, so that it fires once a day
whatever the clocks do; an interval-like schedule takes `skip` and `both`, so that it follows elapsed time. Unlike
in cronie, the size of a change does not matter: even the day that Samoa left out is a gap.

Instants are ints in ms UTC; internally, seconds. Fires are unique and strictly increasing, and the fires after an
instant do not depend on where the search began.
"""

from bisect import bisect_right
from datetime import date
from enum import StrEnum
from typing import Final

from timeball.domain.time.cron import CronFields, month_length
from timeball.domain.time.instants import DAY_MS, LATEST
from timeball.domain.time.zones import Zone

RULE_VERSION: Final = 1
"""Raised when the same expression, zone, policies and time zone data may yield other instants than before."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
_END_DAY: Final = LATEST // DAY_MS
"""The search for fires ends before this day."""


class Gap(StrEnum):
    """The policy for local times that clocks skip."""

    NEXT = "next"
    SKIP = "skip"


class DstOverlap(StrEnum):
    """The policy for local times that clocks show twice."""

    FIRST = "first"
    BOTH = "both"


def next_fire(
    fields: CronFields, zone: Zone, after_at: int, gap: Gap | None = None, overlap: DstOverlap | None = None
) -> int | None:
    """Return the first fire strictly after an instant (ms UTC, may be negative); None if there is none before LATEST.

    A policy that is None takes the default of the expression.
    """
    gap, overlap = clock_policies(fields, gap, overlap)
    at_jump, once = gap == Gap.NEXT, overlap == DstOverlap.FIRST
    instant = after_at // 1000 + 1
    period = bisect_right(zone.starts, instant) - 1
    local = instant + zone.offsets[period]
    reached = zone.reached[period]
    if (once and local < reached) or (at_jump and instant == zone.starts[period] and local > reached):
        # Past the second pass; or back to the start of the gap that ends at this very instant.
        local = reached
    while (minute := next_minute(fields, -(-local // 60))) is not None:
        found = minute * 60
        if found >= zone.reached[period + 1]:
            if not once and zone.local_starts[period + 1] < local:
                # The clock goes back to before the start of the search: the second pass may match earlier.
                period += 1
                local = zone.local_starts[period]
                continue
            period = bisect_right(zone.reached, found) - 1
        if found >= zone.local_starts[period]:
            return (found - zone.offsets[period]) * 1000
        if at_jump:
            return zone.starts[period] * 1000
        local = zone.local_starts[period]
    return None


def clock_policies(fields: CronFields, gap: Gap | None, overlap: DstOverlap | None) -> tuple[Gap, DstOverlap]:
    """Return the policies in force: a policy that is not given is implied by the expression."""
    implied = (Gap.NEXT, DstOverlap.FIRST) if fields.fixed else (Gap.SKIP, DstOverlap.BOTH)
    return gap or implied[0], overlap or implied[1]


def next_minute(fields: CronFields, minute: int) -> int | None:
    """Return the first matching minute of the calendar not before `minute`, whether clocks show it or not; None: none.

    Minutes count from 1970-01-01 00:00, local time.
    """
    day, time = divmod(minute, 1440)
    hour, past = divmod(time, 60)
    if fields.hours >> hour & 1 and (minutes := fields.minutes >> past):
        time += (minutes & -minutes).bit_length() - 1
    elif hours := fields.hours >> hour + 1:
        time = (hour + (hours & -hours).bit_length()) * 60 + fields.first_time % 60
    else:
        day += 1
        time = fields.first_time
    found = _next_day(fields, day)
    if found == day:
        return day * 1440 + time
    return None if found is None else found * 1440 + fields.first_time


def _next_day(fields: CronFields, day: int) -> int | None:
    """Return the first matching day that is not before `day`; None: there is none."""
    if day >= _END_DAY:
        return None
    today = date.fromordinal(_EPOCH + day)
    year, month, of_month = today.year, today.month, today.day
    before = day - of_month
    while before < _END_DAY:
        length = month_length(year, month)
        if fields.months >> month & 1:
            days = fields.days[(length - 28) * 7 + (before + 5) % 7] >> of_month
            if days:
                found = before + of_month + (days & -days).bit_length() - 1
                return found if found < _END_DAY else None
        of_month = 0
        before += length
        month += 1
        if month > 12:
            month = 1
            year += 1
    return None
