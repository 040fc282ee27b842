"""Change rows that other processes change too: compute the change, swap, on refusal retry from the standing row.

The change is computed anew from the row that stands. Nothing of an earlier try is kept.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Row, Rows, Swap, Swapped

TRIES = 10
_Done = TypeVar("_Done")
Key = TypeVar("Key")


def until_done(attempt: Callable[[], _Done | None], subject: str) -> _Done:
    """Return the first answer of an attempt. It returns None if another process has changed what it decided by.

    Raises ContendedError if that happens TRIES times.
    """
    for _ in range(TRIES):
        done = attempt()
        if done is not None:
            return done
    raise ContendedError(f"{subject} kept changing")


def put(rows: Rows[Any, Row], before: Row | None, after: Row, now: int) -> Row | None:
    """Insert a row that was absent, or swap it; return the row as it is stored, or None if another write came first."""
    if before is None:
        (standing,) = rows.insert([after], now)
        return after if standing is None else None
    (swapped,) = rows.swap([Swap(before, after)], now)
    return swapped.row if swapped.done else None


def read_or_insert(rows: Rows[Key, Row], keys: Sequence[Key], new: Callable[[Key], Row], now: int) -> list[Row]:
    """Return the row of each key as it stands, the new ones last. A key without a row gets a `new` one."""
    stored = rows.read(keys)
    absent = [new(key) for key, row in zip(keys, stored, strict=True) if row is None]
    inserted = rows.insert(absent, now)
    return [row for row in stored if row is not None] + [
        found or row for row, found in zip(absent, inserted, strict=True)
    ]


def change_all(
    swap: Callable[[list[Swap[Row]], int], list[Swapped[Row]]],
    rows: Sequence[Row | None],
    change: Callable[[int, Row], Row | None],
    now: int,
    subject: str,
) -> list[Row]:
    """Change rows as `compare_and_swap` does, and return those that stand.

    Raises UnavailableError if one of them kept changing: others may be changed.
    """
    standing = compare_and_swap(swap, rows, change, now)
    if not all(one.done for one in standing):
        raise UnavailableError(f"{subject} kept changing")
    return [one.row for one in standing if one.row is not None]


def compare_and_swap(
    swap: Callable[[list[Swap[Row]], int], list[Swapped[Row]]],
    rows: Sequence[Row | None],
    change: Callable[[int, Row], Row | None],
    now: int,
    tries: int = TRIES,
) -> list[Swapped[Row]]:
    """Change rows from the state in which they were read. Return each standing row, and whether its change is done.

    `change` gets an index and a row, and returns the new row. If it returns None, the row is done as it stands; a row
    that is gone is done too. If it returns the same row, that row is written all the same, which refuses the swaps of
    processes that read it before. A row that still changes after `tries` is returned as not done.
    """
    standing = [Swapped(done=False, row=row) for row in rows]
    for _ in range(tries):
        swaps: dict[int, Swap[Row]] = {}
        for position, one in enumerate(standing):
            after = None if one.done or one.row is None else change(position, one.row)
            if one.row is None or after is None:
                standing[position] = Swapped(done=True, row=one.row)
            else:
                swaps[position] = Swap(one.row, after)
        if not swaps:
            break
        for position, swapped in zip(swaps, swap(list(swaps.values()), now), strict=True):
            standing[position] = swapped
    return standing
