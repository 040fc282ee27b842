"""A tenant's weight, which divides capacity between tenants, and its own quotas.

The settings hold the common quotas.
"""

from dataclasses import dataclass, fields
from typing import Final, Self

LEAST_WEIGHT: Final = 1
GREATEST_WEIGHT: Final = 100
"""At this weight, a tenant of the least weight still gets a round within a chunk of a scan."""

MOST_ACTIVE_JOBS: Final = 100_000
MOST_SUBMITS: Final = 1_000
MOST_REQUESTS_PER_SECOND: Final = 10_000
MOST_RUNS_PER_SECOND: Final = 1_000
MOST_RUNS_AT_ONCE: Final = 200
"""A limiter's row names the runs that are under way, so their number is bounded."""
MOST_RUNNING_BACKFILLS: Final = 100
MOST_RUNS_CREATED: Final = 1_000_000
MOST_EVENT_PATTERNS: Final = 300
"""The number of rules that a bus may have, unless AWS raises that limit."""
LONGEST_LEAST_PERIOD_SECONDS: Final = 7 * 24 * 3600
MOST_PAYLOAD_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class Quotas:
    """Bounds of what one tenant has and does. None: the quota of the settings applies; 0: no bound."""

    active_jobs: int | None = None
    """How many open jobs it may have."""
    submits_per_second: int | None = None
    """How many jobs it may create in a second."""
    runs_per_second: int | None = None
    """How many attempts may begin in a second."""
    runs_at_once: int | None = None
    """How many attempts may be under way at once."""
    least_period_seconds: int | None = None
    """The shortest time between two fires of a job."""
    payload_bytes: int | None = None
    """The largest payload, in bytes."""
    running_backfills: int | None = None
    """How many of its backfills run at once."""
    event_patterns: int | None = None
    """How many distinct event patterns its jobs may have: each needs a rule of the shared bus."""
    requests_per_second: int | None = None
    """How many requests one process of the authorizer lets pass in a second."""
    runs_created_per_minute: int | None = None
    """How many runs events and fan-outs make in a minute; further runs are made later."""

    def over(self, of_all: "Quotas") -> Self:
        """Return these quotas, with those of all tenants where these set none."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{name: getattr(of_all, name) if it is None else it for name, it in own.items()})


NO_QUOTAS: Final = Quotas()
