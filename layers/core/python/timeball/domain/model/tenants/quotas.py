"""What a tenant may take: its weight where tenants contend, and quotas of its own. The settings have all others'."""

from dataclasses import dataclass, fields
from typing import Final, Self

LEAST_WEIGHT: Final = 1
GREATEST_WEIGHT: Final = 100
"""Whoever has the least has a turn within a chunk of a scan."""

MOST_ACTIVE_JOBS: Final = 100_000
MOST_SUBMITS: Final = 1_000
MOST_REQUESTS_PER_SECOND: Final = 10_000
MOST_RUNS_PER_SECOND: Final = 1_000
MOST_RUNS_AT_ONCE: Final = 200
"""A row names those that are under way."""
MOST_RUNNING_BACKFILLS: Final = 100
MOST_RUNS_CREATED: Final = 1_000_000
MOST_EVENT_PATTERNS: Final = 300
"""So many rules has a bus, unless AWS raises that."""
LONGEST_LEAST_PERIOD_SECONDS: Final = 7 * 24 * 3600
MOST_PAYLOAD_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class Quotas:
    """Bounds of what one tenant has and does. As a tenant's own, None means those of the settings; 0: no bound.

    `active_jobs` and `submits_per_second` are about jobs that it creates, `runs_per_second` and `runs_at_once` about
    attempts that begin, and that are under way; `least_period_seconds` and `payload_bytes` about one request.
    `runs_created_per_minute` is about runs that events and fan-outs make; what is beyond is made later.
    `event_patterns` is about distinct patterns of jobs on events: each needs a rule of the bus that tenants share.
    `requests_per_second` are those that one process of the authorizer lets pass.
    """

    active_jobs: int | None = None
    submits_per_second: int | None = None
    runs_per_second: int | None = None
    runs_at_once: int | None = None
    least_period_seconds: int | None = None
    payload_bytes: int | None = None
    running_backfills: int | None = None
    event_patterns: int | None = None
    requests_per_second: int | None = None
    runs_created_per_minute: int | None = None

    def over(self, of_all: "Quotas") -> Self:
        """Return these with those of all tenants where they say nothing."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{name: getattr(of_all, name) if it is None else it for name, it in own.items()})


NO_QUOTAS: Final = Quotas()
