"""Durations are whole seconds. ISO 8601 text exists only at the edges."""

import re
from typing import Final

LONGEST_PERIOD_SECONDS: Final = 10 * 366 * 86_400
"""Ten years: no interval is longer."""

_DURATION: Final = re.compile(
    r"P(?:(?P<weeks>\d{1,9})W|(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?)",
    re.ASCII,
)
_UNITS: Final = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


def parse_duration(text: str) -> int:
    """Return the whole seconds of an ISO 8601 duration without months and years, such as `PT15M`.

    Raises ValueError, with a sentence, for anything else.
    """
    match = _DURATION.fullmatch(text)
    parts = {unit: int(count) for unit, count in match.groupdict().items() if count} if match else {}
    if not parts:
        raise ValueError("Give whole seconds, such as 900, or a duration such as PT15M or P1DT12H.")
    return sum(_UNITS[unit] * count for unit, count in parts.items())
