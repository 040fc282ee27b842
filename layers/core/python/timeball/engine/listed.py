"""A page of a list under a filter: the listing names, and each row decides whether it is meant.

What the listing names in vain costs a read, so a page examines MAX_EXAMINED rows at most; it may be short, or empty,
and yet not be the last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_EXAMINED = 1_000
_AT_ONCE = 100

Item = TypeVar("Item")
Id = TypeVar("Id")


@dataclass(frozen=True)
class Page(Generic[Item, Id]):
    """What was found, the position of each (its time and what it names), and where to go on; None at the end."""

    items: tuple[Item, ...]
    positions: tuple[tuple[int, Id], ...]
    next_after: tuple[int, Id] | None


def read_page(
    name: Callable[[int, tuple[int, Id] | None], Sequence[tuple[int, Id]]],
    read: Callable[[Sequence[Id]], Sequence[Item | None]],
    limit: int,
    after: tuple[int, Id] | None,
) -> Page[Item, Id]:
    """Return up to `limit` of what is meant, in the order of the listing.

    `name` returns so many of those behind a position; `read` the item for each, None for what is not meant.
    """
    found: list[Item] = []
    positions: list[tuple[int, Id]] = []
    examined = 0
    while examined < MAX_EXAMINED:
        # At first what a page without a filter takes; once that is not enough, the filter passes over many.
        at_once = _AT_ONCE if examined else min(limit + 1, _AT_ONCE)
        named = name(at_once, after)
        for where, item in zip(named, read([one for _, one in named]), strict=True):
            if item is not None:
                if len(found) == limit:
                    return Page(tuple(found), tuple(positions), after)
                found.append(item)
                positions.append(where)
            after = where
        if len(named) < at_once:
            return Page(tuple(found), tuple(positions), None)
        examined += len(named)
    return Page(tuple(found), tuple(positions), after)
