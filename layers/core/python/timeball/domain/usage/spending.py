"""The cost of an attempt by DynamoDB's published rules: the writes that its run takes from its plan to its end.

A run's writes are not counted one by one, because every run of a kind makes the same writes.
tests/contract/costs/test_run_costs.py compares this table with the actual writes. Work for several runs or other
purposes (a scan's queries, notes about a resource, a user's changes) is not included.
"""

from typing import Final

from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.attempt import Attempt
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.spent import NOTHING, Spent
from timeball.domain.model.terms.policies import OverlapPolicy

FIRE: Final = 6
"""For a recurring job: the run's row is inserted, claimed and ended; the job's row moves in the due index."""
ONE_OFF: Final = 11
"""For the whole life of a job: its creation and its conclusion, each with its entries in the listings, and its fire."""
BACKFILLED: Final = 6
"""Like a fire, with the backfill's row instead of the job's."""
MANUAL: Final = 7
"""The run goes through the due index, and the log of changes names it."""
RETRY: Final = 5
"""Into the due index and out of it again, and the second claim."""

_OF_A_TASK = 1
"""For a one-off, which is listed under its task, too."""
_LOCK, _LOCK_OF_A_ONE_OFF = 2, 3
_JITTER = 3
"""Into the due index and out of it again; also for a fire that its calendar moves."""
_JOINED = 4
"""The run waits in the due index, and its parents are evaluated."""
_HAS_CHILDREN = 3
"""The run is due at its end, so that its children are notified."""
_HAND_OVER = 6
"""The due key at the end of the lease, the report, and the key dropped."""
_INLINE_WORK_BYTES = 400
_KB = 1024

_READS, _READS_OF_A_RETRY, _READS_FOR_A_LOCK = 4, 3, 2

_SKIPPED, _SKIPPED_AT_ITS_CLAIM = 4, 5


def spent_on(
    run: Run, job: Job, attempt: Attempt, *, has_row: bool, is_handed_over: bool, heartbeat_ms: int, lookahead_ms: int
) -> Spent:
    """Return the cost that an attempt's end adds to its running run.

    The first attempt adds everything that the run takes without a retry. A lost attempt adds nothing, nor does a run
    that ends without an attempt's end.
    """
    is_first = run.spent == NOTHING
    held_ms = (attempt.finished_at or attempt.claimed_at) - attempt.claimed_at
    writes = _of_first(run, job, lookahead_ms) if is_first else RETRY
    writes += has_row + held_ms // heartbeat_ms + (_HAND_OVER if is_handed_over else 0)
    reads = _READS + (_READS_FOR_A_LOCK if _is_guarded(run, job) else 0) if is_first else _READS_OF_A_RETRY
    return Spent(write_units=writes, read_units=reads)


def spent_by(row: Run) -> Spent:
    """Return the cost of a ledger row: a run's cost as its row says; for a skipped fire, its row and its plan."""
    if row.state is not RunState.SKIPPED or row.spent != NOTHING:
        return row.spent
    return Spent(write_units=_SKIPPED if row.last_fire_at is not None else _SKIPPED_AT_ITS_CLAIM, read_units=2)


def _of_first(run: Run, job: Job, lookahead_ms: int) -> int:
    if run.id.origin is Origin.BACKFILL:
        return BACKFILLED
    if run.id.origin is not Origin.SCHEDULE:
        return MANUAL + (_LOCK if _is_guarded(run, job) else 0)
    is_one_off = job.spec.schedule.is_one_off
    units = _of_a_one_off(job) if is_one_off else FIRE
    if _is_guarded(run, job):
        units += _LOCK_OF_A_ONE_OFF if is_one_off else _LOCK
    is_moved = job.spec.jitter_seconds > 0 or run.moved_to is not None
    if is_moved and run.not_before - run.id.fire_at > lookahead_ms:
        units += _JITTER
    return units + _JOINED * run.joined + _HAS_CHILDREN * job.has_children


def _of_a_one_off(job: Job) -> int:
    work = job.spec.work
    work_bytes = 0 if work is None else len(str(work.target)) + len((work.payload or "").encode())
    rows_of_work = -(-work_bytes // _KB) if work_bytes > _INLINE_WORK_BYTES else 0
    return ONE_OFF + rows_of_work + (_OF_A_TASK if job.spec.task is not None else 0)


def _is_guarded(run: Run, job: Job) -> bool:
    return job.spec.overlap is not OverlapPolicy.ALLOW and run.id.origin is not Origin.BACKFILL
