"""`timeball preview`: the next fire times of a schedule, computed locally, without a service or an account.

Options that cannot be accepted raise an error of one sentence.
"""

import json as json_module
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, TypeVar

import typer

from timeball.cli.status import CommandError
from timeball.cli.surroundings import surroundings_of
from timeball.cli.tree import Commands
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

app = Commands("Print the next fire times of a schedule, and what clock changes do to them.")

_MAX_COUNT: Final = 1000
_MAX_DIGITS: Final = 18
_COLUMNS: Final = ("FIRE TIME", "LOCAL TIME", "OFFSET", "NOTE")
_GOES_WITH: Final = {"anchor": "every", "dst_gap": "cron", "dst_overlap": "cron"}
"""Options that have a meaning only together with another."""

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True)
class ScheduleOptions:
    """The texts of the options that describe a schedule."""

    cron: str | None
    every: str | None
    anchor: str | None
    dst_gap: str | None
    dst_overlap: str | None


@app.command()
def preview_schedule(
    context: typer.Context,
    *,
    cron: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="Five fields, such as '0 9 * * MON-FRI'.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="An interval: 900, or a duration such as PT15M.")
    ] = None,
    anchor: Annotated[
        str | None, typer.Option(metavar="TIME", help="An instant of the interval; default the start, --from.")
    ] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="An IANA zone.")] = "UTC",
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="No fire before 2026-10-24T00:00:00Z, say; default now."),
    ] = None,
    count: Annotated[str, typer.Option(metavar="N", help=f"The number of fires, 1 to {_MAX_COUNT}.")] = "5",
    dst_gap: Annotated[
        str | None,
        typer.Option(metavar="next|skip", help="For times that clocks skip: fire once after the gap, or not at all."),
    ] = None,
    dst_overlap: Annotated[
        str | None,
        typer.Option(metavar="first|both", help="For times that clocks show twice: fire at the first, or at both."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Print the next fire times of a schedule, and what clock changes do to them."""
    surroundings = surroundings_of(context)
    options = ScheduleOptions(cron, every, anchor, dst_gap, dst_overlap)
    _check_together(options)
    from_at = surroundings.now() if start is None else _read("--from", start, parse_instant)
    number = _read("--count", count, _count)
    zone = _read("--timezone", timezone, load_zone)
    fires = preview(Schedule(_timing(options, zone.name, from_at)), from_at, number, zone.name)
    if json:
        surroundings.stdout.write(f"{_json(fires)}\n")
    elif fires:
        surroundings.stdout.write(f"{_table(fires)}\n")
    if not fires:
        surroundings.say(f"This schedule has no fire time from {format_instant(from_at)} on.")


def _check_together(options: ScheduleOptions) -> None:
    if (options.cron is None) == (options.every is None):
        both = options.cron is not None
        raise CommandError("Give --cron or --every, not both." if both else "Say when: give --cron or --every.")
    for name, partner in _GOES_WITH.items():
        if getattr(options, name) is not None and getattr(options, partner) is None:
            raise CommandError(f"--{name.replace('_', '-')} goes with --{partner} only; leave it out.")


def _timing(options: ScheduleOptions, timezone: str, from_at: int) -> Cron | Every:
    if options.cron is not None:
        return Cron(
            _read("--cron", options.cron, parse_cron).expression,
            timezone,
            gap=None if options.dst_gap is None else _read("--dst-gap", options.dst_gap, _one_of(Gap)),
            overlap=None
            if options.dst_overlap is None
            else _read("--dst-overlap", options.dst_overlap, _one_of(DstOverlap)),
        )
    seconds = _read("--every", options.every or "", _period)
    if options.anchor is not None:
        return Every(seconds, _read("--anchor", options.anchor, parse_instant))
    return Every(seconds, -(-from_at // SECOND_MS) * SECOND_MS)


def _read(option: str, text: str, reader: Callable[[str], T]) -> T:
    """Read an option's text. Raises CommandError with the reader's sentence."""
    try:
        return reader(text)
    except ValueError as bad:
        raise CommandError(f"{option}: {bad}") from None


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
        json_module.dumps(
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
