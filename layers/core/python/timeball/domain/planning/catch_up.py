"""The decision about missed fires, which is the same in the scan, the claim and the resume of a job.

A fire is missed once it is `misfire_ms` late; its job's jitter does not count as lateness. A fire whose start lay in a
pause or a freeze of its job is also missed, however recent, once that time is over. The newest missed fires are caught
up, as many and as old as the job's policy allows, one a second; all others are skipped. One-offs never misfire.
"""

from timeball.domain.model.jobs.job import Job
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.planning.jitter import jitter_ms
from timeball.domain.time.instants import EARLIEST, SECOND_MS


def is_missed(job: Job, fire_at: int, starts_at: int, now: int, misfire_ms: int, excluded: Blackouts) -> bool:
    """Say whether a fire whose start, apart from jitter, is `starts_at` counts as missed at `now`."""
    if job.spec.schedule.is_one_off:
        return False
    if starts_at < _late_before(job, now, misfire_ms):
        return True
    start_at = starts_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds)
    return excluded.suspended_at(start_at, now) is not None


def missed_before(job: Job, now: int, misfire_ms: int, excluded: Blackouts = NOTHING) -> int:
    """Return the instant before which a job's fires may count as missed at `now`; later fires never do."""
    return max(_late_before(job, now, misfire_ms), excluded.suspended_before(now))


def caught_up(
    job: Job, now: int, misfire_ms: int, excluded: Blackouts = NOTHING, since_at: int = EARLIEST
) -> list[int]:
    """Return the missed fires from an instant on that are caught up, earliest first.

    A fire that the job's calendar skips is not caught up and does not count against the policy's limit. A fire that the
    calendar moves is only as old as its start. The number of steps is bounded, however much was missed: by the policy's
    limit, and by the fires within a pause, the jitter before it, and the time after which a fire is late.
    """
    policy = job.spec.catch_up
    oldest_at = max(now - policy.max_age_seconds * SECOND_MS, since_at - _most_jitter_ms(job))
    before_at = missed_before(job, now, misfire_ms, excluded)
    latest_first: list[int] = []
    while len(latest_first) < policy.limit:
        fire_at = excluded.previous_fire(job.spec.schedule, before_at, oldest_at)
        if fire_at is None:
            break
        starts_at = excluded.starts_at(job.spec.schedule, fire_at)
        if starts_at is not None and is_missed(job, fire_at, starts_at, now, misfire_ms, excluded):
            latest_first.append(fire_at)
        before_at = fire_at
    return latest_first[::-1]


def _late_before(job: Job, now: int, misfire_ms: int) -> int:
    """Return the instant before which fires are missed by their age alone."""
    return EARLIEST if job.spec.schedule.is_one_off else now - misfire_ms - _most_jitter_ms(job)


def _most_jitter_ms(job: Job) -> int:
    return job.spec.jitter_seconds * SECOND_MS
