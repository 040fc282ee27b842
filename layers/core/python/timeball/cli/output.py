"""Prints what the API answers: a table on a terminal, values with tabs between them in a pipe, or JSON.

Invariant: no text of an answer steers the terminal or adds a line; in a pipe nothing is cut off.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from timeball.cli.status import CommandError
from timeball.cli.surroundings import Surroundings, one_line
from timeball.cli.tree import ALL_FIELDS, FIELDS

Item = Mapping[str, Any]

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ON_A_TERMINAL: Final = 100
"""How many items a list shows to a person who does not say how many."""


@dataclass(frozen=True)
class Column:
    """A column of a table, or a line of a page about one thing."""

    title: str
    value: str | Callable[[Any], object]
    """The path of a field, such as `lastRun.status`, or a function of the item."""

    def of(self, item: Item) -> object:
        """Return the value of an item."""
        return at_path(item, self.value) if isinstance(self.value, str) else self.value(item)


def show_list(
    surroundings: Surroundings,
    columns: Sequence[Column],
    items: Iterable[Item],
    fields: str | None = None,
    limit: int | None = None,
) -> None:
    """Print items; `fields` asks for JSON, `limit` bounds their number."""
    found = iter(items)
    if fields is not None:
        _print_array(surroundings, itertools.islice(found, limit), fields)
    elif not surroundings.is_terminal:
        for item in itertools.islice(found, limit):
            surroundings.stdout.write("\t".join(_plain(column.of(item)) for column in columns) + "\n")
    else:
        shown = list(itertools.islice(found, limit or _ON_A_TERMINAL))
        titles = [column.title for column in columns]
        _print_table(surroundings, titles, [[(column.title, column.of(item)) for column in columns] for item in shown])
        if limit is None and next(found, None) is not None:
            surroundings.say(f"These are the first {_ON_A_TERMINAL}; --limit shows more.")


def show_one(surroundings: Surroundings, lines: Sequence[Column], item: Item, fields: str | None = None) -> None:
    """Print one thing, a line for each of its facts; `fields` asks for JSON."""
    if fields is not None:
        chosen = item if fields == ALL_FIELDS else _chosen([item], fields)[0]
        surroundings.stdout.write(json.dumps(chosen, indent=2) + "\n")
        return
    facts = [(line.title, line.of(item)) for line in lines]
    if not surroundings.is_terminal:
        surroundings.stdout.writelines(f"{title}\t{_plain(value)}\n" for title, value in facts)
        return
    known = [(title, value) for title, value in facts if value not in (None, "", [], {})]
    _print_table(surroundings, None, [[("", f"{title}:"), (title, value)] for title, value in known])


def show_row(surroundings: Surroundings, columns: Sequence[Column], item: Item, fields: str | None = None) -> None:
    """Print one thing as a list of one; as JSON it is an object."""
    if fields is None:
        show_list(surroundings, columns, [item])
    else:
        show_one(surroundings, columns, item, fields)


def title(surroundings: Surroundings, text: str) -> None:
    """Print the title of a part of a page, on a terminal alone."""
    if surroundings.is_terminal:
        surroundings.stdout.write(f"\n{one_line(text)}\n")


def at_path(item: object, path: str) -> object:
    """Return the value at a path of names with dots between them; None where there is none."""
    for name in path.split("."):
        item = item.get(name) if isinstance(item, Mapping) else None
    return item


def _print_array(surroundings: Surroundings, items: Iterator[Item], fields: str) -> None:
    """Print a JSON array, an item on each line."""
    found = list(items) if fields == ALL_FIELDS else _chosen(list(items), fields)
    rows = ",\n  ".join(json.dumps(item) for item in found)
    surroundings.stdout.write(f"[\n  {rows}\n]\n" if rows else "[]\n")


def _chosen(items: Sequence[Item], fields: str) -> Sequence[Item]:
    """Return items with some of their fields, under the paths of these. Raises CommandError for unknown ones."""
    paths = fields.split(",")
    known = dict.fromkeys(name for item in items for name in item)
    for path in paths:
        if not FIELDS.fullmatch(path) or (items and path.partition(".")[0] not in known):
            has = f" There are: {', '.join(known)}." if known else ""
            raise CommandError(f'--json: There is no field "{path}".{has}')
    return [{path: at_path(item, path) for path in paths} for item in items]


def _plain(value: object) -> str:
    """Return a value on one line, whole, without the characters that part values."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        flat = all(isinstance(one, str) for one in value.values())
        return one_line(",".join(f"{key}:{one}" for key, one in value.items()) if flat else json.dumps(value))
    if isinstance(value, list | tuple):
        flat = not any(isinstance(one, Mapping | list) for one in value)
        return ",".join(_plain(one) for one in value) if flat else one_line(json.dumps(value))
    return one_line(str(value))


def _print_table(
    surroundings: Surroundings, titles: Sequence[str] | None, rows: Sequence[Sequence[tuple[str, object]]]
) -> None:
    """Print rows of values, each with the title of its column or line, below the titles of the columns."""
    if not rows:
        surroundings.stdout.write("Nothing to show.\n")
        return
    from rich.table import Table  # noqa: PLC0415 - slow to load, and for a terminal only

    table = Table(box=None, show_header=titles is not None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, title in enumerate(titles or ("", "")):
        table.add_column(title, overflow="fold", no_wrap=number == 0)  # an id in two lines cannot be copied
    has_shapes = (getattr(surroundings.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    for row in rows:
        table.add_row(*(_styled(title, value, has_shapes=has_shapes) for title, value in row))
    terminal_of(surroundings).print(table)


def terminal_of(surroundings: Surroundings, *, beside: bool = False) -> Any:  # noqa: ANN401 - rich is loaded late
    """Return the terminal as rich writes to it: of the output, or beside it, of the errors."""
    from rich.console import Console  # noqa: PLC0415 - slow to load, and for a terminal only

    return Console(
        file=surroundings.stderr if beside else surroundings.stdout,
        width=surroundings.width,
        _environ=surroundings.environment,
        highlight=False,
        markup=False,
        emoji=False,
    )


_STYLES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("succeeded", "completed", "active", "ok"), ("✓", "green")),
    **dict.fromkeys(("failed", "stuck", "failing", "wrong"), ("✗", "red")),
    **dict.fromkeys(("running", "accepted"), ("▶", "cyan")),
    **dict.fromkeys(("retrying", "late", "silent"), ("↻", "yellow")),
    **dict.fromkeys(("paused", "withdrawn"), ("‖", "yellow")),
    **dict.fromkeys(("blocked",), ("■", "magenta")),
    **dict.fromkeys(("skipped", "cancelled"), ("○", "dim")),
    **dict.fromkeys(("pending", "queued", "waiting", "scheduled"), ("·", "")),
}
"""A shape and a colour for each status; its word is always beside them."""
_OF_STATUSES = frozenset({"status", "last status", "state", "kind", "outcome", "verdict"})
"""The titles of columns and lines that have statuses."""


def _styled(title: str, value: object, *, has_shapes: bool) -> Any:  # noqa: ANN401 - rich is loaded late
    from rich.text import Text  # noqa: PLC0415 - slow to load, and for a terminal only

    if isinstance(value, list | tuple):
        return Text(", ".join(_for_people(_plain(one)) for one in value))
    text = _plain(value)
    shape, style = _STYLES.get(text, ("", "")) if title.lower() in _OF_STATUSES else ("", "")
    return Text(f"{shape} {text}" if shape and has_shapes else _for_people(text), style=style)


def _for_people(text: str) -> str:
    """Return a text, and an instant as people write it, with its zone."""
    is_instant = _INSTANT.fullmatch(text) is not None
    return f"{text.replace('T', ' ').removesuffix('Z').removesuffix('.000')} UTC" if is_instant else text
