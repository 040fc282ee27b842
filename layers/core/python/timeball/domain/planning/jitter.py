"""Jitter: a fire starts up to a given number of seconds later, the same on every replay. The fire time never moves."""

from timeball.domain.model.ids import JobKey, fraction_of
from timeball.domain.time.instants import SECOND_MS


def jitter_ms(key: JobKey, fire_at: int, jitter_seconds: int) -> int:
    """Return how much later (ms) a fire of a job starts: a hash of both picks a delay in [0, jitter)."""
    if not jitter_seconds:
        return 0
    return int(fraction_of("jitter", key.tenant, key.job_id, fire_at) * jitter_seconds * SECOND_MS)
