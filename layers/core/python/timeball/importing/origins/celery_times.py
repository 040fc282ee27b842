"""When Celery's beat runs an entry with a `crontab()`; the source is `remaining_delta` in celery/schedules.py.

From the local time of the last run Celery looks for the next matching minute of the calendar, whatever clocks show, and
takes that for an instant as Python does. So a minute that clocks skip runs by the offset from before the change, thus
later by the length of the gap, and other minutes up to there are lost. A minute that clocks repeat runs once, the first
time. All of the five fields must match, also the two of the day.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from timeball.importing.definitions import UnreadableError
from timeball.importing.origins.dialects import (
    DATES_FIELD,
    HOURS_FIELD,
    MINUTES_FIELD,
    MONTHS_FIELD,
    WEEKDAYS_FIELD,
    Dialect,
    FieldRange,
)
from timeball.importing.origins.walls import DAY, Wall, both_days, instants, stretches

_CELERY: Final = Dialect("Celery", wraps=True, long_names=True)

CRONTAB_FIELDS: Final[Mapping[str, FieldRange]] = {
    "minute": MINUTES_FIELD,
    "hour": HOURS_FIELD,
    "day_of_month": DATES_FIELD,
    "month_of_year": MONTHS_FIELD,
    "day_of_week": WEEKDAYS_FIELD,
}
"""The arguments of `crontab()`, in the order of a cron expression."""


def read_celery(given: Mapping[str, Any]) -> tuple[Wall, tuple[str, ...], frozenset[int], frozenset[int]]:
    """Read the arguments of a `crontab()`: texts, numbers or lists of numbers; an absent argument is `*`.

    Returns the minutes that they name, the texts of the five fields, and the values of the two day fields.
    """
    if unknown := sorted(given.keys() - CRONTAB_FIELDS.keys()):
        raise UnreadableError(f"crontab() has no argument {unknown[0]}; it has {', '.join(CRONTAB_FIELDS)}.")
    texts = tuple(_text(given.get(name, "*")) for name in CRONTAB_FIELDS)
    minutes, hours, dates, months, weekdays = (
        _CELERY.read(text, of) for text, of in zip(texts, CRONTAB_FIELDS.values(), strict=True)
    )
    return Wall(minutes, hours, months, both_days(dates, weekdays)), texts, dates, weekdays


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.replace(" ", "")
    if isinstance(value, bool) or not isinstance(value, int | list | tuple | set | frozenset):
        raise UnreadableError(f"crontab() takes no {value!r}; write a number, a list of numbers or a text.")
    return str(value) if isinstance(value, int) else ",".join(map(str, sorted(value)))


def celery_fires(wall: Wall, zone: str, from_at: int, through_at: int) -> list[int]:
    """Return the fires between two instants (ms) by the clock of a zone."""
    return instants(_minutes(wall, zone, from_at, through_at), from_at, through_at)


def _minutes(wall: Wall, zone: str, from_at: int, through_at: int) -> Iterator[int]:
    last: int | None = None
    for stretch in stretches(zone, from_at, through_at):
        first = max(stretch.starts, stretch.before)
        skipped = next(wall.between(stretch.before, stretch.starts), None) if stretch.skips > 0 else None
        if skipped is not None and stretch.skips < DAY:
            last = skipped + stretch.skips
            yield last - stretch.offset
            first = last + 1
        yield from (minute - stretch.offset for minute in wall.between(first, stretch.ends))
