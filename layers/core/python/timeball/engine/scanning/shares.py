"""The tenants' shares of a bucket that holds more than a scan takes: by weight, however the bucket is filled.

After a full page, the bucket is read further without the tenants that have their share: their entries are examined in
the index and not returned, which is cheap. So a scan finds the one entry of a tenant among all the due entries of
another tenant.

Invariant: as long as reading reaches the bucket's end, a tenant gets all its due entries there, or its share. If there
are more tenants than fit in a page, each one gets something in one of the next scans.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from timeball.domain.backfill import Backfill
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.operation import Operation
from timeball.domain.sharing.fairness import in_turns, share_of
from timeball.engine.scanning import buckets
from timeball.engine.scanning.buckets import Sweeps
from timeball.ports.clock import Clock
from timeball.ports.due_index import MAX_LEFT_OUT, DuePage, DueQuery, Owned, tenant_of

Asked = list[tuple[DueQuery, DuePage]]

_READING_MS = 1_500
"""How long a scan begins to read further; the next scan continues from there."""
_FURTHER = 8
"""How many times as many entries the next query examines if a page brought few. An answer holds at most a megabyte."""
_MOST = 100_000
"""How many entries are examined at once at the most: more than fit in a megabyte."""


@dataclass(frozen=True)
class Given:
    """The input of a scan: its candidates, the pages that it read, the tenants' weights, and whether there is more."""

    candidates: list[Owned]
    asked: Asked
    weights: Mapping[str, int]
    more: bool


def shared(
    sweeps: Sweeps,
    first: Asked,
    ask: Callable[[Sequence[DueQuery]], Asked],
    clock: Clock,
    weights_of: Callable[[Sequence[str]], Mapping[str, int]],
) -> Given:
    """Read further in the buckets whose first page was full, side by side; return what is taken of each, in turns.

    Entries that failed before come on top of the shares, so that they displace nothing.
    """
    until = clock.now() + _READING_MS
    weights: dict[str, int] = {}
    asked, latest = list(first), _unfinished(first)
    taken = {query.bucket: [*page.candidates] for query, page in first}
    full = [query.bucket for query, _ in latest]
    while latest and clock.now() < until:
        _weigh(weights, chain.from_iterable(taken[query.bucket] for query, _ in latest), weights_of)
        pages = ask([_further(sweeps, query, page, taken[query.bucket], weights) for query, page in latest])
        asked += pages
        for query, page in pages:
            taken[query.bucket] += page.candidates
        latest = _unfinished(pages)
    for bucket in full:
        sweeps.cursors.pop(bucket, None)
        taken[bucket] = _cut(sweeps, bucket, taken[bucket], weights)
    sweeps.cursors.update((query.bucket, page.stopped) for query, page in latest if page.stopped is not None)
    found = dict.fromkeys(chain.from_iterable(taken.values()))
    return Given(in_turns(found, tenant_of, weights), asked, weights, more=bool(full))


def _unfinished(pages: Asked) -> Asked:
    """Return the pages after which their bucket has more entries."""
    return [(query, page) for query, page in pages if page.stopped is not None]


def _weigh(
    weights: dict[str, int], taken: Iterable[Owned], weights_of: Callable[[Sequence[str]], Mapping[str, int]]
) -> None:
    """Add the weights of the tenants that appear for the first time. A tenant without a weight has weight 1."""
    new = [tenant for tenant in dict.fromkeys(map(tenant_of, taken)) if tenant not in weights]
    if new:
        weights |= dict.fromkeys(new, 1) | dict(weights_of(new))


def _further(
    sweeps: Sweeps, query: DueQuery, page: DuePage, taken: Sequence[Owned], weights: Mapping[str, int]
) -> DueQuery:
    """Return the query after a page. It leaves out tenants that have their share, or the largest of them."""
    failed = sweeps.failed.get(query.bucket, frozenset())
    counted = Counter(tenant_of(one) for one in taken if one not in failed)
    shares = share_of(buckets.PAGE, {tenant: weights[tenant] for tenant in counted})
    served = [tenant for tenant, count in counted.most_common() if count >= shares[tenant]]
    brought_little = len(page.candidates) < buckets.PAGE or query.after is None
    return replace(
        query,
        limit=min(query.limit * (_FURTHER if brought_little else 1), _MOST),
        after=sweeps.cursors.pop(query.bucket, page.stopped) if query.after is None else page.stopped,
        left_out=frozenset(served[:MAX_LEFT_OUT]),
    )


def _cut(sweeps: Sweeps, bucket: tuple[int, int], taken: Sequence[Owned], weights: Mapping[str, int]) -> list[Owned]:
    """Cut the entries taken from a bucket to a page, in turns; entries that failed before come on top.

    If there are more tenants than fit in a page, the tenants after the last one served come first.
    """
    failed = sweeps.failed.get(bucket, frozenset())
    fresh = list(dict.fromkeys(one for one in taken if one not in failed))
    last = sweeps.last_served.pop(bucket, "")
    is_crowded = len({tenant_of(one) for one in fresh}) > buckets.PAGE
    if is_crowded:
        fresh.sort(key=lambda one: (tenant_of(one) <= last, tenant_of(one)))
    cut = in_turns(fresh, tenant_of, weights)[: buckets.PAGE]
    if is_crowded:
        sweeps.last_served[bucket] = tenant_of(cut[-1])
    return cut + [one for one in taken if one in failed]


def owner_of(item: Owned | Job | Run | Backfill | Operation | Limiter) -> Owned:
    """Return the key of a due row, or the key itself."""
    if isinstance(item, Job | Backfill | Operation | Limiter):
        return item.key
    return item.id if isinstance(item, Run) else item


def tenant_of_row(row: Job | Run | Backfill | Operation | Limiter) -> str:
    """Return the tenant of a due row."""
    return tenant_of(owner_of(row))
