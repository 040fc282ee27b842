"""Figures of a tenant that cost its runs no write: results, costs, jobs by status, and the use of quotas.

Results and the tenant's costs come from hourly counts. The costs of one job come from its ledger; if it has more rows
than are read here, they are estimated from the newest rows. The use of quotas comes from the rows that enforce them.
How many jobs are open, or ended in which way, is estimated by the listing; the statuses of open jobs come from a sample
of SAMPLED jobs, and are exact if there are no more than that.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.backfill import BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.jobs.job import OPEN, Job, JobStatus, Priority
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.limiter import new_limiter
from timeball.domain.model.runs.notable import ordered_at
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.sharing.slots_and_tokens import tokens_taken, under_way
from timeball.domain.sharing.stated_limits import bounds_of, is_bound
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.usage.bill import Counted, counts_of
from timeball.domain.usage.hours import (
    CALLERS,
    MISSED,
    WINDOWS,
    Counts,
    Figures,
    HourKey,
    added,
    hour_of,
    is_short,
    of_reasons,
    window_from,
)
from timeball.domain.usage.spending import Estimate, part_of, spent_by
from timeball.engine.context import Context
from timeball.engine.metrics import Metric
from timeball.engine.objective.overdue import Overdue, OverdueStart
from timeball.engine.objective.short_counts import since
from timeball.engine.runs.notable_runs import RunFilter, Span, notable_runs
from timeball.engine.scheduling.list_jobs import RUNNING, shown_statuses
from timeball.ports.collections import LedgerQuery
from timeball.ports.due_index import DueQuery, Owned, tenant_of
from timeball.ports.rows import Id

COST_WINDOWS: Final = ("day", "month")

MOST_ROWS: Final = 1_000
"""How many rows of a ledger one request reads: at most about 200 read units."""

SAMPLED: Final = 1_000

MOST_LIVE: Final = 300
"""How many live runs one request counts: at most about 40 read units."""

UNDER_WAY: Final = frozenset({RunState.RUNNING, RunState.RETRYING})
"""The states of runs that have begun."""
WAITING: Final = frozenset({RunState.QUEUED})
"""The state of runs that may begin."""
_NONE_OVERDUE: Final = Overdue(())

_CANDIDATES = 20
"""How many overdue entries of a shard are examined, of all tenants."""
_OVERDUE = 2
"""The most rows that are read for a tenant's entries in a shard: an entry may stand although its row has moved on."""


@dataclass(frozen=True)
class Costs:
    """The counts (bill.py) of a window that ends now and began at `from_at` (ms); an estimate unless `is_exact`."""

    window: str
    from_at: int
    counts: Mapping[str, float]
    is_exact: bool = True


@dataclass(frozen=True)
class StatsWindow:
    """A window's name, its beginning (ms), and its figures: of all runs, and of the runs of each priority."""

    name: str
    from_at: int
    total: Figures
    by_priority: dict[Priority, Figures]


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


@dataclass(frozen=True)
class LiveRuns:
    """The notable runs of a tenant in some live states: how many, and since when the oldest (ms; None: no run)."""

    count: int
    is_exact: bool
    oldest_at: int | None


def live_runs(context: Context, tenant: str, states: frozenset[RunState]) -> LiveRuns:
    """Count runs in some live states whose start has come; not exact from MOST_LIVE on. Raises UnavailableError.

    The index has no plain run that is on time and runs for seconds only.
    """
    span = Span(to_at=context.clock.now(), oldest_first=True)
    rows = next(notable_runs(context, RunFilter(tenant, states), MOST_LIVE, span), [])
    return LiveRuns(len(rows), len(rows) < MOST_LIVE, ordered_at(rows[0]) if rows else None)


def count_jobs(context: Context, tenant: str) -> dict[str, Estimate]:
    """Return how many jobs a tenant has in each status. Raises UnavailableError."""
    counted = context.store.jobs.count(tenant)
    ended = {part.value: estimate for part, estimate in counted.parts.items() if part is not Among.OPEN}
    standing = _open(context, tenant, counted.parts[Among.OPEN])
    return {**standing, JobStatus.COMPLETED.value: counted.completed, **ended}


def used_of_quotas(context: Context, tenant: str, quotas: Quotas) -> dict[str, int]:
    """Return how much of each quota is used, by the name of its field. Raises UnavailableError.

    The quotas of runs appear only if the tenant has them: otherwise no row records which runs begin.
    """
    active = context.store.jobs.count(tenant).parts[Among.OPEN]
    slots = context.store.slots.read([tenant])[0]
    named = context.store.backfills.read([] if slots is None else slots.named)
    running = [one for one in named if one is not None and one.status is BackfillStatus.RUNNING]
    patterns = context.store.patterns.read([tenant])[0]
    used = {
        "active_jobs": active.count,
        "running_backfills": len(running),
        "event_patterns": 0 if patterns is None else len(patterns.noted),
    }
    if quotas.submits_per_second or quotas.active_jobs:
        second = context.clock.now() // SECOND_MS * SECOND_MS
        used["submits_per_second"] = context.store.submit_budgets.read(tenant).taken.get(second, 0)
    if is_bound(quotas):
        used |= _of_runs(context, tenant, quotas)
    return used


def read_windows(
    context: Context, tenant: str, now: int, names: Sequence[str] = tuple(WINDOWS), overdue: Overdue = _NONE_OVERDUE
) -> list[StatsWindow]:
    """Return the figures of a tenant's runs, and of overdue starts, within windows that end now.

    Raises UnavailableError.
    """
    first_at = min(hour_of(window_from(name, now)) for name in names)
    hours = context.store.usage.between(tenant, first_at, now)
    return [_window(name, hours, overdue.starts, now) for name in names]


def refused_callers(context: Context, tenants: Sequence[str], now: int) -> tuple[int, dict[str, int]]:
    """Return the beginning of the window (ms), and how many requests came with invalid keys of tenants, by reason."""
    from_at = window_from("day", now)
    hours = [one for tenant in tenants for one in context.store.usage.between(tenant, from_at, now)]
    counts = added(counts for key, counts in hours if key.subject == CALLERS)
    return from_at, of_reasons(counts, Metric.AUTHENTICATIONS_FAILED)


def oldest_due(context: Context, tenant: str, now: int) -> int | None:
    """Return when the oldest of a tenant's overdue entries was due; None: there is none. As `oldest_dues`."""
    return oldest_dues(context, [tenant], now).get(tenant)


def oldest_dues(context: Context, tenants: Collection[str], now: int, candidates: int = _CANDIDATES) -> dict[str, int]:
    """Return when the oldest overdue entry of each tenant was due, of those that have one.

    The first `candidates` of each shard and day are examined, of all tenants. The index also has entries whose rows
    have moved on: the rows decide. Raises UnavailableError.
    """
    named = list[Owned]()
    for page in context.store.due.query(_days(context, now, candidates)):
        taken = Counter[str]()
        for one in page.candidates:
            taken[tenant_of(one)] += 1
            if tenant_of(one) in tenants and taken[tenant_of(one)] <= _OVERDUE:
                named.append(one)
    jobs, runs = _of_kind(JobKey, named), _of_kind(RunId, named)
    rows = [*context.store.jobs.read(jobs, strong=False), *context.store.runs.read(runs, strong=False)]
    found: dict[str, int] = {}
    keys: list[Owned] = [*jobs, *runs]
    for key, row in zip(keys, rows, strict=True):
        if row is not None and row.due_at is not None and row.due_at <= now:
            found[tenant_of(key)] = min(row.due_at, found.get(tenant_of(key), now))
    return found


def _days(context: Context, now: int, candidates: int) -> list[DueQuery]:
    """Return what to ask each shard for what is due: the oldest day that may have entries, and the last two days."""
    today, oldest = now - now % DAY_MS, context.store.due.read_oldest_days(range(context.rules.shards))
    return [
        DueQuery(shard, day_at, now, candidates)
        for shard in range(context.rules.shards)
        for day_at in sorted({min(today, oldest.get(shard, today)), today - DAY_MS, today})
    ]


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


def _open(context: Context, tenant: str, in_all: Estimate) -> dict[str, Estimate]:
    """Return how many of the open jobs are shown in each status."""
    statuses = [*sorted(OPEN), RUNNING]
    sampled = context.store.jobs.sample_open(tenant, SAMPLED) if in_all.count else []
    jobs = [job for job in context.store.jobs.read(sampled, strong=False) if job is not None]
    if not jobs:
        return {status: Estimate(0) for status in statuses} | {JobStatus.PENDING.value: in_all}
    shown = Counter(shown_statuses(context, jobs).values())
    return {status: part_of(in_all, len(jobs), shown[status]) for status in statuses}


def _of_runs(context: Context, tenant: str, quotas: Quotas) -> dict[str, int]:
    now, key, used = context.clock.now(), LimiterKey(tenant), dict[str, int]()
    limiter = context.store.limiters.read([key])[0] or new_limiter(key, context.shards)
    if quotas.runs_per_second:
        used["runs_per_second"] = tokens_taken(evolve(limiter, said=bounds_of(quotas)), now)
    if quotas.runs_at_once:
        rows = context.store.runs.read([one.run for one in limiter.begun]) if limiter.begun else []
        used["runs_at_once"] = under_way(limiter, rows, now)
    return used


def _window(
    name: str, hours: Sequence[tuple[HourKey, Counts]], overdue: Sequence[OverdueStart], now: int
) -> StatsWindow:
    from_at, is_coarse = window_from(name, now), is_short(name)
    of = _by_subject(hours, from_at, is_coarse=is_coarse)
    due = [start for start in overdue if start.due_at >= from_at]
    late = {one: [now - start.due_at for start in due if start.priority == one] for one in Priority}
    by_priority = {one: _figures(of[one], late[one], is_coarse=is_coarse) for one in Priority}
    every = [counts for one in Priority for counts in of[one]]
    total = _figures(every, [now - start.due_at for start in due], is_coarse=is_coarse)
    return StatsWindow(name, from_at, total, by_priority)


def _by_subject(
    hours: Sequence[tuple[HourKey, Counts]], from_at: int, *, is_coarse: bool
) -> defaultdict[str, list[Counts]]:
    """Return the counts from an instant on, by subject."""
    of: defaultdict[str, list[Counts]] = defaultdict(list)
    for key, counts in hours:
        if key.began_at >= hour_of(from_at):
            of[key.subject].append(since(key, counts, from_at) if is_coarse else counts)
    return of


def _figures(hours: Iterable[Counts], overdue: Sequence[int], *, is_coarse: bool) -> Figures:
    counts = added(hours)
    late = of_reasons(counts, Metric.LATENESS)
    return Figures(
        started=counts[Metric.RUNS_STARTED],
        succeeded=counts[Metric.RUNS_SUCCEEDED],
        retried=sum(of_reasons(counts, Metric.RUNS_RETRIED).values()),
        dead=sum(of_reasons(counts, Metric.DEAD_LETTERS).values()),
        skipped=sum(of_reasons(counts, Metric.FIRES_SKIPPED).values()),
        late={int(bound): count for bound, count in late.items()},
        missed=counts[MISSED],
        overdue=tuple(overdue),
        is_coarse=is_coarse,
    )


def _of_kind(kind: type[Id], named: Sequence[object]) -> list[Id]:
    """Return the entries of one kind."""
    return [one for one in named if isinstance(one, kind)]
