"""Scan a partition: everything due by now plus the look-ahead is read, decided about, and moved on.

The due index only nominates; rows decide. A scan that is repeated, doubled or cut off anywhere does no harm, so nothing
elects a leader: the owner of a partition only keeps two tickers from doing the same work for long. Of how many
partitions one is says the tick alone: the newest loop owns all that it counts, so every shard has a scan.

Due jobs and runs go first, then backfills, then jobs whose runs are to be reconciled, and last what failed before.
Within each, the tenants take turns.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import TypeVar

from timeball.domain.backfills.backfill import Backfill, BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, JobKey, RunId
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.run import Run
from timeball.domain.policy.fairness import in_turns
from timeball.engine.backfills.backfill import cancel_backfill, move_on
from timeball.engine.bisect import bisect
from timeball.engine.changes.reconcile import UnfinishedError, reconcile
from timeball.engine.context import Context
from timeball.engine.runs.due_runs import resend
from timeball.engine.scanning.buckets import Sweeps, begin, note_failed, note_pages, other_ends, shards_of, to_ask
from timeball.engine.scheduling.dispatch import dispatch, push_back
from timeball.ports.clock import Clock
from timeball.ports.due_index import DuePage, DueQuery, Owned
from timeball.ports.errors import UnavailableError
from timeball.ports.partitions import Owner
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_Key = TypeVar("_Key", JobKey, RunId, BackfillKey)
_Row = TypeVar("_Row", Job, Run, Backfill)
_Item = TypeVar("_Item", JobKey, RunId, BackfillKey, Job, Run, Backfill)
_Done = TypeVar("_Done")

_ROUNDS = 10
"""Rows that a scan writes of one job: as many fires as it may have within twice the look-ahead, or catches up."""
_CHUNK = 100
"""Jobs that are planned, sent and advanced together, or runs: what a cut-off scan has moved on stays so."""
_WORK_MS = 15_000
"""How long a scan begins new chunks; the rest is backlog."""
_BISECT_MS = 5_000
"""How long a scan bisects what fails together."""
_RECONCILE_MS = 3_000
"""How long a scan begins to reconcile: with the last call no longer than the look-ahead, so that nothing gets late."""
_BACKFILL_MS = 1_500
"""How long a scan begins to move backfills on, for the same reason."""
_CANCELLED_MS = 500
"""How long a scan begins to take cancelled backfills out of the index before that."""
_PUT_OFF_MS = 10_000
"""After how long a job is reconciled that just now could not be."""
_OWNED_MS = 2_000
"""How long a process takes for granted that nobody newer owns what its owner took: so long two may do the same work."""
_MAX_NOMINATED = 1_000
"""How many rows a scan reads, beside those that failed the last time; the rest is backlog."""


@dataclass(frozen=True)
class Scan:
    """What a scan did. `backlog`: more is due and this scan got somewhere, so the next may follow at once."""

    superseded: bool = False
    backlog: bool = False
    candidates: int = 0
    sent: int = 0
    skipped: int = 0
    resent: int = 0
    reconciled: int = 0
    backfilled: int = 0

    @property
    def progressed(self) -> bool:
        """Whether anything was moved on."""
        return self.sent + self.skipped + self.resent + self.reconciled + self.backfilled > 0


def scan(context: Context, partition: int, owner: Owner, sweeps: Sweeps, partitions: int = 1) -> Scan:
    """Scan the shards of one of so many partitions once, on behalf of `owner`; do nothing if a newer one owns it."""
    now = context.clock.now()
    horizon_at = now + context.rules.lookahead_ms
    shards = shards_of(partition, partitions, context.rules.shards)
    if not _owns(context, partition, owner, sweeps, now):
        return Scan(superseded=True)
    unknown = [shard for shard in shards if shard not in sweeps.older]
    stored = context.store.due.read_oldest_days(unknown) if unknown else {}
    for shard in unknown:
        begin(sweeps, shard, stored.get(shard), now)
    asked = _ask(context, [query for shard in shards for query in to_ask(sweeps, shard, now, horizon_at)])
    moved = note_pages(sweeps, asked, now)
    ends = _ask(context, other_ends(asked))
    asked += ends
    nominated = list(dict.fromkeys(candidate for _, page in asked for candidate in page.candidates))
    full = bool(ends) or len(nominated) > _MAX_NOMINATED
    done, failures = _work(context, nominated, frozenset[Owned]().union(*sweeps.failed.values()), now)
    note_failed(sweeps, asked, frozenset(failures.of))
    for shard, oldest_day_at in moved.items():
        context.store.due.move_oldest_day(shard, oldest_day_at)
    if failures.last is not None and not done.progressed:
        raise failures.last
    return evolve(done, backlog=(full and done.progressed) or done.backlog, candidates=len(nominated))


def _ask(context: Context, queries: Sequence[DueQuery]) -> list[tuple[DueQuery, DuePage]]:
    return list(zip(queries, context.store.due.query(queries), strict=True)) if queries else []


@dataclass
class _Failures:
    """What a scan could not work on, which stopped nothing else; and the last reason."""

    of: set[Owned] = field(default_factory=set)
    last: Exception | None = None

    def bisect(
        self, work: Callable[[Sequence[_Item]], _Done], items: Sequence[_Item], clock: Clock, stop_at: int
    ) -> list[_Done]:
        """Work on many, on each half of them where that fails, and note what it failed for."""
        worked_on: set[Owned] = set()

        def noting(part: Sequence[_Item]) -> _Done:
            answer = work(part)
            worked_on.update(map(_owner, part))
            return answer

        done, failure = bisect(noting, items, clock, stop_at)
        self.of.update({_owner(item) for item in items} - worked_on)
        self.last = failure or self.last
        return done


def _owns(context: Context, partition: int, owner: Owner, sweeps: Sweeps, now: int) -> bool:
    """Take the partition for its owner, unless a newer one has it; ask no more often than need be."""
    last, taken_at = sweeps.owned.get(partition, (owner, -_OWNED_MS))
    if last == owner and now < taken_at + _OWNED_MS:
        return True
    if last > owner or not context.store.partitions.take(partition, owner):
        return False
    sweeps.owned[partition] = (owner, now)
    return True


def _owner(item: Owned | Job | Run | Backfill) -> Owned:
    if isinstance(item, Job | Backfill):
        return item.key
    return item.id if isinstance(item, Run) else item


def _tenant(item: Owned | Job | Run | Backfill) -> str:
    owned = _owner(item)
    return owned.tenant if isinstance(owned, JobKey) else owned.job.tenant


def _work(context: Context, nominated: Sequence[Owned], failed: frozenset[Owned], now: int) -> tuple[Scan, _Failures]:
    """Work on what was nominated: what failed the last time after all else, and only if there is time."""
    stop_at, failures = context.clock.now() + _WORK_MS, _Failures()
    nominated = in_turns(nominated, _tenant)
    fresh, again = [key for key in nominated if key not in failed], [key for key in nominated if key in failed]
    done, changed = _move_on(context, fresh[:_MAX_NOMINATED], now, stop_at, failures)
    if again and context.clock.now() < stop_at:
        more, changed_too = _move_on(context, again, now, stop_at, failures)
        changed += changed_too
        done = Scan(
            backlog=done.backlog or more.backlog,
            sent=done.sent + more.sent,
            skipped=done.skipped + more.skipped,
            resent=done.resent + more.resent,
            backfilled=done.backfilled + more.backfilled,
        )
    reconciled, left = _reconcile(context, changed, context.clock.now() + _RECONCILE_MS, failures)
    return evolve(done, backlog=done.backlog or left, reconciled=reconciled), failures


def _move_on(
    context: Context, nominated: Sequence[Owned], now: int, stop_at: int, failures: _Failures
) -> tuple[Scan, list[Job]]:
    """Read what was nominated, at `now` or later, and move it on; return the jobs too that are to be reconciled."""
    bisect_until = min(context.clock.now() + _BISECT_MS, stop_at)
    jobs = _read(context, JobKey, context.store.jobs.read, nominated, bisect_until, failures)
    runs = _read(context, RunId, context.store.runs.read, nominated, bisect_until, failures)
    backfills = _read(context, BackfillKey, context.store.backfills.read, nominated, bisect_until, failures)
    horizon_at = now + context.rules.lookahead_ms
    jobs = _due(jobs, horizon_at)
    resent = _resend(context, _due(runs, horizon_at), bisect_until, failures)
    pending = [job for job in jobs if job.intent is None and job.status is JobStatus.PENDING]
    done = _dispatch(context, pending, now, stop_at, failures)
    until = min(context.clock.now() + _BACKFILL_MS, stop_at)
    moved, left = _move_backfills(context, _due(backfills, horizon_at), until, failures)
    done = evolve(done, resent=resent, backfilled=moved, backlog=done.backlog or left)
    return done, [job for job in jobs if job.intent is not None]


def _read(
    context: Context,
    kind: type[_Key],
    read: Callable[[Sequence[_Key]], Sequence[_Row | None]],
    nominated: Sequence[Owned],
    stop_at: int,
    failures: _Failures,
) -> list[_Row]:
    keys = [key for key in nominated if isinstance(key, kind)]
    pages = failures.bisect(read, keys, context.clock, stop_at)
    return [row for page in pages for row in page if row is not None]


def _due(rows: Sequence[_Row], horizon_at: int) -> list[_Row]:
    """Return the rows that are due, earliest first, but the tenants in turns."""
    due = [(row.due_at, row) for row in rows if row.due_at is not None and row.due_at <= horizon_at]
    due.sort(key=itemgetter(0))
    return in_turns([row for _, row in due], _tenant)


def _move_backfills(
    context: Context, backfills: Sequence[Backfill], stop_at: int, failures: _Failures
) -> tuple[int, bool]:
    """Take cancelled backfills out of the index, one by one, then move the others on; True if some are left."""
    cancelled = [one for one in backfills if one.status is BackfillStatus.CANCELLED]
    parts = [([one], min(context.clock.now() + _CANCELLED_MS, stop_at)) for one in cancelled]
    opened = [one for one in backfills if one.is_open]
    parts += [(opened[start : start + _CHUNK], stop_at) for start in range(0, len(opened), _CHUNK)]
    moved, left = 0, False
    for part, until in parts:
        if context.clock.now() >= until:
            left = True
            continue
        is_cancelled = part[0].status is BackfillStatus.CANCELLED
        work = partial(_take_out, context) if is_cancelled else partial(move_on, context, stop_at=until)
        moved += sum(failures.bisect(work, part, context.clock, until))
    return moved, left


def _take_out(context: Context, backfills: Sequence[Backfill]) -> int:
    for one in backfills:
        cancel_backfill(context, one)
    return len(backfills)


def _resend(context: Context, runs: Sequence[Run], stop_at: int, failures: _Failures) -> int:
    resent = 0
    for start in range(0, len(runs), _CHUNK):
        resent += sum(failures.bisect(partial(resend, context), runs[start : start + _CHUNK], context.clock, stop_at))
    return resent


def _reconcile(context: Context, jobs: Sequence[Job], stop_at: int, failures: _Failures) -> tuple[int, bool]:
    """Reconcile one by one: a job that cannot be reconciled is put off, and stops no other; True if some are left."""
    done, unfinished = 0, False
    for job in jobs:
        if context.clock.now() >= stop_at:
            return done, True
        try:
            reconcile(context, [job])
            done += 1
        except UnfinishedError as left:
            unfinished = True
            log.info("%s", left, extra={"job_id": job.key.job_id})
        except UnavailableError as unavailable:
            log.warning("job not reconciled yet: %s", unavailable, extra={"job_id": job.key.job_id})
            failures.bisect(partial(_reconcile_later, context), [job], context.clock, stop_at)
        except Exception:
            log.exception("job cannot be reconciled", extra={"job_id": job.key.job_id})
            failures.bisect(lambda jobs: push_back(context, jobs[0]), [job], context.clock, stop_at)
    return done, unfinished


def _reconcile_later(context: Context, jobs: Sequence[Job]) -> None:
    """Let others go first, and count nothing: an outage is no fault of the job. One that was moved stays as it is."""
    now = context.clock.now()
    later = [evolve(job, due_at=now + _PUT_OFF_MS) for job in jobs]
    context.store.jobs.swap([Swap(job, after) for job, after in zip(jobs, later, strict=True)], now)


def _dispatch(context: Context, jobs: Sequence[Job], read_at: int, stop_at: int, failures: _Failures) -> Scan:
    """Dispatch chunk by chunk, and what has more to come in further rounds; it is backlog if jobs are left over.

    A job that comes back from a dispatch is as it was written there: it was read when that dispatch began.
    """
    done = Scan()
    for _ in range(_ROUNDS):
        following: list[Job] = []
        begun_at = context.clock.now()
        for start in range(0, len(jobs), _CHUNK):
            if context.clock.now() >= stop_at:
                return evolve(done, backlog=True)
            bisect_until = min(context.clock.now() + _BISECT_MS, stop_at)
            work = partial(dispatch, context, read_at=read_at)
            parts = failures.bisect(work, jobs[start : start + _CHUNK], context.clock, bisect_until)
            reports = [report for part in parts for report in part]
            sent, skipped = sum(report.sent for report in reports), sum(report.skipped for report in reports)
            done = evolve(done, sent=done.sent + sent, skipped=done.skipped + skipped)
            following += [report.job for report in reports if report.more]
        jobs, read_at = following, begun_at
    return evolve(done, backlog=bool(jobs))
