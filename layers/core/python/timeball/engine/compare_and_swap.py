"""Change rows that others change too: read, say what each is to be, swap; on refusal go on from the row that stands.

What is to be is a pure function's, asked anew for each row that stands: nothing of an earlier try is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from timeball.engine.context import Context
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Row, Rows, Swap

Key = TypeVar("Key")

TRIES = 10


def compare_and_swap(
    context: Context,
    rows: Rows[Key, Row],
    change: Callable[[Key, Row | None], Row | None],
    keys: Sequence[Key],
    read: Mapping[Key, Row] | None = None,
) -> list[Row | None]:
    """Change the row of each key, none named twice; return the rows as they then stand, in order.

    `change` returns the row to be, which is inserted where none stands; None, or the row itself: nothing is to be done.
    What is in `read` is not read again. Raises ContendedError if a row kept changing: others of them may be written.
    """
    standing: dict[Key, Row | None] = dict(read or {})
    unread = [key for key in keys if key not in standing]
    if unread:
        standing |= zip(unread, rows.read(unread), strict=True)
    waiting = list(keys)
    for _ in range(TRIES):
        wanted = {key: after for key in waiting if (after := change(key, standing[key])) not in (None, standing[key])}
        if not wanted:
            return [standing[key] for key in keys]
        waiting = _write(context, rows, standing, wanted)
    raise ContendedError(f"{', '.join(map(str, waiting))} kept changing")


def _write(
    context: Context, rows: Rows[Key, Row], standing: dict[Key, Row | None], wanted: Mapping[Key, Row | None]
) -> list[Key]:
    """Write what is wanted, and note what then stands; return the keys of which something else does."""
    now = context.clock.now()
    swaps = {key: Swap(row, after) for key, after in wanted.items() if after and (row := standing[key])}
    new = {key: after for key, after in wanted.items() if after and not standing[key]}
    refused: list[Key] = []
    for key, swapped in zip(swaps, rows.swap(list(swaps.values()), now) if swaps else [], strict=True):
        standing[key] = swapped.row
        refused += [] if swapped.done else [key]
    for key, found in zip(new, rows.insert(list(new.values()), now) if new else [], strict=True):
        standing[key] = found or new[key]
        refused += [key] if found else []
    return refused
