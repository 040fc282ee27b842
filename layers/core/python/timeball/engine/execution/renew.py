"""Renew leases: one write for all live runs of an executor. What comes back tells it what others want of them."""

from collections.abc import Sequence

from timeball.domain.model.run import Run
from timeball.domain.model.transitions import renewed
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context


def renew(context: Context, runs: Sequence[Run]) -> list[Run | None]:
    """Extend the lease of each run that its holder still owns; None for one that is somebody else's, or over.

    A run that was asked to stop is renewed as well, and says so in `cancel_requested`. Raises UnavailableError.
    """
    now, lease_ms = context.clock.now(), context.rules.lease_ms

    def extended(position: int, row: Run) -> Run | None:
        return renewed(row, now, lease_ms) if owns(row, runs[position]) else None

    standing = compare_and_swap(context.store.runs.swap, runs, extended, now)
    return [
        one.row if one.done and one.row is not None and owns(one.row, run) else None
        for one, run in zip(standing, runs, strict=True)
    ]


def owns(row: Run, run: Run) -> bool:
    """Say whether the stored row is still this holder's attempt, and was not handed over to its target."""
    return row.attempt == run.attempt and run.owner is not None and row.is_held_by(run.owner)
