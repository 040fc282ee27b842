"""Keep the leases of an executor's runs, from the claim until the finish is written.

A renewal only ever moves a run's end on: what cuts a call at that end waits for no renewal. One row that cannot be
written costs no other run its lease.
"""

import asyncio
import logging
from collections.abc import Sequence

from timeball.domain.model.run import Run
from timeball.engine.context import Context
from timeball.engine.execution.in_flight import InFlight
from timeball.engine.execution.offload import Offload
from timeball.engine.execution.renew import renew
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)


async def renew_leases(context: Context, runs: Sequence[InFlight], offload: Offload) -> list[InFlight]:
    """Renew the leases of all runs in one write, or each alone if the fate of any is unknown; return the renewed ones.

    Calls that the rows ask to stop, or that are no longer ours, are cut.
    """
    try:
        rows = await offload(renew, context, [flight.run for flight in runs])
    except UnavailableError as unavailable:
        log.warning("leases not renewed together: %s", unavailable)
        renewed = await asyncio.gather(*(_renew_alone(context, flight, offload) for flight in runs))
    else:
        renewed = [_heed(context, flight, row) for flight, row in zip(runs, rows, strict=True)]
    return [flight for flight, is_renewed in zip(runs, renewed, strict=True) if is_renewed]


async def _renew_alone(context: Context, flight: InFlight, offload: Offload) -> bool:
    try:
        (row,) = await offload(renew, context, [flight.run])
    except UnavailableError as unavailable:
        log.warning("lease not renewed: %s", unavailable, extra={"run_id": str(flight.run.id)})
        return False
    return _heed(context, flight, row)


def _heed(context: Context, flight: InFlight, row: Run | None) -> bool:
    """Cut a call that is no longer ours, or that was asked to stop; return whether its lease now lasts longer."""
    if row is None:
        if flight.is_calling:
            log.warning(
                "lease lost; the call is cut", extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt}
            )
        flight.cut(None)
        return False
    flight.run = row
    if row.cancel_requested:
        moment = "before the call" if flight.called_at is None else "while it ran"
        flight.cut(flight.given_up(context.clock.now(), f"It was asked to stop {moment}."))
    return True
