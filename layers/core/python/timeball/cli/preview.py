"""`timeball preview`: the next fire times of a schedule, computed locally, without a service or an account.

Options that cannot be accepted raise an error of one sentence.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, NoReturn, TypeVar

from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import (
    LONGEST_PERIOD_SECONDS,
    SECOND_MS,
    format_instant,
    parse_duration,
    parse_instant,
)
from timeball.domain.time.preview import Fire, preview
from timeball.domain.time.schedule import Cron, Every, Schedule
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.zones import load_zone


class UsageError(Exception):
    """A request that cannot be accepted; its text is a sentence that says why."""


class Options(ArgumentParser):
    """A parser that raises UsageError, where Python's own parser prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


_MAX_COUNT: Final = 1000
_MAX_DIGITS: Final = 18
_COLUMNS: Final = ("FIRE TIME", "LOCAL TIME", "OFFSET", "NOTE")
_GOES_WITH: Final = {"anchor": "every", "dst_gap": "cron", "dst_overlap": "cron"}
"""Options that have a meaning only together with another."""

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def preview_command(arguments: Sequence[str], now: Callable[[], int]) -> int:
    """Print the next fire times of a schedule, from `now` (ms) on unless the arguments give a start."""
    options = _options().parse_args(arguments)
    _check_together(options)
    from_at = now() if options.start is None else _read("--from", options.start, parse_instant)
    count = _read("--count", options.count, _count)
    zone = _read("--timezone", options.timezone, load_zone)
    fires = preview(Schedule(_timing(options, zone.name, from_at)), from_at, count, zone.name)
    if options.json:
        print(_json(fires))
    elif fires:
        print(_table(fires))
    if not fires:
        print(f"This schedule has no fire time from {format_instant(from_at)} on.", file=sys.stderr)
    return 0


def _options() -> Options:
    parser = Options(
        prog="timeball preview",
        description="Print the next fire times of a schedule, and what clock changes do to them.",
        allow_abbrev=False,
    )
    parser.add_argument("--cron", metavar="EXPRESSION", help="five fields, such as '0 9 * * MON-FRI'")
    parser.add_argument("--every", metavar="SECONDS", help="an interval: 900, or a duration such as PT15M")
    parser.add_argument("--anchor", metavar="TIME", help="an instant of the interval; default the start, --from")
    parser.add_argument("--timezone", metavar="ZONE", default="UTC", help="an IANA zone; default UTC")
    parser.add_argument(
        "--from", dest="start", metavar="TIME", help="no fire before 2026-10-24T00:00:00Z, say; default now"
    )
    parser.add_argument("--count", metavar="N", default="5", help=f"number of fires, 1 to {_MAX_COUNT}; default 5")
    parser.add_argument(
        "--dst-gap", metavar="next|skip", help="for times that clocks skip: fire once after the gap, or not at all"
    )
    parser.add_argument(
        "--dst-overlap", metavar="first|both", help="for times that clocks show twice: fire at the first, or at both"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _check_together(options: Namespace) -> None:
    if (options.cron is None) == (options.every is None):
        both = options.cron is not None
        raise UsageError("Give --cron or --every, not both." if both else "Say when: give --cron or --every.")
    for name, partner in _GOES_WITH.items():
        if getattr(options, name) is not None and getattr(options, partner) is None:
            raise UsageError(f"--{name.replace('_', '-')} goes with --{partner} only; leave it out.")


def _timing(options: Namespace, timezone: str, from_at: int) -> Cron | Every:
    if options.cron is not None:
        return Cron(
            _read("--cron", options.cron, parse_cron).expression,
            timezone,
            gap=None if options.dst_gap is None else _read("--dst-gap", options.dst_gap, _one_of(Gap)),
            overlap=None
            if options.dst_overlap is None
            else _read("--dst-overlap", options.dst_overlap, _one_of(DstOverlap)),
        )
    seconds = _read("--every", options.every, _period)
    if options.anchor is not None:
        return Every(seconds, _read("--anchor", options.anchor, parse_instant))
    return Every(seconds, -(-from_at // SECOND_MS) * SECOND_MS)


def _read(option: str, text: str, reader: Callable[[str], T]) -> T:
    """Read an option's text. Raises UsageError with the reader's sentence."""
    try:
        return reader(text)
    except ValueError as bad:
        raise UsageError(f"{option}: {bad}") from None


def _count(text: str) -> int:
    if not _is_number(text) or not 1 <= int(text) <= _MAX_COUNT:
        raise ValueError(f"Give a whole number from 1 to {_MAX_COUNT}.")
    return int(text)


def _period(text: str) -> int:
    seconds = int(text) if _is_number(text) else parse_duration(text)
    if not 1 <= seconds <= LONGEST_PERIOD_SECONDS:
        raise ValueError(f"Give an interval of 1 to {LONGEST_PERIOD_SECONDS} seconds.")
    return seconds


def _one_of(choices: type[E]) -> Callable[[str], E]:
    def read(text: str) -> E:
        if text not in tuple(choices):
            raise ValueError(f"Give {' or '.join(choices)}.")
        return choices(text)

    return read


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _json(fires: Iterable[Fire]) -> str:
    rows = [
        json.dumps(
            {
                "fireTime": format_instant(fire.fire_at),
                "localTime": fire.local_time,
                "utcOffset": fire.utc_offset,
                "note": fire.note,
            }
        )
        for fire in fires
    ]
    return "[\n  " + ",\n  ".join(rows) + "\n]" if rows else "[]"


def _table(fires: Iterable[Fire]) -> str:
    rows = [
        _COLUMNS,
        *((format_instant(fire.fire_at), fire.local_time, fire.utc_offset, fire.note or "") for fire in fires),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
