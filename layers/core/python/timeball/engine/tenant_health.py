"""The health of tenants, for its operators: how many runs are late or dead, and nothing of what they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.runs.run import RunState
from timeball.domain.usage.attention import LateRuns, counted_late, of_run
from timeball.domain.usage.spending import Estimate
from timeball.engine.context import Context
from timeball.engine.now import explained
from timeball.engine.runs.notable_runs import RunFilter, Span, notable_runs
from timeball.engine.stats import oldest_dues

MOST_EXAMINED: Final = 50
"""How many runs of a tenant are examined that have not started although their start has come: those that wait longest.
At most some nine read units."""
_EXPLAINED: Final = 20
"""How many late runs of a tenant are explained by their jobs: each costs half a read unit."""
_CANDIDATES: Final = 200
"""How many overdue entries of a shard and day are examined, of all tenants."""


@dataclass(frozen=True)
class TenantHealth:
    """The health of one tenant."""

    tenant: str
    """Its name."""
    runs: LateRuns
    """Its late runs, at least."""
    is_exact: bool
    """Whether all late runs were counted."""
    dead: Estimate
    """Its dead letters."""
    oldest_due_at: int | None
    """When its oldest overdue entry was due (ms); None: there is none among the first of all tenants."""


def read_health(context: Context, tenants: Sequence[str]) -> list[TenantHealth]:
    """Return the health of each tenant. Raises UnavailableError."""
    oldest = oldest_dues(context, tenants, context.clock.now(), _CANDIDATES) if tenants else {}
    return [_of(context, tenant, oldest.get(tenant)) for tenant in tenants]


def _of(context: Context, tenant: str, oldest_due_at: int | None) -> TenantHealth:
    now = context.clock.now()
    span = Span(to_at=now, oldest_first=True)
    rows = next(notable_runs(context, RunFilter(tenant, frozenset({RunState.QUEUED})), MOST_EXAMINED, span), [])
    found = [one for run in rows if (one := of_run(run, now, None, context.rules.margin_ms)) is not None]
    late = counted_late(explained(context, found, now, _EXPLAINED))
    dead = context.store.runs.count_dead_letters(tenant)
    return TenantHealth(tenant, late, len(rows) < MOST_EXAMINED, dead, oldest_due_at)
