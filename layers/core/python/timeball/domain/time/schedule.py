"""When a job is due: at one instant, by an interval or by a cron expression, within a window; or on events alone.

This module computes fire times, and the shortest time between two of them by local clocks. It applies no policy.

Invariant: fire times depend on the schedule alone, never on when, or from which instant, they are computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from timeball.domain.time.cron import SHAPES, parse_cron
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.stepper import next_fire as next_cron_fire
from timeball.domain.time.zones import load_zone

_DAY_MINUTES: Final = 24 * 60
_MINUTE_SECONDS: Final = 60


@dataclass(frozen=True)
class At:
    """One instant. `now` and `delay` become an instant when the job is submitted."""

    at: int
    """The instant (ms)."""


@dataclass(frozen=True)
class Every:
    """An interval, aligned to an anchor instant, without drift."""

    seconds: int
    """The length of the interval."""
    anchor_at: int
    """The instant of the first fire (ms)."""


@dataclass(frozen=True)
class Cron:
    """A cron expression of five fields."""

    expression: str
    """The expression."""
    timezone: str = "UTC"
    """The IANA name of the zone in which it is interpreted."""
    gap: Gap | None = None
    """The policy for local times that clocks skip; None: as in cronie."""
    overlap: DstOverlap | None = None
    """The policy for local times that clocks show twice; None: as in cronie."""


@dataclass(frozen=True)
class OnEvents:
    """No fire times: only events let the job run, or the job that it depends on."""

    of: str | None = None
    """The id of the job on whose events a job depends, directly or through others; None: the events are its own."""


Timing = At | Every | Cron | OnEvents


@dataclass(frozen=True)
class Schedule:
    """A timing within a window."""

    timing: Timing
    """When it fires."""
    start_at: int | None = None
    """The first instant at which it may fire (ms); None: no bound."""
    end_at: int | None = None
    """The last instant at which it may fire (ms); None: no bound."""
    max_runs: int | None = None
    """How many runs the job may have; None: no bound."""

    @property
    def is_one_off(self) -> bool:
        """Whether the job is due once; such a job never misfires, however late it is."""
        return isinstance(self.timing, At)

    @property
    def is_recurring(self) -> bool:
        """Whether it fires repeatedly."""
        return isinstance(self.timing, Every | Cron)


def next_fire(schedule: Schedule, after_at: int) -> int | None:
    """Return the first fire time strictly after an instant (ms); None if there is none. `max_runs` is ignored."""
    after_at = after_at if schedule.start_at is None else max(after_at, schedule.start_at - 1)
    fire_at: int | None
    match schedule.timing:
        case At(at):
            fire_at = at if at > after_at else None
        case Every(seconds, anchor_at):
            period = seconds * SECOND_MS
            fire_at = max(anchor_at, anchor_at + ((after_at - anchor_at) // period + 1) * period)
        case Cron(expression, timezone, gap, overlap):
            fire_at = next_cron_fire(parse_cron(expression), load_zone(timezone), after_at, gap, overlap)
        case OnEvents():
            fire_at = None
    end_at = LATEST - 1 if schedule.end_at is None else schedule.end_at
    return fire_at if fire_at is not None and fire_at <= end_at else None


def previous_fire(schedule: Schedule, before_at: int, earliest_at: int) -> int | None:
    """Return the last fire time from `earliest_at` to just before `before_at`; None if there is none.

    It halves the span until one fire is left: at most some 80 steps, however many fires are in the span.
    """
    fire_at = next_fire(schedule, earliest_at - 1)
    if fire_at is None or fire_at >= before_at:
        return None
    empty_from = before_at
    while (following_at := next_fire(schedule, fire_at)) is not None and following_at < before_at:
        middle_at = (following_at + empty_from) // 2
        later_at = next_fire(schedule, middle_at)
        if later_at is not None and later_at < before_at:
            fire_at = later_at
        else:
            fire_at, empty_from = following_at, middle_at + 1
    return fire_at


def first_fire(schedule: Schedule, now: int) -> int | None:
    """Return the first fire time of a job that is submitted now. A one-off in the past is due at its own instant."""
    return next_fire(schedule, -1 if schedule.is_one_off else now - 1)


def is_occurrence(schedule: Schedule, fire_at: int) -> bool:
    """Say whether the schedule fires at an instant."""
    return next_fire(schedule, fire_at - 1) == fire_at


def fires(schedule: Schedule, first_at: int, through_at: int) -> Iterator[int]:
    """Yield the fire times from `first_at` to `through_at`, both included."""
    fire_at = next_fire(schedule, first_at - 1)
    while fire_at is not None and fire_at <= through_at:
        yield fire_at
        fire_at = next_fire(schedule, fire_at)


def least_period_seconds(schedule: Schedule) -> int | None:
    """Return the shortest time between two fires of a schedule, in seconds; None: it has one fire at most.

    For a cron expression only the times of day count: rare days or months lengthen no interval except the one
    overnight.
    """
    match schedule.timing:
        case Every(seconds):
            return seconds
        case Cron(expression):
            fields = parse_cron(expression)
            minutes = [minute for minute in range(60) if fields.minutes >> minute & 1]
            times = [hour * 60 + minute for hour in range(24) if fields.hours >> hour & 1 for minute in minutes]
            apart = [later - earlier for earlier, later in pairwise(times)]
            overnight = times[0] + _DAY_MINUTES - times[-1]
            return min([*apart, overnight if _has_neighbours(fields.days) else _DAY_MINUTES]) * _MINUTE_SECONDS
        case _:
            return None


def _has_neighbours(days: tuple[int, ...]) -> bool:
    """Say whether two days in a row may match: within a month, or the last day of one and the first of the next."""
    within = any(of_shape & of_shape >> 1 for of_shape in days)
    first_matches = [any(days[shape] >> 1 & 1 for shape in range(weekday, len(days), 7)) for weekday in range(7)]
    ends = zip(days, SHAPES, strict=True)
    return within or any(
        of_shape >> length & 1 and first_matches[(weekday + length) % 7] for of_shape, (length, weekday) in ends
    )
