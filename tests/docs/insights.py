"""Evaluate the part of CloudWatch Logs Insights that the manual uses, on lines that were captured.

It knows `filter` with comparisons joined by `and`, `fields`, `stats` with five functions and `by`, `sort` and `limit`,
and refuses everything else. It is no proof that CloudWatch evaluates a query alike; it proves that the queries name
fields that lines have, and find what they should.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Row = Mapping[str, Any]

_COMPARISON: Final = re.compile(r"(\w+)\s*(!=|>=|<=|=|>|<)\s*(?:\"([^\"]*)\"|(-?\d+))")
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_FIGURE: Final = re.compile(r"(count|max|min|avg|pct)\((\*|\w+)(?:,\s*(\d+))?\)\s+as\s+(\w+)")


class UnknownQueryError(ValueError):
    """A query has something that is not evaluated here, or names a field that no line has."""


def evaluate(query: str, lines: Sequence[Row]) -> list[Row]:
    """Return the rows that a query finds. Raises UnknownQueryError."""
    rows: list[Row] = list(lines)
    known = {name for line in lines for name in line}
    for part in query.split("|"):
        command, _, rest = " ".join(part.split()).partition(" ")
        if command not in _COMMANDS:
            raise UnknownQueryError(part)
        rows, known = _COMMANDS[command](rest, rows, known)
    return rows


def _filter(rest: str, rows: list[Row], known: set[str]) -> tuple[list[Row], set[str]]:
    for condition in rest.split(" and "):
        match = _COMPARISON.fullmatch(condition.strip())
        if match is None:
            raise UnknownQueryError(condition)
        name, sign, text, number = match.groups()
        _check([name], known)
        value = int(number) if text is None else text
        rows = [row for row in rows if row.get(name) is not None and _OPERATORS[sign](row[name], value)]
    return rows, known


def _fields(rest: str, rows: list[Row], known: set[str]) -> tuple[list[Row], set[str]]:
    names = [name.strip() for name in rest.split(",")]
    _check(names, known)
    return [{name: row.get(name) for name in names} for row in rows], {*names}


def _stats(rest: str, rows: list[Row], known: set[str]) -> tuple[list[Row], set[str]]:
    figures, _, by = rest.partition(" by ")
    keys = [name.strip() for name in by.split(",") if name.strip()]
    wanted = _FIGURE.findall(figures)
    if _FIGURE.sub("", figures).replace(",", "").strip():
        raise UnknownQueryError(figures)
    _check([*keys, *(name for _, name, _, _ in wanted if name != "*")], known)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    found: list[Row] = []
    for group, some in groups.items():
        values = {named: _figure(function, name, part, some) for function, name, part, named in wanted}
        found.append({**dict(zip(keys, group, strict=True)), **values})
    return found, {*keys, *(named for *_, named in wanted)}


def _figure(function: str, name: str, part: str, rows: Sequence[Row]) -> Any:
    values = sorted(row[name] for row in rows if row.get(name) is not None) if name != "*" else []
    if function == "count":
        return len(rows if name == "*" else values)
    if not values:
        return None
    of: dict[str, Any] = {"max": values[-1], "min": values[0], "avg": sum(values) / len(values)}
    return values[max(0, -(-len(values) * int(part or 50) // 100) - 1)] if function == "pct" else of[function]


def _sort(rest: str, rows: list[Row], known: set[str]) -> tuple[list[Row], set[str]]:
    name, _, order = rest.partition(" ")
    if order not in ("", "asc", "desc"):
        raise UnknownQueryError(rest)
    _check([name], known)
    return sorted(rows, key=lambda row: (row[name] is not None, row[name] or 0), reverse=order == "desc"), known


def _limit(rest: str, rows: list[Row], known: set[str]) -> tuple[list[Row], set[str]]:
    return rows[: int(rest)], known


def _check(names: Sequence[str], known: set[str]) -> None:
    unknown = set(names) - known
    if unknown:
        raise UnknownQueryError(f"no line has {', '.join(sorted(unknown))}")


_Command = Callable[[str, list[Row], set[str]], tuple[list[Row], set[str]]]
_COMMANDS: Final[Mapping[str, _Command]] = {
    "filter": _filter,
    "fields": _fields,
    "stats": _stats,
    "sort": _sort,
    "limit": _limit,
}
