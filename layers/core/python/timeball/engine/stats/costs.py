"""What a tenant and a job have cost lately. A tenant's costs were counted by the hour; a job's stand in its ledger.

Neither costs a run a write. A job that has more rows than are read here is reckoned from the newest ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.usage.bill import Counted, counts_of
from timeball.domain.usage.hours import added, window_from
from timeball.domain.usage.spending import spent_by
from timeball.engine.context import Context
from timeball.ports.collections.runs import LedgerQuery

COST_WINDOWS: Final = ("day", "month")
MOST_ROWS: Final = 1_000
"""Of a ledger that one question reads: some 200 read units at the most."""


@dataclass(frozen=True)
class Costs:
    """What was counted (bill.py) within a window that ends now, and began at `from_at` (ms); or what that is likely."""

    window: str
    from_at: int
    counts: Mapping[str, float]
    is_exact: bool = True


def tenant_costs(context: Context, tenant: str, now: int) -> list[Costs]:
    """Return what a tenant's runs and requests have cost, but for lost counts. Raises UnavailableError."""
    begins = {name: window_from(name, now) for name in COST_WINDOWS}
    hours = context.store.usage.between(tenant, min(begins.values()), now)
    found = []
    for name, from_at in begins.items():
        counts = added(counts for key, counts in hours if key.began_at >= from_at)
        found.append(Costs(name, from_at, {one: counts[one] for one in Counted if one in counts}, is_exact=False))
    return found


def job_costs(context: Context, job: Job, now: int) -> list[Costs]:
    """Return what the fires of a job within each window have cost. Raises UnavailableError."""
    begins = {name: window_from(name, now) for name in COST_WINDOWS}
    page = context.store.runs.ledger(LedgerQuery(job.key, MOST_ROWS, min(begins.values()), now))
    return [_costs(job, name, page.runs, has_more=page.next_before is not None, now=now) for name in begins]


def _costs(job: Job, window: str, newest: Sequence[Run], *, has_more: bool, now: int) -> Costs:
    """Add up the rows of a window; if they go on beyond those that were read, at the pace of these."""
    from_at = window_from(window, now)
    counts: Counter[str] = Counter()
    for row in newest:
        if row.id.fire_at >= from_at:
            counts.update(counts_of(spent_by(row)))
    if not has_more or newest[-1].id.fire_at < from_at:
        return Costs(window, from_at, counts)
    known_ms, all_ms = (now - at for at in (newest[-1].id.fire_at, max(from_at, job.created_at)))
    part = max(1.0, all_ms / max(1, known_ms))
    return Costs(window, from_at, {name: count * part for name, count in counts.items()}, is_exact=False)
