"""Scan a partition: read everything that is due by now plus the look-ahead, decide about it, and advance it.

The due index only nominates; rows decide. A scan that is repeated, doubled or cut off anywhere does no harm, so there
is no leader election: the owner of a partition only keeps two tickers from doing the same work for long. Only the tick
knows how many partitions there are. The newest loop owns all partitions that it counts, so every shard is scanned.

Due runs, lines of limiters and jobs come first, then backfills, then bulk operations, then jobs whose runs must be
reconciled, and last the entries that failed before. Within each, the tenants take turns, by their weights.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import TypeVar

from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.operation import Operation
from timeball.domain.sharing.fairness import in_turns
from timeball.domain.time.instants import LATEST
from timeball.engine.backfills import advance_backfills, cancel_backfill
from timeball.engine.batches import IN_FLIGHT, bisect
from timeball.engine.changes.reconcile import UnfinishedError, reconcile
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import notify_children
from timeball.engine.operations.operation import advance_operations
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.fan_out import STEPS_MS
from timeball.engine.runs.waiting_lines import admit_waiting
from timeball.engine.scanning import buckets
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.shares import owner_of, shared, tenant_of_row
from timeball.engine.scheduling.dispatch import dispatch, push_back
from timeball.ports.due_index import DuePage, DueQuery, Owned, Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_Key = TypeVar("_Key", JobKey, RunId, BackfillKey, OperationKey, LimiterKey)
_Row = TypeVar("_Row", Job, Run, Backfill, Operation, Limiter)
_Item = TypeVar("_Item", JobKey, RunId, BackfillKey, OperationKey, LimiterKey, Job, Run, Backfill, Operation, Limiter)
_Done = TypeVar("_Done")

_ROUNDS = 10
"""How many rows of one job a scan writes: as many fires as fit within twice the look-ahead, or as it catches up."""
CHUNK = 500
"""How many jobs are planned, sent and advanced together, or how many runs: a cut-off scan keeps its finished chunks.

A chunk's rows are written in one round trip, by twenty requests side by side. Of three chunks of jobs in flight, one
computes while the others wait. They have no job in common, and each keeps its order of writes.
"""
_NOTIFIED_AT_ONCE = 10
"""How many jobs' children are notified together: each job may have a thousand."""
_WORK_MS = 15_000
"""How long a scan begins new chunks; the rest is backlog."""
_BISECT_MS = 5_000
"""How long a scan bisects a failing chunk."""
_RECONCILE_MS = 3_000
"""How long a scan begins to reconcile: with the last call no longer than the look-ahead, so that nothing is late."""
_LINES_MS = 1_500
"""How long a scan begins to advance lines of limiters, so that it reaches the jobs in time, however many lines wait."""
_BACKFILL_MS = 1_500
"""How long a scan begins to advance backfills, for the same reason."""
_CANCELLED_MS = 500
"""Of that time, how long a scan begins to remove cancelled backfills from the index first."""
_OPERATION_MS = 1_000
"""How long a scan begins to advance bulk operations, within the time for reconciling: they share it."""
_PUT_OFF_MS = 10_000
"""After how long a job is reconciled again if it could not be reconciled now."""
_MAX_NOMINATED = 6_000
"""How many rows a scan reads, beside those that failed the last time; the rest is backlog."""


@dataclass
class ScanResult:
    """The result of a scan. `backlog`: more is due and this scan made progress, so the next may follow at once.

    `idle`: nothing was found for a minute, and this scan looked ahead for the next two, which may be left out.
    `overdue_ms`: how long ago the oldest job or run should have been processed, by priority; empty: none was overdue.
    """

    superseded: bool = False
    backlog: bool = False
    idle: bool = False
    candidates: int = 0
    sent: int = 0
    skipped: int = 0
    resent: int = 0
    reconciled: int = 0
    backfilled: int = 0
    operated: int = 0
    overdue_ms: dict[str, int] = field(default_factory=dict)

    @property
    def progressed(self) -> bool:
        """Whether the scan advanced anything."""
        return self.sent + self.skipped + self.resent + self.reconciled + self.backfilled + self.operated > 0


def scan(
    context: Context, partition: int, owner: Owner, sweeps: Sweeps, partitions: int = 1, chunk: int = CHUNK
) -> ScanResult:
    """Scan the shards of one partition once, on behalf of `owner`; do nothing if a newer owner has the partition.

    `partitions` is how many partitions share the shards. `chunk` is how many jobs one dispatch plans, sends and
    advances.
    """
    now = context.clock.now()
    horizon_at = now + context.rules.lookahead_ms
    owns = partial(buckets.is_owner, context, partition, owner, sweeps)
    if not owns():
        return ScanResult(superseded=True)
    shards = buckets.shards_of(partition, partitions, buckets.all_shards(context, sweeps, now))
    unknown = [shard for shard in shards if shard not in sweeps.older]
    stored = context.store.due.read_oldest_days(unknown)
    for shard in unknown:
        buckets.begin(sweeps, shard, stored.get(shard), now)
    ask = partial(_ask, context)
    through_at = buckets.open_through(sweeps, partition, now, horizon_at)
    first = ask([query for shard in shards for query in buckets.to_ask(sweeps, shard, now, horizon_at, through_at)])
    moved = buckets.note_pages(sweeps, first, now)
    given = shared(sweeps, first, ask, context.clock, context.weights_of)
    work = _Work(context, now, given.weights, owns, chunk)
    work.on(given.candidates, failed_before=frozenset[Owned]().union(*sweeps.failed.values()))
    buckets.note_failed(sweeps, given.asked, frozenset(work.failed))
    for shard, oldest_day_at in moved.items():
        context.store.due.move_oldest_day(shard, oldest_day_at)
    if work.failure is not None and not work.done.progressed:
        raise work.failure
    work.done.idle = buckets.may_rest(sweeps, partition, now)
    work.done.backlog |= work.done.progressed and (given.more or len(given.candidates) > _MAX_NOMINATED)
    return work.done


def _ask(context: Context, queries: Sequence[DueQuery]) -> list[tuple[DueQuery, DuePage]]:
    return list(zip(queries, context.store.due.query(queries), strict=True))


@dataclass
class _Work:
    """The work of a scan that began at `now`: its result, the items that failed, and one of their failures.

    `beat` notes from time to time that the scan is alive; a newer owner does not stop it. `is_throttled`: some jobs
    could not advance, so entries that failed before get no more of the index's write units than new ones.
    """

    context: Context
    now: int
    weights: Mapping[str, int]
    beat: Callable[[], object]
    chunk: int
    done: ScanResult = field(default_factory=ScanResult)
    failed: set[Owned] = field(default_factory=set)
    failure: Exception | None = None
    is_throttled: bool = False

    def on(self, nominated: Sequence[Owned], failed_before: frozenset[Owned]) -> None:
        """Process the nominated entries. Entries that failed the last time come last, and only if there is time."""
        self.done.candidates = len(nominated)
        fresh = [key for key in nominated if key not in failed_before]
        again = [key for key in nominated if key in failed_before]
        stop_at = self._in(_WORK_MS)
        changed = self._advance(fresh[:_MAX_NOMINATED], stop_at)
        changed += self._advance(again[: buckets.PAGE] if self.is_throttled else again, stop_at)
        reconcile_until = self._in(_RECONCILE_MS)
        self._operate([*fresh[:_MAX_NOMINATED], *again], stop_at)
        self._each(self._reconcile, changed, reconcile_until, size=1)

    def _advance(self, nominated: Sequence[Owned], stop_at: int) -> list[Job]:
        """Read the nominated entries and advance them; return the jobs that must be reconciled."""
        store, bisect_until = self.context.store, self._in(_BISECT_MS, stop_at)
        jobs = self._due(JobKey, store.jobs.read, nominated, bisect_until)
        runs = self._due(RunId, store.runs.read, nominated, bisect_until)
        backfills = self._due(BackfillKey, store.backfills.read, nominated, bisect_until)
        send_again = partial(resend, self.context, steps_until=self._in(STEPS_MS, stop_at))
        self.done.resent += sum(self._each(send_again, runs, bisect_until))
        limiters = self._due(LimiterKey, store.limiters.read, nominated, bisect_until)
        lines = [one for one in limiters if one.due_at is not None and one.due_at <= self.now]
        admit = partial(admit_waiting, self.context)
        self.done.resent += sum(self._each(admit, lines, self._in(_LINES_MS, stop_at), size=1))
        self._advance_jobs([job for job in jobs if job.intent is None], stop_at)
        self._advance_backfills(backfills, self._in(_BACKFILL_MS, stop_at))
        return [job for job in jobs if job.intent is not None]

    def _advance_jobs(self, jobs: Sequence[Job], stop_at: int) -> None:
        """Notify the children of jobs that have ended, then dispatch pending jobs."""
        ended = [job for job in jobs if job.must_notify_children and job.status is not JobStatus.PENDING]
        notify = partial(notify_children, self.context)
        self.done.backlog |= any(self._each(notify, ended, stop_at, _NOTIFIED_AT_ONCE))
        self._dispatch([job for job in jobs if job.status is JobStatus.PENDING], stop_at)

    def _advance_backfills(self, backfills: Sequence[Backfill], stop_at: int) -> None:
        """Take cancelled backfills out of the index, then advance open ones."""
        cancelled = [one for one in backfills if one.status is BackfillStatus.CANCELLED]
        cancel_until = self._in(_CANCELLED_MS, stop_at)
        taken_out = self._each(lambda ones: cancel_backfill(self.context, ones[0]), cancelled, cancel_until, size=1)
        going = [one for one in backfills if one.is_open]
        moved = self._each(partial(advance_backfills, self.context, stop_at=stop_at), going, stop_at)
        self.done.backfilled += len(taken_out) + sum(moved)

    def _operate(self, nominated: Sequence[Owned], stop_at: int) -> None:
        """Advance the operations that are due, each for its share of the time. The rest waits for the next tick."""
        operations = self._due(OperationKey, self.context.store.operations.read, nominated, stop_at)
        until = self._in(_OPERATION_MS, stop_at)
        going = [one for one in operations if one.is_next(self.context.clock.now())]
        for left, one in zip(range(len(going), 0, -1), going, strict=True):
            now = self.context.clock.now()
            if now < until:
                move = partial(advance_operations, self.context, stop_at=now + (until - now) // left)
                self.done.operated += sum(self._each(move, [one], LATEST))

    def _due(
        self,
        kind: type[_Key],
        read: Callable[[Sequence[_Key]], Sequence[_Row | None]],
        nominated: Sequence[Owned],
        stop_at: int,
    ) -> list[_Row]:
        """Read rows of a kind, at `now` or later; return the due ones: the earliest first, the tenants in turn."""
        horizon_at = self.now + self.context.rules.lookahead_ms
        keys = [key for key in nominated if isinstance(key, kind)]
        pages = self._each(read, keys, stop_at, size=_MAX_NOMINATED)
        rows = [(row.due_at, row) for page in pages for row in page if row is not None and row.due_at is not None]
        due = sorted(((due_at, row) for due_at, row in rows if due_at <= horizon_at), key=itemgetter(0))
        if due and due[0][0] < self.now:
            self._note_overdue(due)
        return in_turns([row for _, row in due], tenant_of_row, self.weights)

    def _note_overdue(self, due: Sequence[tuple[int, Job | Run | Backfill | Operation | Limiter]]) -> None:
        """Note the oldest job or run of each priority. Other rows advance at a pace of their own.

        A job or run whose parents have ended may be due since its fire time, which was long before.
        """
        overdue_ms = self.done.overdue_ms
        for due_at, row in due:
            if due_at >= self.now:
                break
            if isinstance(row, Job | Run) and not row.waits:
                priority = str(row.spec.priority if isinstance(row, Job) else row.priority)
                overdue_ms[priority] = max(self.now - due_at, overdue_ms.get(priority, 0))

    def _dispatch(self, jobs: Sequence[Job], stop_at: int) -> None:
        """Dispatch jobs, and in further rounds those with more due fires. Jobs that are left over are backlog.

        A job that a dispatch returns is as that dispatch wrote it, so it counts as read when the dispatch began.
        """
        read_at = self.now
        for _ in range(_ROUNDS if jobs else 0):
            begun_at = self.context.clock.now()
            parts = self._each(partial(dispatch, self.context, read_at=read_at), jobs, stop_at, self.chunk, IN_FLIGHT)
            reports = [report for part in parts for report in part]
            self.done.sent += sum(report.sent for report in reports)
            self.done.skipped += sum(report.skipped for report in reports)
            left = [report.job.key for report in reports if report.is_left]
            self.failed.update(left)
            self.is_throttled |= bool(left)
            jobs, read_at = [report.job for report in reports if report.more], begun_at
        self.done.backlog |= bool(jobs)

    def _reconcile(self, jobs: Sequence[Job]) -> None:
        """Reconcile a job; defer it if it cannot be reconciled."""
        (job,) = jobs
        try:
            reconcile(self.context, job)
            self.done.reconciled += 1
        except UnfinishedError as left:
            log.info("%s", left, extra={"job_id": job.key.job_id})
            self.done.backlog = True
        except UnavailableError as unavailable:  # an outage is no fault of the job: nothing is counted
            log.warning("job not reconciled yet: %s", unavailable, extra={"job_id": job.key.job_id})
            later = evolve(job, due_at=self._in(_PUT_OFF_MS))
            self.context.store.jobs.swap([Swap(job, later)], self.context.clock.now())
        except Exception:
            log.exception("job cannot be reconciled", extra={"job_id": job.key.job_id})
            push_back(self.context, job)

    def _each(
        self,
        work: Callable[[Sequence[_Item]], _Done],
        items: Sequence[_Item],
        stop_at: int,
        size: int = CHUNK,
        at_once: int = 1,
    ) -> list[_Done]:
        """Process items in chunks, `at_once` at a time, and bisect a chunk that fails. Note the items that failed.

        No chunk begins from `stop_at` (ms) on: the rest is backlog.
        """
        if not items:
            return []
        chunks = deque(enumerate(items[start : start + size] for start in range(0, len(items), size)))
        done: dict[int, list[_Done]] = {}

        def one_by_one() -> None:
            while chunks and self.context.clock.now() < stop_at:
                with suppress(UnavailableError):
                    self.beat()
                try:
                    number, chunk = chunks.popleft()
                except IndexError:  # another thread has it
                    return
                done[number], failures = bisect(work, chunk, self.context.clock, self._in(_BISECT_MS, stop_at))
                for part, failure in failures:
                    self.failed.update(map(owner_of, part))
                    self.failure = failure

        self.context.side_by_side([one_by_one] * max(1, min(at_once, len(chunks))))
        self.done.backlog |= bool(chunks)
        return [one for _, ones in sorted(done.items()) for one in ones]

    def _in(self, ms: int, stop_at: int = LATEST) -> int:
        """Return the instant in `ms` milliseconds, or `stop_at` if that comes first."""
        return min(self.context.clock.now() + ms, stop_at)
