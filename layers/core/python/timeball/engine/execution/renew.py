"""Renew leases: one write for all live runs of an executor. What comes back tells it what others want of them."""

from collections.abc import Sequence

from timeball.domain.model.run import Run, renewed
from timeball.engine.context import Context
from timeball.ports.rows import Swap

_TRIES = 3


def renew(context: Context, runs: Sequence[Run]) -> list[Run | None]:
    """Extend the lease of each run that its holder still owns; None for one that is somebody else's, or over.

    A run that was asked to stop is renewed as well, and says so in `cancel_requested`. Raises UnavailableError.
    """
    now = context.clock.now()
    held: list[Run] = list(runs)
    answers: dict[int, Run | None] = {}
    for _ in range(_TRIES):
        waiting = [position for position in range(len(held)) if position not in answers]
        if not waiting:
            break
        swaps = [Swap(held[position], renewed(held[position], now, context.rules.lease_ms)) for position in waiting]
        for position, swapped in zip(waiting, context.store.runs.swap(swaps, now), strict=True):
            row = swapped.row
            if swapped.done or row is None or not owns(row, runs[position]):
                answers[position] = row if swapped.done else None
            else:
                held[position] = row
    return [answers.get(position) for position in range(len(held))]


def owns(row: Run, run: Run) -> bool:
    """Say whether the stored row is still this holder's attempt, and was not handed over to its target."""
    return row.attempt == run.attempt and run.owner is not None and row.is_held_by(run.owner)
