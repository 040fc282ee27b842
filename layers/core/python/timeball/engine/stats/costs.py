"""Recent costs of a tenant and of a job. A tenant's costs are counted by the hour; a job's are in its ledger.

Neither costs a run a write. If a job has more rows than are read here, its costs are estimated from the newest rows.
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
"""How many rows of a ledger one request reads: at most about 200 read units."""


@dataclass(frozen=True)
class Costs:
    """The counts (bill.py) of a window that ends now and began at `from_at` (ms); an estimate unless `is_exact`."""

    window: str
    from_at: int
    counts: Mapping[str, float]
    is_exact: bool = True


def tenant_costs(context: Context, tenant: str, now: int) -> list[Costs]:
    """Return the costs of a tenant's runs and requests, without counts that were lost. Raises UnavailableError."""
    begins = {name: window_from(name, now) for name in COST_WINDOWS}
    hours = context.store.usage.between(tenant, min(begins.values()), now)
    found = []
    for name, from_at in begins.items():
        counts = added(counts for key, counts in hours if key.began_at >= from_at)
        found.append(Costs(name, from_at, {one: counts[one] for one in Counted if one in counts}, is_exact=False))
    return found


def job_costs(context: Context, job: Job, now: int) -> list[Costs]:
    """Return the costs of a job's fires within each window. Raises UnavailableError."""
    begins = {name: window_from(name, now) for name in COST_WINDOWS}
    page = context.store.runs.ledger(LedgerQuery(job.key, MOST_ROWS, min(begins.values()), now))
    return [_costs(job, name, page.runs, has_more=page.next_before is not None, now=now) for name in begins]


def _costs(job: Job, window: str, newest: Sequence[Run], *, has_more: bool, now: int) -> Costs:
    """Add up the rows of a window. If it has more rows than were read, extrapolate from the rows that were."""
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
