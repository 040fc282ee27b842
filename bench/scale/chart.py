"""A chart as SVG: lines over the seconds of a case, each with its own scale, drawn as plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 220, 16, 46, 26
_SPACE = "http://www.w3.org/2000/svg"
_MOST_POINTS = 360
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c")


@dataclass(frozen=True)
class Line:
    """A line: its name, and its values by second."""

    name: str
    values: Mapping[int, float]


def chart(title: str, lines: Sequence[Line]) -> str:
    """Return a chart of lines; each line is scaled to its highest value, which is shown beside its name."""
    seconds = [second for line in lines for second in line.values]
    first, last = min(seconds, default=0), max(seconds, default=1)
    parts = [
        f'<svg xmlns="{_SPACE}" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18" font-size="14">{_escaped(title)}</text>',
    ]
    for number, line in enumerate(lines):
        colour, highest = _COLOURS[number % len(_COLOURS)], max(line.values.values(), default=0)
        label = f"{line.name}, up to {highest:,.0f}"
        parts.append(f'<text x="{_LEFT + number * 230}" y="36" fill="{colour}">{_escaped(label)}</text>')
        points = " ".join(
            f"{_x(second, first, last):.1f},{_y(value, highest):.1f}" for second, value in _thinned(line.values)
        )
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    bottom = _HEIGHT - _BOTTOM
    parts += [
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_WIDTH - _LEFT}" y2="{bottom}" stroke="#888"/>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{first} s</text>',
        f'<text x="{_WIDTH - _LEFT}" y="{_HEIGHT - 8}" text-anchor="end">{last} s</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _thinned(values: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return at most _MOST_POINTS points of a line, each the highest of several."""
    points = sorted(values.items())
    together = -(-len(points) // _MOST_POINTS)
    return [max(points[start : start + together], key=itemgetter(1)) for start in range(0, len(points), together or 1)]


def _x(second: int, first: int, last: int) -> float:
    return _LEFT + (second - first) / max(1, last - first) * (_WIDTH - 2 * _LEFT)


def _y(value: float, highest: float) -> float:
    return _HEIGHT - _BOTTOM - value / max(1, highest) * (_HEIGHT - _TOP - _BOTTOM)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
