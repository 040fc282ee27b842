"""How far back the live runs of a job may lie, which is how far a change of the job searches.

The policies of the job bound how long a run lives. A run that starts much later than its fire time, or that began under
other policies, is noted on the job for as long as it may live. A run that has not started needs no note: its claim
reads the job. A run that its calendar moves starts before the next fire, so at most one fire lies further back.
"""

from timeball.domain.attempts.retry import longest_life_ms
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.calendar import CalendarPolicy
from timeball.domain.model.jobs.job import Job
from timeball.domain.planning.blackouts import MOST_MOVED_MS
from timeball.domain.planning.planner import oldest_caught_up
from timeball.domain.time.instants import DAY_MS, SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import previous_fire

_LATEST_START_MS = DAY_MS
"""How late after its fire time a run may start without a note, beyond what its catch-up policy allows."""


def earliest_live(job: Job, now: int, misfire_ms: int) -> int:
    """Return the earliest fire time that a live run of the job may have (ms); a one-off may start at any later time.

    The holder of the overlap lock, and the next holder, may have an earlier one.
    """
    by_policy = _by_policy(job, now, misfire_ms)
    return by_policy if job.live_from is None or _has_expired(job, now) else min(by_policy, job.live_from)


def needs_note(job: Job, fire_at: int, now: int, misfire_ms: int) -> bool:
    """Say whether a run that starts only now must be noted, because it may live where no change searches."""
    if job.spec.schedule.is_one_off or fire_at >= _starting_from(job, _oldest_start(job, now, misfire_ms)):
        return False
    is_noted = job.live_from is not None and job.live_from <= fire_at
    return not is_noted or now + _life_ms(job) > (job.live_until or 0)


def noted(job: Job, fire_at: int, now: int) -> Job:
    """Return the job with a note of a run that starts now.

    It lasts twice as long as the run may live, for later runs.
    """
    return _noted(job, fire_at, now + 2 * _life_ms(job), now)


def revised_from(before: Job, after: Job, now: int, misfire_ms: int) -> Job:
    """Return the job after a change, with a note of how long its earlier runs may live, or may wait for their start."""
    reach_at = _by_policy(before, now, misfire_ms)
    if reach_at >= _by_policy(after, now, misfire_ms):
        return after
    return _noted(after, reach_at, now + _life_ms(before) + (MOST_MOVED_MS if _moves(before) else 0), now)


def _noted(job: Job, fire_at: int, until: int, now: int) -> Job:
    if job.live_from is None or _has_expired(job, now):
        return evolve(job, live_from=fire_at, live_until=until)
    return evolve(job, live_from=min(fire_at, job.live_from), live_until=max(until, job.live_until or 0))


def _has_expired(job: Job, now: int) -> bool:
    return (job.live_until or 0) < _begun_at(job, now)


def _by_policy(job: Job, now: int, misfire_ms: int) -> int:
    if job.spec.schedule.is_one_off:
        return 0
    return max(_starting_from(job, _oldest_start(job, _begun_at(job, now) - _life_ms(job), misfire_ms)), 0)


def _starting_from(job: Job, at: int) -> int:
    """Return the earliest fire whose run may start at an instant or later, apart from other delays."""
    try:
        moved_at = previous_fire(job.spec.schedule, at, at - MOST_MOVED_MS) if _moves(job) else None
    except InvalidSchedule:  # such as a time zone that was removed: the job can still be cancelled
        return at - MOST_MOVED_MS
    return at if moved_at is None else moved_at


def _moves(job: Job) -> bool:
    return job.spec.calendar is not None and job.spec.calendar.policy is CalendarPolicy.NEXT


def _begun_at(job: Job, now: int) -> int:
    """Return when the pause or the change began that is not reconciled yet; `now` if there is none."""
    return min(now, job.paused_at or now, job.intent.asked_at if job.intent else now)


def _life_ms(job: Job) -> int:
    life_ms = longest_life_ms(job.spec.retry, job.spec.timeout_seconds)
    return life_ms if job.spec.task is None else max(life_ms, job.spec.task.life_ms)


def _oldest_start(job: Job, at: int, misfire_ms: int) -> int:
    """Return the earliest fire whose run may start at an instant or later, by its age and its waiting alone."""
    waits_ms = job.spec.dependency_timeout_seconds * SECOND_MS if job.spec.depends_on else 0
    from_at = at - _LATEST_START_MS - waits_ms
    try:
        caught_up_at = oldest_caught_up(job.spec.schedule, job.spec.catch_up, from_at)
    except InvalidSchedule:  # as below
        caught_up_at = from_at - MOST_MOVED_MS
    return min(caught_up_at, from_at - misfire_ms)
