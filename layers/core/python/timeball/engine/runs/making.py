"""Count the runs that events and fan-outs make, before they are made, if a quota of their tenant bounds them.

A page is counted as a whole, or not at all: it is made in a later minute then. A page that is made again after a crash,
or because it could not be stored, counts twice.
"""

from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.sharing.making import most_made
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.ports.registers.windows import CountWindow

_NAME = "made-runs"


def room_at(context: Context, tenant: str, quotas: Quotas, amount: int, now: int) -> int:
    """Count runs that are about to be made; return `now`, or the start of the next minute if this one has no room.

    Raises UnavailableError.
    """
    most = most_made(quotas)
    if not most:
        return now
    window = CountWindow(tenant, _NAME, now - now % MINUTE_MS, 60)
    return now if context.store.windows.take(window, amount, most) else window.ends_at
