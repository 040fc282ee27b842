"""Read one page of a filtered list. The listing names candidates, and each row decides whether it matches.

A candidate that does not match costs a read, so a page examines MAX_EXAMINED rows at the most. A page may be short, or
empty, and yet not be the last.
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
    """The items found, the position of each (its time and its id), and the position to go on after; None at the end."""

    items: tuple[Item, ...]
    positions: tuple[tuple[int, Id], ...]
    next_after: tuple[int, Id] | None


def read_page(
    name: Callable[[int, tuple[int, Id] | None], Sequence[tuple[int, Id]]],
    read: Callable[[Sequence[Id]], Sequence[Item | None]],
    limit: int,
    after: tuple[int, Id] | None,
    most: int = MAX_EXAMINED,
) -> Page[Item, Id]:
    """Return up to `limit` items that match, in the order of the listing, among the next `most` candidates.

    `name` returns up to the given number of positions after a position. `read` returns the item of each id, or None if
    it does not match.
    """
    found: list[Item] = []
    positions: list[tuple[int, Id]] = []
    examined = 0
    while examined < most:
        # Start with what a page without a filter needs. If that is not enough, the filter drops many: read more at
        # once.
        at_once = min(_AT_ONCE, most - examined if examined else limit + 1)
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
