"""How far back the live runs of a job may lie: what a change of the job searches, window by window.

By its policies no run lives longer than so. One that does, because it was retried manually or began under other
policies, is noted on the job, until a search finds it no more. The ledger behind a window may be empty or dense: how
wide the next one is, the last one says by the time it took.
"""

from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.job import Job, Searched
from timeball.domain.policy.retry import longest_life_ms
from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, MINUTE_MS, SECOND_MS

_LATEST_START_MS = DAY_MS
"""How late after its fire time, beyond what its catch-up policy allows, a run that is live may have started."""

_NOTE_HOLDS_MS = 10 * MINUTE_MS
"""How long a note is kept at least: whoever made it may not have written the run yet that it is about."""

_FIRST_MS = 6 * HOUR_MS
_WIDEST_MS = 4 * DAY_MS
_NARROWEST_MS = MINUTE_MS
_FACTOR = 4
_QUICK_MS = 500
"""A window is wide enough if it takes longer than so."""


@dataclass(frozen=True)
class Window:
    """Fire times that are searched at once, both bounds included; the ones behind it are `width_ms` wide."""

    from_at: int
    through_at: int
    width_ms: int


def earliest_live(job: Job, now: int, misfire_ms: int) -> int:
    """Return the earliest fire time that a live run of the job may have; a one-off may start however late.

    The holder of the overlap lock, and who is next in line, may have an earlier one.
    """
    if job.spec.schedule.is_one_off:
        return 0
    by_policy = _by_policy(job, now, misfire_ms)
    return by_policy if job.live_from is None else min(by_policy, job.live_from)


def starts_out_of_reach(job: Job, fire_at: int, now: int, misfire_ms: int) -> bool:
    """Say whether a run of a fire time that starts only now may be live when no search by policies goes back to it."""
    return not job.spec.schedule.is_one_off and fire_at < now - _latest_start_ms(job, misfire_ms)


def first_window(searched: Searched | None, reach_at: int, now: int) -> Window | None:
    """Return the latest window of a search back to `reach_at`, or the one where it was cut off; None: there is no more.

    The search of a one-off, which has one fire, is one window.
    """
    if reach_at == 0 and searched is None:
        return Window(0, LATEST, _FIRST_MS)
    if searched is None:
        return Window(max(now - _FIRST_MS, reach_at), LATEST, _FIRST_MS)
    return _window(searched.from_at - 1, _FIRST_MS, reach_at)


def next_window(window: Window, reach_at: int, took_ms: int) -> Window | None:
    """Return the window before one that took so long; None: there is no more."""
    if took_ms < _QUICK_MS:
        width_ms = min(window.width_ms * _FACTOR, _WIDEST_MS)
    else:
        width_ms = max(window.width_ms // _FACTOR, _NARROWEST_MS)
    return _window(window.from_at - 1, width_ms, reach_at)


def _window(through_at: int, width_ms: int, reach_at: int) -> Window | None:
    if through_at < reach_at:
        return None
    return Window(max(through_at - width_ms + 1, reach_at), through_at, width_ms)


def noted(job: Job, fire_at: int, now: int) -> Job:
    """Return the job with a note that a run of a fire time may be live."""
    earliest = fire_at if job.live_from is None else min(fire_at, job.live_from)
    return evolve(job, live_from=earliest, live_noted_at=now)


def is_noted(job: Job, fire_at: int, now: int) -> bool:
    """Say whether a search would find a run of a fire time, and will for as long as its writer may need."""
    fresh = job.live_noted_at is not None and now < job.live_noted_at + _NOTE_HOLDS_MS // 2
    return job.spec.schedule.is_one_off or (job.live_from is not None and job.live_from <= fire_at and fresh)


def revised_from(before: Job, after: Job, now: int, misfire_ms: int) -> Job:
    """Return the job after a change of its policies, with a note of how long its runs might live before."""
    reach_at = earliest_live(before, now, misfire_ms)
    if after.spec.schedule.is_one_off or reach_at >= earliest_live(after, now, misfire_ms):
        return after
    return noted(after, reach_at, now)


def searched(job: Job, earliest: int | None, now: int) -> Job:
    """Return the job after a search of all that its note says: `earliest` is the fire time of the first live run.

    `now` is when the search began: it has not seen what was written since.
    """
    if job.live_noted_at is None or now < job.live_noted_at + _NOTE_HOLDS_MS:
        return job
    return evolve(job, live_from=earliest, live_noted_at=None if earliest is None else now)


def _by_policy(job: Job, now: int, misfire_ms: int) -> int:
    begun_at = min(now, job.paused_at or now, job.intent.asked_at if job.intent else now)
    life_ms = longest_life_ms(job.spec.retry, job.spec.timeout_seconds)
    return max(begun_at - life_ms - _latest_start_ms(job, misfire_ms), 0)


def _latest_start_ms(job: Job, misfire_ms: int) -> int:
    return max(job.spec.catch_up.max_age_seconds * SECOND_MS, misfire_ms) + _LATEST_START_MS
