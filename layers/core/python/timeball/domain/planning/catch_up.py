"""What becomes of fires that were missed: one decision, taken alike by the scan, the claim and the resume of a job.

A fire is missed once it is `misfire_ms` late; the jitter of its job is no lateness. Of the missed fires the newest are
caught up, as many and as old as the job's policy allows, one a second; all others are skipped. One-offs never misfire.
"""

from timeball.domain.model.jobs.job import Job
from timeball.domain.planning.exclusions import NOTHING, Exclusions
from timeball.domain.time.instants import EARLIEST, SECOND_MS


def missed_before(job: Job, now: int, misfire_ms: int) -> int:
    """Return the instant before which a job's fires count as missed at `now`."""
    return EARLIEST if job.spec.schedule.is_one_off else now - misfire_ms - job.spec.jitter_seconds * SECOND_MS


def caught_up(job: Job, now: int, misfire_ms: int, excluded: Exclusions = NOTHING) -> list[int]:
    """Return the missed fires that are caught up, earliest first, in a bounded number of steps, whatever was missed.

    A fire that the job's calendar skips is not caught up, and takes no other's place; one that it moves is no older
    than its start.
    """
    policy = job.spec.catch_up
    oldest_at = now - policy.max_age_seconds * SECOND_MS
    before_at = missed_before(job, now, misfire_ms)
    latest_first: list[int] = []
    while len(latest_first) < policy.limit:
        fire_at = excluded.previous_fire(job.spec.schedule, before_at, oldest_at)
        if fire_at is None:
            break
        latest_first.append(fire_at)
        before_at = fire_at
    return latest_first[::-1]
