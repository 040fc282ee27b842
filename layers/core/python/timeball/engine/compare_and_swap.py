"""Change rows that other processes change too: compute the change, swap, on refusal retry from the standing row.

The change is computed anew from the row that stands. Nothing of an earlier try is kept.
"""

from collections.abc import Callable, Sequence

from timeball.ports.rows import Row, Swap, Swapped

TRIES = 10


def compare_and_swap(
    swap: Callable[[list[Swap[Row]], int], list[Swapped[Row]]],
    rows: Sequence[Row | None],
    change: Callable[[int, Row], Row | None],
    now: int,
) -> list[Swapped[Row]]:
    """Change rows from the state in which they were read. Return each standing row, and whether its change is done.

    `change` gets an index and a row, and returns the new row. If it returns None, the row is done as it stands; a row
    that is gone is done too. If it returns the same row, that row is written all the same, which refuses the swaps of
    processes that read it before. A row that still changes after TRIES tries is returned as not done.
    """
    standing = [Swapped(done=False, row=row) for row in rows]
    for _ in range(TRIES):
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
