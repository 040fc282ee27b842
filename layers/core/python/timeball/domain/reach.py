"""How far back the live runs of a job may lie: what a change of the job has to look through.

By its policies no run lives longer than so. One that does, because it was tried by hand or began under other policies,
is noted on the job, until a look finds it no more.
"""

from timeball.domain.evolve import evolve
from timeball.domain.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.job import Job
from timeball.domain.retry import longest_life_ms

_LATEST_START_MS = DAY_MS
"""How late after its fire time, beyond what its catch-up policy allows, a run that is live may have started."""

_NOTE_HOLDS_MS = 10 * MINUTE_MS
"""How long a note is kept at least: whoever made it may not have written the run yet that it is about."""


def earliest_live(job: Job, now: int, misfire_ms: int) -> int:
    """Return the earliest fire time that a live run of the job may have; a one-off may start however late.

    The holder of the overlap guard, and who is parked behind it, may have an earlier one.
    """
    if job.schedule.is_one_off:
        return 0
    by_policy = _by_policy(job, now, misfire_ms)
    return by_policy if job.live_from is None else min(by_policy, job.live_from)


def starts_out_of_reach(job: Job, fire_at: int, now: int, misfire_ms: int) -> bool:
    """Say whether a run of a fire time that starts only now may be live when no look by policies goes back to it."""
    return not job.schedule.is_one_off and fire_at < now - _latest_start_ms(job, misfire_ms)


def noted(job: Job, fire_at: int, now: int) -> Job:
    """Return the job with a note that a run of a fire time may be live."""
    earliest = fire_at if job.live_from is None else min(fire_at, job.live_from)
    return evolve(job, revision=job.revision + 1, live_from=earliest, live_noted_at=now)


def is_noted(job: Job, fire_at: int, now: int) -> bool:
    """Say whether a look would find a run of a fire time, and will for as long as its writer may need."""
    fresh = job.live_noted_at is not None and now < job.live_noted_at + _NOTE_HOLDS_MS // 2
    return job.schedule.is_one_off or (job.live_from is not None and job.live_from <= fire_at and fresh)


def revised_from(before: Job, after: Job, now: int, misfire_ms: int) -> Job:
    """Return the job after a change of its policies, with a note of how long its runs might live before."""
    reach_at = earliest_live(before, now, misfire_ms)
    if after.schedule.is_one_off or reach_at >= earliest_live(after, now, misfire_ms):
        return after
    return evolve(noted(after, reach_at, now), revision=after.revision)


def looked(job: Job, earliest: int | None, now: int) -> Job:
    """Return the job after a look through all that its note says: `earliest` is the fire time of the first live run."""
    if job.live_noted_at is None or now < job.live_noted_at + _NOTE_HOLDS_MS:
        return job
    return evolve(job, live_from=earliest, live_noted_at=None if earliest is None else now)


def _by_policy(job: Job, now: int, misfire_ms: int) -> int:
    begun_at = min(now, job.paused_at or now, job.intent.asked_at if job.intent else now)
    life_ms = longest_life_ms(job.retry, job.timeout_seconds)
    return max(begun_at - life_ms - _latest_start_ms(job, misfire_ms), 0)


def _latest_start_ms(job: Job, misfire_ms: int) -> int:
    return max(job.catch_up.max_age_seconds * SECOND_MS, misfire_ms) + _LATEST_START_MS
