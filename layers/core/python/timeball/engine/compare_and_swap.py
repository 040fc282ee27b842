"""Change rows that others change too: say what each is to be, swap; on refusal go on from the row that stands.

What is to be is said of the row that stands, anew for each: nothing of an earlier try is kept.
"""

from collections.abc import Callable, Sequence

from timeball.ports.collections.rows import Row, Swap, Swapped

TRIES = 10


def compare_and_swap(
    swap: Callable[[list[Swap[Row]], int], list[Swapped[Row]]],
    rows: Sequence[Row | None],
    change: Callable[[int, Row], Row | None],
    now: int,
) -> list[Swapped[Row]]:
    """Change rows, as they were read; return each as it then stands, and whether it is done: if not, it kept changing.

    `change` says what the row at a position is to be. None: it is done as it stands, and so is one that is gone. The
    row itself is written too: that refuses whoever read it before.
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
