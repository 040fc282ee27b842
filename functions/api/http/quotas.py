"""Quotas of tenants: what is over one is refused, with its name, and nothing of it is done.

Where there is a bound, each request that it is about costs one write, which counts exactly; where there is none,
nothing is counted. A fire is never counted.
"""

from typing import Final

from functions.api.http.edge import Edge
from functions.api.http.problems import over_quota
from functions.api.http.request import Request
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.windows import Window

SUBMITS: Final = "submitsPerSecond"


def count_submits(edge: Edge, request: Request, amount: int) -> None:
    """Count jobs that a tenant is about to submit. Raises ProblemError if they are too many for this second."""
    own = request.quotas.submits_per_second
    most = edge.context.rules.submits_per_second if own is None else own
    if not most or not amount:
        return
    now = edge.context.clock.now()
    window = Window(request.tenant, SUBMITS, now - now % SECOND_MS, 1)
    if amount > most:
        raise over_quota(SUBMITS, f"You may submit {most} jobs a second; send fewer at once.", 1)
    if not edge.context.store.windows.take(window, amount, most):
        raise over_quota(SUBMITS, f"You may submit {most} jobs a second; send this again a second later.", 1)
