"""The engine's metrics by name, and the code that records them. docs/runs.md lists them from here.

A move of a run is recorded by the process that wrote it, after the write succeeded. A process that finds it written
records nothing. So each move is recorded once, or not at all if the answer to the write was lost.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from timeball.domain.model.ids import Origin
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Outcome, Spent
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.bill import Counted, counts_of
from timeball.domain.usage.hours import CALLERS
from timeball.domain.usage.spending import spent_by
from timeball.engine.context import Context
from timeball.ports.rows import Swap, Swapped
from timeball.ports.telemetry import Measurement

log = logging.getLogger(__name__)


class Metric(StrEnum):
    """The name of a metric: a timing in ms, or a count. Most counts have a reason."""

    LATENESS = "Lateness"
    RUNS_STARTED = "RunsStarted"
    RUNS_SUCCEEDED = "RunsSucceeded"
    FIRES_SKIPPED = "FiresSkipped"
    RUNS_RETRIED = "RunsRetried"
    RUNS_TAKEN_OVER = "RunsTakenOver"
    DEAD_LETTERS = "DeadLetters"
    AUTHENTICATIONS_FAILED = "AuthenticationsFailed"


MEANINGS: Mapping[Metric, tuple[str, str, str]] = {
    Metric.LATENESS: (
        "ms",
        "Start of a run's first attempt minus when it could start, once a run. Not of backfills and caught-up fires.",
        "",
    ),
    Metric.RUNS_STARTED: ("count", "Runs whose first attempt has begun, recorded when it ends or is handed on.", ""),
    Metric.RUNS_SUCCEEDED: ("count", "Runs that succeeded.", ""),
    Metric.FIRES_SKIPPED: ("count", "Fires that did not become a run, or whose run never started.", "why"),
    Metric.RUNS_RETRIED: ("count", "Attempts that were followed by a wait for the next one.", "how the attempt ended"),
    Metric.RUNS_TAKEN_OVER: ("count", "Attempts that another executor repeated.", "how the attempt ended"),
    Metric.DEAD_LETTERS: ("count", "Runs that failed for good.", "why"),
    Metric.AUTHENTICATIONS_FAILED: (
        "count",
        "Requests with an `Authorization` header that is not valid; requests without one are not counted.",
        "`malformed`, `unknown`, `expired` or `revoked`",
    ),
}
"""For each metric: its unit, what it means, and what its dimension `reason` holds."""


def skipped(context: Context, row: Run, count: int) -> None:
    """Record that `count` fires of a job, from a row's fire on, were skipped for the row's reason."""
    if row.reason is None:
        return
    log.info(
        "skipped",
        extra={
            "tenant": row.id.job.tenant,
            "job_id": row.id.job.job_id,
            "reason": row.reason.value,
            "count": count,
            "fire_time": format_instant(row.id.fire_at),
        },
    )
    context.telemetry.note([_event(row, Metric.FIRES_SKIPPED, row.reason, count), *_costs(row, spent_by(row))])


def moved(context: Context, swaps: Sequence[Swap[Run]], swapped: Sequence[Swapped[Run]]) -> None:
    """Record the written changes of runs: how late they started, how they ended, which were skipped, and why."""
    events: list[Measurement] = []
    for before, after in ((swap.before, swap.after) for swap, one in zip(swaps, swapped, strict=True) if one.done):
        if after.state is RunState.SKIPPED and not before.is_terminal:
            skipped(context, after, after.count)
        events += (*_events(before, after), *_costs(after, after.spent.beyond(before.spent)))
    if events:
        context.telemetry.note(events)


def answered(context: Context, tenant: str, took_ms: int) -> None:
    """Record a request of a tenant's caller for its cost. It is no metric that people watch."""
    context.telemetry.note(
        [
            Measurement(Counted.API_REQUESTS, tenant, CALLERS, 1, watched=False),
            Measurement(Counted.API_MS, tenant, CALLERS, took_ms, watched=False),
        ]
    )


def refused(context: Context, tenant: str, reason: str) -> None:
    """Record a request whose key is not valid. The tenant is UNKNOWN_TENANT if no tenant has the key."""
    context.telemetry.note([Measurement(Metric.AUTHENTICATIONS_FAILED, tenant, CALLERS, 1, reason)])


def _events(before: Run, after: Run) -> Iterator[Measurement]:
    if before.first_started_at is None and after.first_started_at is not None:
        yield from _start_events(after)
    match after.state:
        case RunState.SUCCEEDED if not before.is_terminal:
            yield _event(after, Metric.RUNS_SUCCEEDED)
        case RunState.RUNNING if before.state is RunState.RUNNING and after.attempt > before.attempt:
            yield _event(after, Metric.RUNS_TAKEN_OVER, Outcome.LOST)
        case RunState.RETRYING if before.state is RunState.RUNNING and after.last is not None:
            yield _event(after, Metric.RUNS_RETRIED, after.last.outcome)
        case RunState.FAILED if after.is_dead_letter and not before.is_dead_letter and after.reason is not None:
            yield _event(after, Metric.DEAD_LETTERS, after.reason)


def _start_events(run: Run) -> Iterator[Measurement]:
    yield _event(run, Metric.RUNS_STARTED)
    late_ms = run.lateness_ms
    if late_ms is not None and run.id.origin is not Origin.BACKFILL:
        yield Measurement(Metric.LATENESS, run.id.job.tenant, run.priority, late_ms, is_timing=True)


def _costs(run: Run, spent: Spent) -> Iterator[Measurement]:
    """Yield the costs to add to the row of the run's hour, which is written anyway."""
    for name, count in counts_of(spent).items():
        if count:
            yield Measurement(name, run.id.job.tenant, run.priority, count, watched=False)


def _event(run: Run, metric: Metric, reason: StrEnum | None = None, count: int = 1) -> Measurement:
    return Measurement(metric, run.id.job.tenant, run.priority, count, "" if reason is None else reason.value)
