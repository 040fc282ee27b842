"""The results of a tenant's runs, from hourly counts. No run is read for it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timeball.domain.model.jobs.job import Priority
from timeball.domain.usage.figures import Figures, of_reasons
from timeball.domain.usage.hours import CALLERS, WINDOWS, Counts, HourKey, added, window_from
from timeball.engine.context import Context
from timeball.engine.metrics import Metric


@dataclass(frozen=True)
class StatsWindow:
    """A window's name, its beginning (ms), and its figures: of all runs, and of the runs of each priority."""

    name: str
    from_at: int
    total: Figures
    by_priority: dict[Priority, Figures]


def read_windows(context: Context, tenant: str, now: int) -> list[StatsWindow]:
    """Return the figures of a tenant's runs within each window that ends now. Raises UnavailableError."""
    first_at = min(window_from(name, now) for name in WINDOWS)
    hours = context.store.usage.between(tenant, first_at, now)
    return [_window(name, window_from(name, now), hours) for name in WINDOWS]


def refused_callers(context: Context, tenants: Sequence[str], now: int) -> tuple[int, dict[str, int]]:
    """Return the beginning of the window (ms), and how many requests came with invalid keys of tenants, by reason."""
    from_at = window_from("day", now)
    hours = [one for tenant in tenants for one in context.store.usage.between(tenant, from_at, now)]
    counts = added(counts for key, counts in hours if key.subject == CALLERS)
    return from_at, of_reasons(counts, Metric.AUTHENTICATIONS_FAILED)


def _window(name: str, from_at: int, hours: Sequence[tuple[HourKey, Counts]]) -> StatsWindow:
    of: defaultdict[str, list[Counts]] = defaultdict(list)
    for key, counts in hours:
        if key.began_at >= from_at:
            of[key.subject].append(counts)
    by_priority = {priority: _figures(of[priority]) for priority in Priority}
    total = _figures(counts for priority in Priority for counts in of[priority])
    return StatsWindow(name, from_at, total, by_priority)


def _figures(hours: Iterable[Counts]) -> Figures:
    counts = added(hours)
    late = of_reasons(counts, Metric.LATENESS)
    return Figures(
        started=counts[Metric.RUNS_STARTED],
        succeeded=counts[Metric.RUNS_SUCCEEDED],
        retried=sum(of_reasons(counts, Metric.RUNS_RETRIED).values()),
        dead=sum(of_reasons(counts, Metric.DEAD_LETTERS).values()),
        skipped=sum(of_reasons(counts, Metric.FIRES_SKIPPED).values()),
        late={int(bound): count for bound, count in late.items()},
    )
