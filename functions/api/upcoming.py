"""The fire times that a job still has before it, those already in the ledger ahead of their time included."""

from collections.abc import Iterator
from itertools import chain, islice

from timeball.domain.instants import LATEST
from timeball.domain.job import Job, JobStatus
from timeball.domain.schedule import fires

SHOWN = 5


def upcoming(job: Job, now: int, count: int = SHOWN) -> tuple[int, ...]:
    """Return the next fire times of a job at an instant (ms), earliest first; none unless it is pending.

    One that is due and not dispatched yet may lie in the past.
    """
    if job.status is not JobStatus.PENDING:
        return ()
    return tuple(islice(chain(_dispatched(job, now), _planned(job)), count))


def _dispatched(job: Job, now: int) -> Iterator[int]:
    """Yield the fires to come whose runs wait in the queue already."""
    last_at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at - 1
    return iter(()) if last_at is None else fires(job.schedule, now, last_at)


def _planned(job: Job) -> Iterator[int]:
    if job.next_fire_at is None:
        return iter(())
    left = None if job.schedule.max_runs is None else max(0, job.schedule.max_runs - job.runs_planned)
    return islice(fires(job.schedule, job.next_fire_at, LATEST), left)
