"""An expression of Timeball for what another scheduler's expression means.

The text stays as it was written wherever Timeball reads it in the same way. Otherwise the field is written anew from
its values: for `*/90`, which Timeball refuses, or `*/2` beside a weekday, which the Kubernetes library joins with "or".
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from timeball.domain.time.cron import SHAPES, CronFields, parse_cron, shapes_of
from timeball.domain.time.cron_field import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, Field, read_values
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.stepper import DstOverlap, Gap, clock_policies
from timeball.domain.time.zones import load_zone
from timeball.importing.definitions import UnreadableError
from timeball.importing.origins.dialects import listed
from timeball.importing.origins.walls import Wall

_OF_WEEK: Final = tuple((7 * nth + 1, 7 * nth + 8) for nth in range(4))


def expression_of(wall: Wall, texts: Sequence[str], dates: frozenset[int], weekdays: frozenset[int]) -> str:
    """Return Timeball's expression for the minutes of a wall.

    `texts` are the five fields as they were written; `dates` and `weekdays` are the values of the two day fields.
    Raises UnreadableError if no expression has these days.
    """
    check_that_it_fires(wall)
    minute, hour, month = times_of(wall, texts)
    for date, weekday in _day_fields(texts[2], texts[4], dates, weekdays):
        expression = f"{minute} {hour} {date} {month} {weekday}"
        if has_days(expression, wall):
            return expression
    raise UnreadableError(
        "No single expression picks the days that match both its day-of-month and its day-of-week; "
        "write a job for each weekday, or let the target ignore the other days."
    )


def check_that_it_fires(wall: Wall) -> None:
    """Raise UnreadableError if no month of a wall has one of its days."""
    shapes = [SHAPES[shape] for month in wall.months for shape in shapes_of(month)]
    if not any(
        wall.days(day, (first + day - 1) % 7, length) for length, first in shapes for day in range(1, length + 1)
    ):
        raise UnreadableError("It never fires, because its months have no such day.")


def times_of(wall: Wall, texts: Sequence[str]) -> tuple[str, str, str]:
    """Return the fields of the minute, the hour and the month, as they were written if that will do."""
    return (
        _kept(texts[0], wall.minutes, MINUTE),
        _kept(texts[1], wall.hours, HOUR),
        _kept(texts[3], wall.months, MONTH),
    )


def has_days(expression: str, wall: Wall) -> bool:
    """Say whether Timeball reads an expression, and picks the days of a wall in months of every shape."""
    try:
        fields = parse_cron(expression)
    except InvalidSchedule:
        return False
    return all(
        bool(fields.days[shape] >> day & 1) == wall.days(day, (first + day - 1) % 7, length)
        for shape, (length, first) in enumerate(SHAPES)
        for day in range(1, length + 1)
    )


def cron_fields(
    expression: str, timezone: str, gap: Callable[[CronFields], Gap], overlap: Callable[[CronFields], DstOverlap]
) -> dict[str, Any]:
    """Return the fields of a job with a cron: `dstPolicy` has what differs from the default for the expression."""
    made: dict[str, Any] = {"cronExpression": expression, "timezone": timezone}
    fields = parse_cron(expression)
    if len(load_zone(timezone).starts) == 1:  # its clocks never change
        return made
    default_gap, default_overlap = clock_policies(fields, None, None)
    policy: dict[str, str] = {}
    if gap(fields) != default_gap:
        policy["gap"] = str(gap(fields))
    if overlap(fields) != default_overlap:
        policy["overlap"] = str(overlap(fields))
    return {**made, "dstPolicy": policy} if policy else made


def _kept(text: str, values: frozenset[int], of: Field) -> str:
    """Return a field as it was written if Timeball reads the same values, otherwise the values."""
    bits = sum(1 << value for value in values)
    try:
        return text if read_values(text.upper(), of) == bits else written(values, of)
    except InvalidSchedule:
        return written(values, of)


def written(values: frozenset[int], of: Field) -> str:
    """Write the values of a field: `*`, `*/n`, or values and ranges between commas."""
    everything = range(of.low, of.low + of.size)
    if values == frozenset(everything):
        return "*"
    ordered = sorted(values)
    steps = {later - earlier for earlier, later in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1 and values == frozenset(everything[:: min(steps)]):
        return f"*/{min(steps)}"
    return listed(ordered)


def _day_fields(date: str, weekday: str, dates: frozenset[int], weekdays: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Yield texts for the two day fields: as they were written, then for "or", then for "and"."""
    yield date, weekday
    yield written(dates, DAY_OF_MONTH), written(weekdays, DAY_OF_WEEK)
    yield listed(sorted(dates)), listed(sorted(weekdays))
    # A field that begins with `*` is joined with "and": `*/31` is the first day, and `*/7` is Sunday.
    if 1 in dates:
        yield ",".join(filter(None, ("*/31", listed(sorted(dates - {1}))))), listed(sorted(weekdays))
    if 0 in weekdays:
        yield listed(sorted(dates)), ",".join(filter(None, ("*/7", listed(sorted(weekdays - {0})))))
    weeks = [nth for nth, (first, end) in enumerate(_OF_WEEK, 1) if dates >= frozenset(range(first, end))]
    if len(dates) == 7 * len(weeks):
        yield "*", ",".join(f"{weekday}#{nth}" for nth in weeks for weekday in sorted(weekdays))
