"""The engine's metrics by name, and the code that records them. docs/concepts/runs.md lists them from here.

A move of a run is recorded by the process that wrote it, after the write succeeded. A process that finds it written
records nothing. So each move is recorded once, or not at all if the answer to the write was lost.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import GATE_NAMES, NO_WAITS, Outcome, Spent
from timeball.domain.sharing.capacity import CAPACITY
from timeball.domain.time.instants import format_instant
from timeball.domain.usage.bill import Counted, counts_of
from timeball.domain.usage.hours import CALLERS, MISSED
from timeball.domain.usage.spending import spent_by
from timeball.engine.context import Context
from timeball.ports.rows import Swap, Swapped
from timeball.ports.telemetry import Measurement

log = logging.getLogger(__name__)


class Metric(StrEnum):
    """The name of a metric: a timing in ms, a count, or a level. Some have a reason, or are split by priority."""

    TICKS = "Ticks"
    PARTITIONS_SILENT = "PartitionsSilent"
    OLDEST_DUE = "OldestDue"
    SCAN_MS = "ScanMs"
    SCAN_BACKLOG = "ScanBacklog"
    LATENESS = "Lateness"
    AGE_AT_CLAIM = "AgeAtClaim"
    WAITED = "Waited"
    SLOTS = "Slots"
    SLOTS_IN_USE = "SlotsInUse"
    RUNS_STARTED = "RunsStarted"
    RUNS_SUCCEEDED = "RunsSucceeded"
    FIRES_SKIPPED = "FiresSkipped"
    RUNS_RETRIED = "RunsRetried"
    RUNS_TAKEN_OVER = "RunsTakenOver"
    RUNS_UNCLAIMED = "RunsUnclaimed"
    WATCH_RESENDS = "WatchResends"
    DEAD_LETTERS = "DeadLetters"
    CIRCUITS_OPEN = "CircuitsOpen"
    THROTTLED = "Throttled"
    AUTHENTICATIONS_FAILED = "AuthenticationsFailed"
    CANARY_DELAY = "CanaryDelay"


class Detail(StrEnum):
    """How many metrics are shown."""

    OFF = "off"  # none
    BASIC = "basic"  # those that alarms need, each as one series
    FULL = "full"  # all, each also by its reason or by priority


@dataclass(frozen=True)
class Meaning:
    """What a metric says."""

    unit: str
    """Its unit."""
    sentence: str
    """What it means."""
    reason: str = ""
    """The meaning of its dimension `reason`; empty: it has no such dimension."""
    is_basic: bool = False
    """An alarm needs it."""
    by_priority: bool = False
    """Its values differ by priority."""

    @property
    def dimension(self) -> str | None:
        """The dimension by which it is split, if any."""
        return "reason" if self.reason else "priority" if self.by_priority else None


MEANINGS: Mapping[Metric, Meaning] = {
    Metric.TICKS: Meaning(
        "count", "Scans that a tick asked for and that were done, whether or not they found anything.", is_basic=True
    ),
    Metric.PARTITIONS_SILENT: Meaning(
        "count",
        "Checks by a scan, each ten seconds, that found the next partition without a tick for half a minute; absent "
        "while all partitions are scanned.",
        is_basic=True,
    ),
    Metric.OLDEST_DUE: Meaning(
        "ms",
        "How long ago the oldest job or run that a scan found should have been processed; absent while nothing is "
        "overdue.",
        is_basic=True,
        by_priority=True,
    ),
    Metric.SCAN_MS: Meaning("ms", "How long a scan took."),
    Metric.SCAN_BACKLOG: Meaning("count", "Scans that left work to the next one; 0 if there was none."),
    Metric.LATENESS: Meaning(
        "ms",
        "Start of a run's first attempt minus when it could start, once a run. Not of backfills and caught-up fires.",
        is_basic=True,
        by_priority=True,
    ),
    Metric.AGE_AT_CLAIM: Meaning(
        "ms", "How long after a run could start an executor claimed its first attempt.", by_priority=True
    ),
    Metric.WAITED: Meaning("ms", "How long a gate held a run before its first attempt.", "the gate"),
    Metric.SLOTS: Meaning("level", "Runs that an executor can hold at once."),
    Metric.SLOTS_IN_USE: Meaning("level", "Most runs that an executor has held at once, each ten seconds."),
    Metric.RUNS_STARTED: Meaning("count", "Runs whose first attempt has begun, recorded when it ends or is handed on."),
    Metric.RUNS_SUCCEEDED: Meaning("count", "Runs that succeeded."),
    Metric.FIRES_SKIPPED: Meaning("count", "Fires that did not become a run, or whose run never started.", "why"),
    Metric.RUNS_RETRIED: Meaning(
        "count", "Attempts that were followed by a wait for the next one.", "how the attempt ended"
    ),
    Metric.RUNS_TAKEN_OVER: Meaning("count", "Attempts that another executor repeated.", "how the attempt ended"),
    Metric.RUNS_UNCLAIMED: Meaning(
        "count",
        "Checks by a watch that found a run which no executor had claimed 15 s after it could be claimed.",
        is_basic=True,
        by_priority=True,
    ),
    Metric.WATCH_RESENDS: Meaning("count", "Runs that a watch has sent again."),
    Metric.DEAD_LETTERS: Meaning("count", "Runs that failed for good.", "why", is_basic=True),
    Metric.CIRCUITS_OPEN: Meaning("count", "How often the circuit of a resource opened."),
    Metric.THROTTLED: Meaning(
        "count", "Requests to AWS that it refused because there were too many, each try.", is_basic=True
    ),
    Metric.AUTHENTICATIONS_FAILED: Meaning(
        "count",
        "Requests with an `Authorization` header that is not valid; requests without one are not counted.",
        "`malformed`, `unknown`, `expired` or `revoked`",
        is_basic=True,
    ),
    Metric.CANARY_DELAY: Meaning(
        "ms", "How long after or before its fire time a run of the canary reached its function.", is_basic=True
    ),
}
"""What each metric means."""


def shown_metrics(detail: Detail) -> dict[str, str | None]:
    """Return the metrics that are shown, each with the dimension by which it is split as well."""
    if detail is Detail.OFF:
        return {}
    is_full = detail is Detail.FULL
    return {
        name.value: meaning.dimension if is_full else None
        for name, meaning in MEANINGS.items()
        if is_full or meaning.is_basic
    }


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


def missed(context: Context, row: Run, job: Job, count: int) -> None:
    """Record skipped fires that count against the objective: Timeball ran nothing when they were due.

    A fire from before the newest change of its job does not count: a pause may have let it pass. It is no metric that
    people watch: they watch the skipped fires.
    """
    if row.reason is Reason.MISFIRED and row.regular_at >= job.change.at:
        context.telemetry.note([Measurement(MISSED, row.id.job.tenant, row.priority, count, watched=False)])


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


def watched(context: Context, unclaimed: Sequence[Run], sent_again: int) -> None:
    """Record the runs that a watch found unclaimed, and how many of them it has sent again."""
    found = Counter(run.priority for run in unclaimed)
    events = [_shown(Metric.RUNS_UNCLAIMED, count, priority) for priority, count in found.items()]
    if sent_again:
        events.append(_shown(Metric.WATCH_RESENDS, sent_again))
    if events:
        context.telemetry.note(events)


def circuit_opened(context: Context) -> None:
    """Record that the circuit of a resource has opened."""
    context.telemetry.note([_shown(Metric.CIRCUITS_OPEN)])


def throttled(context: Context, count: int) -> None:
    """Record how many requests AWS has refused to this process since the last time."""
    if count:
        context.telemetry.note([_shown(Metric.THROTTLED, count)])


def slots_in_use(context: Context, most: int) -> None:
    """Record the most runs that an executor has held at once, beside how many it can hold."""
    context.telemetry.note(
        [
            Measurement(Metric.SLOTS, "", "", CAPACITY, is_level=True, counted=False),
            Measurement(Metric.SLOTS_IN_USE, "", "", most, is_level=True, counted=False),
        ]
    )


def canary_came(context: Context, off_ms: int) -> None:
    """Record that a run of the canary has reached its function, and how far from its time."""
    context.telemetry.note([_timed(Metric.CANARY_DELAY, off_ms)])


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
    if run.claimed_at is not None:
        could_at = max(run.not_before, run.gate_waits.until)
        yield _timed(Metric.AGE_AT_CLAIM, max(run.claimed_at - could_at, 0), run.priority)
    if run.gate_waits is not NO_WAITS:
        for gate in GATE_NAMES:
            if waited_ms := getattr(run.gate_waits, gate):
                yield _timed(Metric.WAITED, waited_ms, run.priority, gate)


def _costs(run: Run, spent: Spent) -> Iterator[Measurement]:
    """Yield the costs to add to the row of the run's hour, which is written anyway."""
    for name, count in counts_of(spent).items():
        if count:
            yield Measurement(name, run.id.job.tenant, run.priority, count, watched=False)


def _shown(metric: Metric, count: int = 1, priority: str = "") -> Measurement:
    """Return a count of the whole deployment, which belongs to no tenant's hours."""
    return Measurement(metric, "", priority, count, counted=False)


def _timed(metric: Metric, ms: int, priority: str = "", reason: str = "") -> Measurement:
    """Return a timing that belongs to no tenant's hours."""
    return Measurement(metric, "", priority, ms, reason, is_timing=True, counted=False)


def _event(run: Run, metric: Metric, reason: StrEnum | None = None, count: int = 1) -> Measurement:
    return Measurement(metric, run.id.job.tenant, run.priority, count, "" if reason is None else reason.value)
