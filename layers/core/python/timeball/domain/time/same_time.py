"""The same time of day on later days, as the clocks of a zone show it."""

from collections.abc import Iterator

from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

_MINUTES_OF_A_DAY = 1440


def same_time_later(at: int, timezone: str) -> Iterator[int]:
    """Yield when clocks show the same time as at an instant (ms), once on each later day, however long the day is.

    If clocks skip the time, it is the instant at which they have skipped it; if they show it twice, it is the first.
    """
    zone = load_zone(timezone)
    instant = at // SECOND_MS
    local = instant + zone.offsets[zone.period_at(instant)]
    past_ms = local * SECOND_MS % MINUTE_MS + at % SECOND_MS
    hour, minute = divmod(local // 60 % _MINUTES_OF_A_DAY, 60)
    daily = parse_cron(f"{minute} {hour} * * *")
    later: int | None = at - past_ms
    while later is not None and (later := next_fire(daily, zone, later, Gap.NEXT, DstOverlap.FIRST)) is not None:
        yield later + past_ms
