"""Swaps of rows: what turns one row into another, on condition that the stored one has the first one's revision."""

from collections.abc import Callable, Sequence
from typing import Any

from timeball.aws.keys import Key
from timeball.aws.rows import Item
from timeball.aws.writes import Update, Writer
from timeball.ports import Row, Swap, Swapped

Change = tuple[Key, Item, Item]
"""Where a row stands, how it was read, and how it is to be."""


def swap_rows(
    writer: Writer,
    swaps: Sequence[Swap[Row]],
    changes: Sequence[Change],
    to_value: Callable[[dict[str, Any], Swap[Row]], Row],
) -> list[Swapped[Row]]:
    """Write each change; a refused one whose row already holds what was to be written is done."""
    updates = [_update(key, before, after) for key, before, after in changes]
    answers: list[Swapped[Row]] = []
    for swap, written in zip(swaps, writer.write(updates), strict=True):
        standing = to_value(written.row, swap) if written.row else None
        done = written.done or standing == swap.after
        answers.append(Swapped(done, swap.after if done else standing))
    return answers


def _update(key: Key, before: Item, after: Item) -> Update:
    """Return the write of a change.

    The stored bucket is that of its own time of writing, which nobody remembers: a moved due key brings its bucket.
    """
    moved = before.get("due_at") != after.get("due_at")
    return Update(
        key,
        where={"revision": [int(before["revision"])]},
        set={
            name: value
            for name, value in after.items()
            if before.get(name) != value or (moved and name == "due_bucket")
        },
        remove=tuple(name for name in before if name not in after),
    )
