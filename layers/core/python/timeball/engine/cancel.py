"""Cancel jobs: one write ends the job, then its runs are settled, then the intent is dropped; only then is it a 2xx.

Until the intent is dropped the job stays in the due index, so a scan finishes what a crashed cancel began. The claim
reads the job: from the first write on no attempt is claimed, whatever the settling has reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.ids import JobKey, RunId
from timeball.domain.job import Job, JobStatus, cancelled
from timeball.engine.settle import settle
from timeball.engine.world import World
from timeball.ports import Swap, UnavailableError


class Cancellation(StrEnum):
    """What became of a cancel: done; there is no such job; the job had ended by itself; its version is another."""

    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    ENDED = "ended"
    STALE = "stale"


@dataclass(frozen=True)
class Cancelled:
    """The outcome, the job as it stands, and the runs that were already claimed: those are asked to stop."""

    outcome: Cancellation
    job: Job | None
    claimed: tuple[RunId, ...] = ()


_TRIES = 5


def cancel(world: World, requests: Sequence[tuple[JobKey, int | None]]) -> list[Cancelled]:
    """Cancel each job, if its version is the given one (None: any). Cancelling a cancelled job repeats the answer.

    Raises UnavailableError if a job's row kept changing or its settling is not finished; the cancel may be repeated.
    """
    return [_cancel(world, key, if_version) for key, if_version in requests]


def _cancel(world: World, key: JobKey, if_version: int | None) -> Cancelled:
    for _ in range(_TRIES):
        job = world.store.read_jobs([key])[0]
        if job is None:
            return Cancelled(Cancellation.NOT_FOUND, None)
        if if_version is not None and job.version != if_version:
            return Cancelled(Cancellation.STALE, job)
        if job.status is JobStatus.CANCELLED:
            return _settled(world, job)
        if not job.is_open:
            return Cancelled(Cancellation.ENDED, job)
        now = world.clock.now()
        swapped = world.store.swap_jobs([Swap(job, cancelled(job, now))], now)[0]
        if swapped.done and swapped.row is not None:
            return _settled(world, swapped.row)
    raise UnavailableError(f"job {key.job_id} kept changing; cancel it again")


def _settled(world: World, job: Job) -> Cancelled:
    settlement = settle(world, [job])[0]
    return Cancelled(Cancellation.CANCELLED, settlement.job, settlement.claimed)
