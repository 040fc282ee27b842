"""Keep the leases of an executor's runs, from the claim until the finish is written.

A renewal only ever moves the end of a lease later: the cut of a call at that end waits for no renewal. A row that
cannot be written costs no other run its lease.
"""

import asyncio
import logging
from collections.abc import Sequence

from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import renewed
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.execution.in_flight import InFlight
from timeball.engine.execution.offload import Offload
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)


async def renew_leases(context: Context, runs: Sequence[InFlight], offload: Offload) -> list[InFlight]:
    """Renew the leases of all runs in one write, or each alone if one is unknown; return the runs that were renewed.

    Calls that are asked to stop, or that are no longer ours, are cut.
    """
    try:
        rows = await offload(renew, context, [flight.run for flight in runs])
    except Exception as error:
        log.warning("%d leases not renewed: %s", len(runs), error, exc_info=not isinstance(error, UnavailableError))
        alone = [] if len(runs) == 1 else [renew_leases(context, [flight], offload) for flight in runs]
        return [flight for those in await asyncio.gather(*alone) for flight in those]
    return [flight for flight, row in zip(runs, rows, strict=True) if _apply_renewal(context, flight, row)]


def _apply_renewal(context: Context, flight: InFlight, row: Run | None) -> bool:
    """Cut a call that is no longer ours, or that was asked to stop; return whether its lease now lasts longer."""
    if row is None:
        if flight.cut(None):
            log.warning(
                "lease lost; the call is cut", extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt}
            )
        return False
    flight.run = row
    if row.cancel_requested:
        moment = "before the call" if flight.called_at is None else "while it ran"
        flight.cut(flight.given_up(context.clock.now(), f"It was asked to stop {moment}."))
    return True


def renew(context: Context, runs: Sequence[Run]) -> list[Run | None]:
    """Extend the lease of each run that its holder still owns; None for a run that another owns, or that has ended.

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
    """Return whether the stored row is still this holder's attempt, and was not handed over to its target."""
    return row.attempt == run.attempt and run.owner is not None and row.is_held_by(run.owner)
