"""Jitter: a fire starts up to so many seconds later, the same on every replay. The fire time itself never moves."""

from timeball.domain.model.ids import JobKey, fraction_of
from timeball.domain.time.instants import SECOND_MS


def jittered(key: JobKey, fire_at: int, jitter_seconds: int) -> int:
    """Return when a fire of a job starts (ms): a hash of the two picks a moment in [fire time, fire time + jitter)."""
    if not jitter_seconds:
        return fire_at
    return fire_at + int(fraction_of("jitter", key.tenant, key.job_id, fire_at) * jitter_seconds * SECOND_MS)
