"""Scan a partition: everything due by now plus the look-ahead is read, decided about, and moved on.

The due index only nominates; rows decide. A scan that is repeated, doubled or cut off anywhere does no harm, so nothing
elects a leader: the owner of a partition only keeps two tickers from doing the same work for long.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from timeball.domain.backfill import Backfill
from timeball.domain.evolve import evolve
from timeball.domain.ids import BackfillKey, JobKey, RunId
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import Run
from timeball.engine.apart import apart
from timeball.engine.backfill import move_on
from timeball.engine.cursor import Sweeps, look, looked
from timeball.engine.dispatch import dispatch, push_back
from timeball.engine.resend import resend
from timeball.engine.settle import settle
from timeball.engine.world import World
from timeball.ports import Owned, Owner, UnavailableError

log = logging.getLogger(__name__)

_Key = TypeVar("_Key", JobKey, RunId, BackfillKey)
_Row = TypeVar("_Row", Job, Run, Backfill)

_ROUNDS = 4
_CHUNK = 100
"""Jobs that are planned, sent and advanced together, or runs: what a cut-off scan has moved on stays so."""
_WORK_MS = 15_000
"""How long a scan begins new chunks; the rest is backlog."""
_APART_MS = 5_000
"""How long a scan takes apart what fails together."""
_MAX_NOMINATED = 1_000
"""How many rows of each kind a scan reads; the rest is backlog."""


@dataclass(frozen=True)
class Scan:
    """What a scan did. `backlog`: more is due and this scan got somewhere, so the next may follow at once."""

    superseded: bool = False
    backlog: bool = False
    candidates: int = 0
    sent: int = 0
    skipped: int = 0
    resent: int = 0
    settled: int = 0
    backfilled: int = 0

    @property
    def progressed(self) -> bool:
        """Whether anything was moved on."""
        return self.sent + self.skipped + self.resent + self.settled + self.backfilled > 0


def scan(world: World, partition: int, owner: Owner, sweeps: Sweeps) -> Scan:
    """Scan the shards of a partition once, on behalf of `owner`; do nothing if a newer one owns it."""
    now = world.clock.now()
    horizon_at = now + world.rules.lookahead_ms
    shards = range(partition, world.rules.shards, world.rules.partitions)
    cursors = world.store.take_partition(partition, owner, shards)
    if cursors is None:
        return Scan(superseded=True)
    looks = [look(shard, cursors.get(shard), sweeps, now, horizon_at) for shard in shards]
    pages = iter(world.store.due([query for one in looks for query in (*one.open, *one.closed)]))
    nominated: dict[Owned, None] = {}
    full = any(one.cut for one in looks)
    moves: list[tuple[int, int]] = []
    for one in looks:
        answers = [next(pages) for _ in (*one.open, *one.closed)]
        full = full or any(page.full for page in answers)
        nominated.update(dict.fromkeys(candidate for page in answers for candidate in page.candidates))
        moved = looked(one, answers[len(one.open) :], cursors.get(one.shard), sweeps, now)
        if moved is not None:
            moves.append((one.shard, moved))
    full = full or len(nominated) > _MAX_NOMINATED
    done = _move_on(world, list(nominated)[:_MAX_NOMINATED], now)
    for shard, oldest_hour_at in moves:
        world.store.move_cursor(shard, oldest_hour_at)
    return evolve(done, backlog=(full and done.progressed) or done.backlog, candidates=len(nominated))


def _move_on(world: World, nominated: Sequence[Owned], now: int) -> Scan:
    """Read what was nominated and move it on; all of it was read at `now` or later.

    What cannot be read or written stops nothing else. Raises if there is such, and nothing else was done.
    """
    stop_at, apart_until = world.clock.now() + _WORK_MS, world.clock.now() + _APART_MS
    jobs, unread_jobs = _read(world, JobKey, world.store.read_jobs, nominated, apart_until)
    runs, unread_runs = _read(world, RunId, world.store.read_runs, nominated, apart_until)
    backfills, unread_backfills = _read(world, BackfillKey, world.store.read_backfills, nominated, apart_until)
    horizon_at = now + world.rules.lookahead_ms
    jobs = [job for job in jobs if _is_due(job, horizon_at)]
    due_runs = [run for run in runs if _is_due(run, horizon_at)]
    resent, unsent = _resend(world, due_runs, apart_until)
    settled, unsettled = _settle(world, [job for job in jobs if job.intent is not None], stop_at)
    pending = [job for job in jobs if job.intent is None and job.status is JobStatus.PENDING]
    done, undispatched = _dispatch(world, pending, now, stop_at)
    moved = move_on(world, [backfill for backfill in backfills if _is_due(backfill, horizon_at)])
    done = evolve(done, backlog=done.backlog or unsettled, resent=resent, settled=settled, backfilled=moved)
    failure = unread_jobs or unread_runs or unread_backfills or unsent or undispatched
    if failure is not None and not done.progressed:
        raise failure
    return done


def _read(
    world: World,
    kind: type[_Key],
    read: Callable[[Sequence[_Key]], Sequence[_Row | None]],
    nominated: Sequence[Owned],
    stop_at: int,
) -> tuple[list[_Row], Exception | None]:
    keys = [key for key in nominated if isinstance(key, kind)]
    pages, failure = apart(read, keys, world.clock, stop_at)
    return [row for page in pages for row in page if row is not None], failure


def _is_due(row: Job | Run | Backfill, horizon_at: int) -> bool:
    return row.due_at is not None and row.due_at <= horizon_at


def _resend(world: World, runs: Sequence[Run], stop_at: int) -> tuple[int, Exception | None]:
    resent, failure = 0, None
    for start in range(0, len(runs), _CHUNK):
        parts, failed = apart(partial(resend, world), runs[start : start + _CHUNK], world.clock, stop_at)
        resent, failure = resent + sum(parts), failed or failure
    return resent, failure


def _settle(world: World, jobs: Sequence[Job], stop_at: int) -> tuple[int, bool]:
    """Settle one by one: a job that cannot be settled is pushed back, and stops no other; True if some are left."""
    done = 0
    for job in jobs:
        if world.clock.now() >= stop_at:
            return done, True
        try:
            settle(world, [job])
            done += 1
        except UnavailableError as unavailable:
            log.warning("job not settled yet: %s", unavailable, extra={"job_id": job.key.job_id})
        except Exception:
            log.exception("job cannot be settled", extra={"job_id": job.key.job_id})
            push_back(world, job)
    return done, False


def _dispatch(world: World, jobs: Sequence[Job], read_at: int, stop_at: int) -> tuple[Scan, Exception | None]:
    """Dispatch chunk by chunk, and what has more to come in further rounds; it is backlog if jobs are left over.

    A job that comes back from a dispatch is as it was written there: it was read when that dispatch began.
    """
    done, failure = Scan(), None
    for _ in range(_ROUNDS):
        following: list[Job] = []
        begun_at = world.clock.now()
        for start in range(0, len(jobs), _CHUNK):
            if world.clock.now() >= stop_at:
                return evolve(done, backlog=True), failure
            apart_until = min(world.clock.now() + _APART_MS, stop_at)
            work = partial(dispatch, world, read_at=read_at)
            parts, failed = apart(work, jobs[start : start + _CHUNK], world.clock, apart_until)
            failure = failed or failure
            reports = [report for part in parts for report in part]
            sent, skipped = sum(report.sent for report in reports), sum(report.skipped for report in reports)
            done = evolve(done, sent=done.sent + sent, skipped=done.skipped + skipped)
            following += [report.job for report in reports if report.more]
        jobs, read_at = following, begun_at
    return evolve(done, backlog=bool(jobs)), failure
