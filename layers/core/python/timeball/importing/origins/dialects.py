"""One field of another scheduler's cron expression, as that scheduler reads it: a set of values.

A dialect says which forms a scheduler accepts. Any other form raises UnreadableError: such a line has never run there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from timeball.importing.definitions import UnreadableError

_ITEM: Final = re.compile(r"(?:(?P<star>[*?])|(?P<low>\w+)(?:-(?P<high>\w+))?)(?:/(?P<step>\w+))?", re.ASCII)


@dataclass(frozen=True)
class FieldRange:
    """A field of an expression."""

    name: str
    """Its name in sentences."""
    low: int
    """Its lowest value."""
    high: int
    """Its highest value."""
    names: tuple[str, ...] = ()
    """The names of the values from `first_named` on."""
    first_named: int = 0
    """The value of the first name."""


MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

MINUTES_FIELD: Final = FieldRange("minute", 0, 59)
HOURS_FIELD: Final = FieldRange("hour", 0, 23)
DATES_FIELD: Final = FieldRange("day-of-month", 1, 31)
MONTHS_FIELD: Final = FieldRange("month", 1, 12, MONTHS, 1)
WEEKDAYS_FIELD: Final = FieldRange("day-of-week", 0, 6, WEEKDAYS)


@dataclass(frozen=True)
class Dialect:
    """The forms that a scheduler accepts besides `*`, `*/n`, a value, `a-b` and `a-b/n`."""

    origin: str
    """The name of the scheduler in sentences."""
    question_mark: bool = False
    """`?` means `*`."""
    step_from_value: bool = False
    """`5/15` means `5-59/15`."""
    wraps: bool = False
    """`FRI-MON` runs past the end of the field."""
    long_names: bool = False
    """A name counts by its first three letters: `monday`."""

    def read(self, text: str, of: FieldRange) -> frozenset[int]:
        """Return the values of a field. Raises UnreadableError."""
        return frozenset(value for item in text.split(",") for value in self._item(item, of))

    def _item(self, item: str, of: FieldRange) -> range | list[int]:
        parts = _ITEM.fullmatch(item)
        if not parts or (parts["star"] == "?" and not self.question_mark):
            raise self._refusal(item, of)
        step = 1 if parts["step"] is None else self._step(parts["step"], item, of)
        if parts["star"]:
            return range(of.low, of.high + 1, step)
        low = self._value(parts["low"], item, of)
        if parts["high"] is None:
            if parts["step"] is None:
                return [low]
            if not self.step_from_value:
                raise UnreadableError(
                    f'{self.origin} refuses the {of.name} "{item}", so it has never run this; '
                    f'write "{low}-{of.high}/{step}" if that is meant.'
                )
            return range(low, of.high + 1, step)
        high = self._value(parts["high"], item, of)
        if low <= high:
            return range(low, high + 1, step)
        if not self.wraps:
            raise UnreadableError(f'{self.origin} runs nothing for the {of.name} "{item}", which runs backwards.')
        return [*range(low, of.high + 1), *range(of.low, high + 1)][::step]

    def _step(self, text: str, item: str, of: FieldRange) -> int:
        if not text.isdigit() or int(text) == 0:
            raise self._refusal(item, of)
        return int(text)

    def _value(self, text: str, item: str, of: FieldRange) -> int:
        name = text.lower()[:3] if self.long_names else text.lower()
        if name in of.names:
            return of.names.index(name) + of.first_named
        if not text.isdigit() or not of.low <= int(text) <= of.high:
            raise self._refusal(item, of)
        return int(text)

    def _refusal(self, item: str, of: FieldRange) -> UnreadableError:
        return UnreadableError(f'{self.origin} refuses the {of.name} "{item}", so it has never run this.')


def listed(ordered: Sequence[int]) -> str:
    """Write values, which are in order, as ranges between commas, without a `*`."""
    steps = {later - earlier for earlier, later in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1 and steps != {1}:
        return f"{ordered[0]}-{ordered[-1]}/{min(steps)}"
    ranges: list[list[int]] = []
    for value in ordered:
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
