"""The demo's tallies as text: on a terminal a table that is redrawn in place, elsewhere lines."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from local.demo_scenario import Progress
from local.demo_tally import DemoTally, percentile, total
from timeball.domain.time.instants import SECOND_MS

_HEADINGS = ("due", "arrived", "early", "doubled", "lost", "p50", "p99", "max")
_NAME_WIDTH = 18
_WIDTH = 9
_LINE_EVERY_MS = 5 * SECOND_MS
_PER_LINE = 16


def table(tallies: Mapping[str, DemoTally]) -> list[str]:
    """Return the lines of a table with a row for each group, lateness in ms."""
    heading = " " * _NAME_WIDTH + "".join(f"{heading:>{_WIDTH}}" for heading in _HEADINGS)
    return [heading, *(_row(name, one) for name, one in tallies.items())]


def _row(name: str, one: DemoTally) -> str:
    counts = (one.due, one.arrived, one.early, one.doubled, one.lost)
    late = (percentile(one.lateness, 0.5), percentile(one.lateness, 0.99), percentile(one.lateness, 1))
    cells = [*map(str, counts), *("" if value is None else f"{value} ms" for value in late)]
    return f"{name:<{_NAME_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)


def each_lateness(tallies: Mapping[str, DemoTally]) -> list[str]:
    """Return the lateness of each run in ms, in the order of the fire times, a few to a line."""
    lines = ["Lateness of each run in ms, by fire time:"]
    for name, one in tallies.items():
        values = one.lateness
        parts = [values[start : start + _PER_LINE] for start in range(0, len(values), _PER_LINE)]
        names = [name, *[""] * len(parts)]
        lines += [
            f"{label:<{_NAME_WIDTH}}" + "".join(f"{value:>6}" for value in part)
            for label, part in zip(names, parts, strict=False)
        ]
    return lines


def verdict(tallies: Iterable[DemoTally]) -> str:
    """Return the two sentences of the summary."""
    whole = total(tallies)
    counts = ((whole.lost, "lost"), (whole.doubled, "doubled"), (whole.early, "early"))
    found = ", ".join(f"{count or 'none'} {what}" for count, what in counts)
    return f"{found}\n{figures(whole.lateness)}"


def figures(lateness: Sequence[int]) -> str:
    """Return the median and the tail of the lateness, and how it was measured."""
    p50, p99 = percentile(lateness, 0.5), percentile(lateness, 0.99)
    return f"p50 {p50} ms, p99 {p99} ms (receiver's clock, this machine, embedded AWS)"


class Display:
    """Shows the progress."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._drawn = 0
        self._next_line_at = 0

    def show(self, progress: Progress) -> None:
        """Redraw the table in place; without a terminal, write a line every few seconds."""
        if self._out.isatty():
            lines = [_remark(progress), "", *table(progress.tallies)]
            above = f"\x1b[{self._drawn}F" if self._drawn else ""
            self._out.write(above + "".join(f"{line}\x1b[K\n" for line in lines))
            self._drawn = len(lines)
        elif progress.now >= self._next_line_at:
            self._next_line_at = progress.now + _LINE_EVERY_MS
            self._out.write(_remark(progress) + "\n")
        self._out.flush()


def _remark(progress: Progress) -> str:
    whole = total(progress.tallies.values())
    to_burst = -(-(progress.burst_at - progress.now) // SECOND_MS)
    to_end = max(0, -(-(progress.until - progress.now) // SECOND_MS))
    ahead = f"the burst is due in {to_burst} s" if to_burst > 0 else f"the last is due in {to_end} s"
    return f"{whole.arrived} of {whole.due} have arrived; {ahead}"
