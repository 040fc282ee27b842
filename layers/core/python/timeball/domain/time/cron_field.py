"""One field of a cron expression, parsed item by item into a set of values (bit `v` of an int stands for `v`).

An item is `*`, a value, a range `a-b`, or one of these with a step `/n`; `a/n` runs from `a` to the field's end. All
other text is refused with a sentence that says what to write instead.
"""

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from timeball.domain.time.instants import InvalidSchedule


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a cron expression."""

    name: str
    """Its name in messages."""
    low: int
    """Its lowest value."""
    high: int
    """Its highest value."""
    size: int
    """How many different values it has."""
    names: tuple[str, ...] = ()
    """The names of the values from `low` on; empty: they have none."""

    @property
    def allowed(self) -> str:
        """The allowed values, as text."""
        numbers = f"a number from {self.low} to {self.high}"
        return f"{numbers} or a name from {self.names[0]} to {self.names[-1]}" if self.names else numbers


_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

MINUTE: Final = Field("minute", 0, 59, 60)
HOUR: Final = Field("hour", 0, 23, 24)
DAY_OF_MONTH: Final = Field("day-of-month", 1, 31, 31)
MONTH: Final = Field("month", 1, 12, 12, _MONTHS)
DAY_OF_WEEK: Final = Field("day-of-week", 0, 7, 7, _WEEKDAYS)
"""Sunday is 0 and 7; the sets made here contain it as 0 only."""

_ITEM: Final = re.compile(r"(?:(?P<star>\*)|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\w+))?", re.ASCII)
_HASHED: Final = re.compile(r"([HR])(\(.*\))?(/.*)?", re.ASCII)


def reject(wrong: str, instead: str) -> NoReturn:
    """Raise InvalidSchedule with one sentence: what is wrong, and what to write instead."""
    raise InvalidSchedule(f"{wrong}; write {instead}.")


def split_items(text: str, of: Field) -> list[str]:
    """Split a field's text at its commas."""
    items = text.split(",")
    if "" in items:
        reject(
            f'The {of.name} "{text}" has a comma with nothing beside it',
            "values with single commas between them",
        )
    return items


def read_values(text: str, of: Field) -> int:
    """Return the set of a field that has only values, ranges and steps."""
    bits = 0
    for item in split_items(text, of):
        bits |= read_item(item, of)
    return bits


def read_item(item: str, of: Field) -> int:
    """Return the set of one value, range or step."""
    parts = _ITEM.fullmatch(item)
    hashed = _HASHED.fullmatch(item)
    if hashed:
        how = "hashed" if hashed[1] == "H" else "random"
        reject(
            f'The {of.name} "{item}" asks for a {how} value',
            f"{of.allowed}, and jitterSeconds to spread the load",
        )
    if not parts:
        _reject_item(item, of)
    low, high = _bounds(parts, of, item)
    step = _step(parts["step"], of, item) if parts["step"] else 1
    if low > high:
        reject(f'The {of.name} range "{item}" wraps around', f'"{_unwrapped(low, high, step, of)}"')
    bits = sum(1 << value for value in range(low, high + 1, step))
    return bits & 0x7F | bits >> 7 if of is DAY_OF_WEEK else bits


def read_number(text: str, of: Field, item: str) -> int:
    """Return one value, given as a number or a name."""
    if text in of.names:
        return of.names.index(text) + of.low
    if not text.isdigit():
        _reject_item(item, of)
    value = int(text)
    if not of.low <= value <= of.high:
        reject(f"The {of.name} {text} is out of range", of.allowed)
    return value


def _bounds(parts: re.Match[str], of: Field, item: str) -> tuple[int, int]:
    last = of.low + of.size - 1
    if parts["star"]:
        return of.low, last
    low = read_number(parts["low"], of, item)
    if parts["high"] is None:
        return low, max(low, last) if parts["step"] else low
    if parts["high"] == "SUN" and of is DAY_OF_WEEK and low > 0:
        return low, 7
    return low, read_number(parts["high"], of, item)


def _step(text: str, of: Field, item: str) -> int:
    if not text.isdigit():
        _reject_item(item, of)
    step = int(text)
    if step == 0:
        reject(f'The step of 0 in "{item}" leads nowhere', f"a step from 1 to {of.size}")
    if step > of.size:
        reject(
            f'The step in "{item}" is longer than the {of.name} field, which begins anew each time',
            f"a step from 1 to {of.size}, or use everySeconds for a true interval",
        )
    return step


def _unwrapped(low: int, high: int, step: int, of: Field) -> str:
    """Return the values that a wrap-around range was meant to have, as text."""
    values = [of.low + (value - of.low) % of.size for value in range(low, high + of.size + 1, step)]
    if of.names:
        return ",".join(of.names[value - of.low] for value in dict.fromkeys(values))
    if step > 1:
        return ",".join(str(value) for value in values)
    spans = ((low, of.high), (of.low, high))
    return ",".join(f"{first}-{last}" if first < last else str(first) for first, last in spans)


def _reject_item(item: str, of: Field) -> NoReturn:
    if item == "?" or "#" in item or item.endswith(("L", "W")) or item.startswith("L"):
        reject(
            f'The {of.name} "{item}" is not understood',
            "L, L-n, LW, nW or ? in day-of-month, and nL, n#k or ? in day-of-week, each between commas",
        )
    reject(f'The {of.name} "{item}" is not understood', f"{of.allowed}, a range a-b, a list a,b or a step */n")
