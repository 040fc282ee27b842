"""A schedule in words, such as "weekdays at 09:00, Europe/Berlin"; what has no short words shows its expression.

Invariant: two schedules with the same text have the same fires. So a text that is short for one schedule is refused to
every other: an effect of clock changes that the words do not imply is said, and only if the zone ever has such a change
at these times of day.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from timeball.domain.time.cron import CronFields, parse_cron, split_expression
from timeball.domain.time.cron_field import DAY_OF_MONTH, DAY_OF_WEEK, read_item, read_number, split_items
from timeball.domain.time.instants import format_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule
from timeball.domain.time.stepper import DstOverlap, Gap, clock_policies
from timeball.domain.time.zones import load_zone

MOST_LISTED: Final = 6
"""The most times of day, dates or names that words list."""

_DAY_MINUTES: Final = 24 * 60
_DAY_SECONDS: Final = 86_400
_ALL_DATES: Final = sum(1 << day for day in range(1, 32))
_ALL_WEEKDAYS: Final = 0b111_1111
_SETS: Final = {0b011_1110: "weekdays", 0b100_0001: "weekends"}
_UNITS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH: Final = ("", "first", "second", "third", "fourth", "fifth")
_MONTHS: Final = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SAID: Final = {
    Gap.SKIP: ", not where clocks skip that time",
    Gap.NEXT: ", at the jump where clocks skip that time",
    DstOverlap.BOTH: ", twice where clocks repeat that time",
    DstOverlap.FIRST: ", once where clocks repeat that time",
}
"""The policies for clock changes, where the words do not imply them."""


def schedule_text(schedule: Schedule) -> str:
    """Return a schedule in words, with its window and its number of runs."""
    match schedule.timing:
        case At(at):
            text = f"once at {_instant(at)}"
        case Every(seconds, anchor_at):
            text = f"every {_period(seconds)}, counted from {_instant(anchor_at)}"
        case Cron(expression, timezone, gap, overlap):
            text = _cron_text(expression, timezone, gap, overlap)
        case _:
            text = "on events"
    if schedule.start_at is not None:
        text += f", not before {_instant(schedule.start_at)}"
    if schedule.end_at is not None:
        text += f", not after {_instant(schedule.end_at)}"
    if schedule.max_runs is not None:
        text += f", at most {schedule.max_runs} run{'s' if schedule.max_runs > 1 else ''}"
    return text


@lru_cache(maxsize=4096)
def _cron_text(expression: str, timezone: str, gap: Gap | None, overlap: DstOverlap | None) -> str:
    fields = parse_cron(expression)
    times = [hour * 60 + minute for hour in _values(fields.hours) for minute in _values(fields.minutes)]
    days, (of_day, is_interval) = _days(fields), _times(fields, times)
    if days is None or of_day is None:
        text, is_interval = fields.expression, not fields.fixed
    elif not is_interval:
        text = f"{days or 'every day'} {of_day}"
    else:
        text = f"{days}, {of_day}" if days else of_day
    implied = (Gap.SKIP, DstOverlap.BOTH) if is_interval else (Gap.NEXT, DstOverlap.FIRST)
    policies = clock_policies(fields, gap, overlap)
    return f"{text}, {timezone}" + _unimplied(timezone, frozenset(times), policies, implied)


def _unimplied(
    timezone: str, times: frozenset[int], policies: tuple[Gap, DstOverlap], implied: tuple[Gap, DstOverlap]
) -> str:
    """Return what the words do not imply about the clock changes of a zone that meet these times of day."""
    if policies == implied:
        return ""
    zone = load_zone(timezone)
    changes = zip(zone.starts, zone.reached, zone.local_starts, strict=False)
    spans = {(before % _DAY_SECONDS, after - before) for start, before, after in changes if start > 0}
    skipped = any(_meets(times, at, length) for at, length in spans if length > 0)
    repeated = any(_meets(times, at + length, -length) for at, length in spans if length < 0)
    gap, overlap = (_SAID[policy] if policy != other else "" for policy, other in zip(policies, implied, strict=True))
    return (gap if skipped else "") + (overlap if repeated else "")


def _meets(times: frozenset[int], from_second: int, length: int) -> bool:
    """Say whether a time of day lies within so many seconds of local time."""
    minutes = range(-(-from_second // 60), -(-(from_second + length) // 60))
    return any(minute % _DAY_MINUTES in times for minute in minutes)


def _times(fields: CronFields, times: Sequence[int]) -> tuple[str | None, bool]:
    """Return the times of day in words, and whether the words are those of an interval."""
    steps = {later - earlier for earlier, later in pairwise(times)}
    step = steps.pop() if len(steps) == 1 else 0
    first, last = _clock(times[0]), _clock(times[-1])
    if step * len(times) == _DAY_MINUTES and not (fields.fixed and len(times) <= MOST_LISTED):
        return f"every {_period(step * 60)}" + (f" from {first}" if times[0] else ""), True
    if len(times) <= MOST_LISTED:
        return f"at {_joined([*map(_clock, times)])}", False
    if step:
        return f"every {_period(step * 60)} from {first} to {last}", True
    minutes, hours = _listed(_values(fields.minutes), str), _listed(_values(fields.hours), str)
    if minutes is None or hours is None:
        return None, True
    which = "every hour" if len(_values(fields.hours)) == 24 else f"the hours {hours}"
    return f"at the minutes {minutes} of {which}", True


@dataclass(frozen=True)
class _DayWords:
    """One of the two day fields in words."""

    text: str | None
    """The words; None if they would be too long."""
    is_any: bool
    """Whether it picks all days."""
    of_month: bool = True
    """Whether all of the words name days of a month, such as `the last Friday`."""
    of_week: bool = False
    """Whether all of the words name weekdays."""


def _days(fields: CronFields) -> str | None:
    """Return the days in words: an empty text for every day, None if there are no short words."""
    _, _, day_of_month, _, day_of_week = split_expression(fields.expression)
    dates, weekdays = _dates(day_of_month), _weekdays(day_of_week)
    months = _values(fields.months)
    named = _listed(months, lambda month: _MONTHS[month])
    within, of = ("", " of the month") if len(months) == len(_MONTHS) - 1 else (f" in {named}", f" of {named}")
    is_unclear = within and not (weekdays.is_any or weekdays.of_week or weekdays.of_month)
    if is_unclear or None in (dates.text, weekdays.text, named):
        return None
    is_either = day_of_month[0] not in "*?" and day_of_week[0] not in "*?"
    of_week = f"{weekdays.text}{within if weekdays.of_week else of}"
    return _both(dates, weekdays, f"{dates.text}{of}", of_week, is_either=is_either) or (
        within and f"every day{within}"
    )


def _both(dates: _DayWords, weekdays: _DayWords, of_dates: str, of_weekdays: str, *, is_either: bool) -> str:
    """Return the days of both fields: those of either, or those of both; an empty text for all."""
    if dates.is_any or weekdays.is_any:
        is_all = is_either or (dates.is_any and weekdays.is_any)
        return "" if is_all else of_dates if weekdays.is_any else of_weekdays
    return f"{of_dates}, and {of_weekdays}" if is_either else f"{of_weekdays} that are {dates.text} of the month"


def _dates(text: str) -> _DayWords:
    """Return a day-of-month in words."""
    bits, special = 0, []
    for item in dict.fromkeys(split_items("*" if text == "?" else text, DAY_OF_MONTH)):
        if item in ("L", "LW"):
            special.append("the last day" if item == "L" else "the last working day")
        elif item.startswith("L-"):
            special.append(f"the {_ordinal(int(item[2:]))} day before the last day")
        elif item.endswith("W"):
            special.append(f"the working day nearest the {_ordinal(int(item[:-1]))}")
        else:
            bits |= read_item(item, DAY_OF_MONTH)
    listed = _listed(_values(bits), lambda day: f"the {_ordinal(day)}") or _every_nth(_values(bits))
    words = None if bits and listed is None else _joined([listed, *special] if listed else special)
    return _DayWords(words, bits == _ALL_DATES)


def _weekdays(text: str) -> _DayWords:
    """Return a day-of-week in words."""
    bits, special = 0, []
    for item in dict.fromkeys(split_items("*" if text == "?" else text, DAY_OF_WEEK)):
        name, _, nth = item.partition("#")
        if nth:
            special.append(f"the {_NTH[int(nth)]} {_WEEKDAYS[read_number(name, DAY_OF_WEEK, item)]}")
        elif item.endswith("L"):
            special.append(f"the last {_WEEKDAYS[read_number(item[:-1], DAY_OF_WEEK, item)]}")
        else:
            bits |= read_item(item, DAY_OF_WEEK)
    from_monday = sorted(day or 7 for day in _values(bits))
    named = _SETS.get(bits) or _listed(from_monday, lambda day: f"{_WEEKDAYS[day]}s")
    words = _joined([named, *special] if named else special)
    return _DayWords(words, bits == _ALL_WEEKDAYS, of_month=not bits, of_week=not special)


def _listed(values: Sequence[int], name_of: Callable[[int], str]) -> str | None:
    """Return values by their names, three or more in a row as a range; None if there are none or too many for words."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts = []
    for run in runs:
        names = [name_of(run[0]), name_of(run[-1])]
        parts += [f"{names[0]} to {names[1]}"] if len(run) > 2 else names[: len(run)]
    return _joined(parts) if 0 < len(parts) <= MOST_LISTED else None


def _every_nth(days: Sequence[int]) -> str | None:
    steps = {later - earlier for earlier, later in pairwise(days)}
    if len(steps) != 1:
        return None
    return f"every {_ordinal(steps.pop())} day from the {_ordinal(days[0])} to the {_ordinal(days[-1])}"


def _joined(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _period(seconds: int) -> str:
    length, unit = next((length, unit) for length, unit in _UNITS if seconds % length == 0)
    count = seconds // length
    return unit if count == 1 else f"{count} {unit}s"


def _instant(at: int) -> str:
    """Return an instant, to the minute unless it has seconds."""
    text = format_instant(at).removesuffix("Z").removesuffix(".000")
    return f"{text.removesuffix(':00') if text.count(':') > 1 else text} UTC".replace("T", " ", 1)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _ordinal(number: int) -> str:
    ending = "th" if number // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _values(bits: int) -> list[int]:
    return [value for value in range(bits.bit_length()) if bits >> value & 1]
