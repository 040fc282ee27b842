"""What people watch: the engine's metrics by name, and what is told of each. docs/runs.md lists them from here.

A move of a run is told by whoever wrote it, once that is done: so once, but where the write's answer was lost.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from timeball.domain.model.attempt import Outcome
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.time.instants import format_instant
from timeball.engine.context import Context
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)


class Metric(StrEnum):
    """The name of a metric: of a timing in ms, or of a count with its reason."""

    LATENESS = "Lateness"
    FIRES_SKIPPED = "FiresSkipped"
    RUNS_RETRIED = "RunsRetried"
    RUNS_TAKEN_OVER = "RunsTakenOver"
    DEAD_LETTERS = "DeadLetters"


MEANINGS: Mapping[Metric, tuple[str, str, str]] = {
    Metric.LATENESS: (
        "ms",
        "Start of a run's first attempt minus its fire time, once for each run. Those of backfills are left out.",
        "",
    ),
    Metric.FIRES_SKIPPED: ("count", "Fires that did not become a run, or whose run never started.", "why"),
    Metric.RUNS_RETRIED: ("count", "Attempts that were followed by a wait for the next one.", "how the attempt ended"),
    Metric.RUNS_TAKEN_OVER: ("count", "Attempts that another executor made anew.", "how the attempt ended"),
    Metric.DEAD_LETTERS: ("count", "Runs that failed for good.", "why"),
}
"""Of each: its unit, what it says, and what its dimension `reason` holds."""


def skipped(context: Context, job: JobKey, reason: Reason, count: int, fire_at: int) -> None:
    """Tell that so many fires of a job, from `fire_at` on, were skipped, for the reason that the ledger has too."""
    log.info(
        "skipped",
        extra={
            "tenant": job.tenant,
            "job_id": job.job_id,
            "reason": reason.value,
            "count": count,
            "fire_time": format_instant(fire_at),
        },
    )
    context.telemetry.count(Metric.FIRES_SKIPPED, count, reason.value)


def moved(context: Context, done: Sequence[Swap[Run]]) -> None:
    """Tell of what was written about runs: how late they started; which were skipped, tried again or died, and why."""
    for before, after in ((swap.before, swap.after) for swap in done):
        if after.state is RunState.SKIPPED and not before.is_terminal and after.reason is not None:
            skipped(context, after.id.job, after.reason, after.count, after.id.fire_at)
    late = [late_ms for swap in done if (late_ms := _lateness_ms(swap.before, swap.after)) is not None]
    if late:
        context.telemetry.time(Metric.LATENESS, late)
    counted = Counter(found for swap in done if (found := _counted(swap.before, swap.after)) is not None)
    for (metric, reason), count in counted.items():
        context.telemetry.count(metric, count, reason)


def _lateness_ms(before: Run, after: Run) -> int | None:
    is_first = before.first_started_at is None and after.id.origin is not Origin.BACKFILL
    return after.lateness_ms if is_first else None


def _counted(before: Run, after: Run) -> tuple[Metric, str] | None:
    if before.state is RunState.RUNNING and after.state is RunState.RUNNING and after.attempt > before.attempt:
        return Metric.RUNS_TAKEN_OVER, Outcome.LOST.value
    if before.state is RunState.RUNNING and after.state is RunState.RETRYING and after.last is not None:
        return Metric.RUNS_RETRIED, after.last.outcome.value
    if after.is_dead_letter and not before.is_dead_letter and after.reason is not None:
        return Metric.DEAD_LETTERS, after.reason.value
    return None
