"""The cost of an attempt by DynamoDB's published rules, and estimates of how many rows there are.

Every run of a kind makes the same writes, so its writes are looked up and not counted: all that it takes from its plan
to its end. tests/contract/costs/test_run_costs.py compares this table with the actual writes. Work for several runs or
other purposes (a scan's queries, notes about a resource, a user's changes) is not included.

Rows lie in strata, and each stratum is a fair sample: the stratum of a row depends on a hash of its name alone, so the
share of each stratum is known. The strata are counted one after the other, the smallest first, for as long as that is
cheap; after all are counted, the count is exact. An estimate never drifts: it is computed anew from the rows, and
nothing is written for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Final

from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.notable import PLAIN_MS, is_notable
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import NOTHING, Attempt, Outcome, Spent
from timeball.domain.model.terms.policies import OverlapPolicy

MOST_COUNTED = 4_000
"""About how many rows are counted at most, after the smallest stratum."""


@dataclass(frozen=True)
class Estimate:
    """An estimated count."""

    count: int
    """How many there are."""
    standard_error: float = 0.0
    """The standard error of the count; 0: it is exact."""

    @property
    def is_exact(self) -> bool:
        """Whether everything was counted."""
        return self.standard_error == 0


@dataclass(frozen=True)
class JobCounts:
    """The number of a tenant's jobs."""

    in_all: Estimate
    """All jobs."""
    parts: Mapping[Among, Estimate]
    """The jobs of each part."""

    @property
    def completed(self) -> Estimate:
        """The completed jobs, which belong to no part."""
        others = self.parts.values()
        left = self.in_all.count - sum(one.count for one in others)
        return Estimate(max(0, left), hypot(self.in_all.standard_error, *(one.standard_error for one in others)))


def goes_on(counted: int, share: float, following: float) -> bool:
    """Say whether the stratum that follows is counted too, after `counted` rows were found in a share of all."""
    return counted / share * (share + following) <= MOST_COUNTED


def estimated(counted: int, share: float) -> Estimate:
    """Return the estimate from `counted` rows found in a share of all (1: everywhere)."""
    if share >= 1:
        return Estimate(counted)
    return Estimate(round(counted / share), sqrt(counted * (1 - share)) / share)


def part_of(whole: Estimate, sampled: int, found: int) -> Estimate:
    """Return how many of all have a property that `found` of a fair sample have."""
    if whole.is_exact and sampled == whole.count:
        return Estimate(found)
    part = found / sampled
    likely = (found + 1) / (sampled + 2)  # a sample without any does not prove that there are none
    of_sample = whole.count * sqrt(likely * (1 - likely) / sampled)
    return Estimate(round(whole.count * part), hypot(of_sample, part * whole.standard_error))


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
_ENTRY_OF_A_RETRY = 4
"""The entry changes twice as the retry is sent, and moves with the second claim."""
_WAITED = 2
"""The entry of a run that waits for its parents comes and goes."""
_HANDED_OVER = 1
"""The entry goes with the report."""
_INLINE_WORK_BYTES = 400
_KB = 1024

_READS, _READS_OF_A_RETRY, _READS_FOR_A_LOCK = 4, 3, 2

_SKIPPED, _SKIPPED_AT_ITS_CLAIM = 5, 6


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
    writes += _of_index(run, attempt, held_ms // heartbeat_ms, is_first=is_first, is_handed_over=is_handed_over)
    reads = _READS + (_READS_FOR_A_LOCK if _is_guarded(run, job) else 0) if is_first else _READS_OF_A_RETRY
    return Spent(write_units=writes, read_units=reads)


def _of_index(run: Run, attempt: Attempt, renewals: int, *, is_first: bool, is_handed_over: bool) -> int:
    """Return the units for the entry of a notable run: when it appears, changes and goes."""
    had = is_notable(run)
    ended_at = attempt.finished_at or attempt.claimed_at
    is_plain = attempt.outcome is Outcome.SUCCEEDED and ended_at <= run.id.fire_at + PLAIN_MS
    units = run.noted + had if is_first else _ENTRY_OF_A_RETRY
    units += _WAITED * (is_first and run.joined) + _HANDED_OVER * is_handed_over
    return units + had * renewals + had + (not is_plain)


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
