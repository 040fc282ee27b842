"""The parts of a tenant's jobs that have listings of their own: the open jobs, and three kinds of ended jobs.

A pause, a resume or a block moves no job from one part to another.
"""

from enum import StrEnum

from timeball.domain.model.jobs.job import OPEN, JobStatus


class Among(StrEnum):
    """The part to which a job belongs. Most jobs are completed; they have no part of their own."""

    OPEN = "open"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


def among(status: JobStatus) -> Among | None:
    """Return the part to which jobs in a status belong; None for completed jobs."""
    if status in OPEN:
        return Among.OPEN
    return None if status is JobStatus.COMPLETED else Among(status.value)
