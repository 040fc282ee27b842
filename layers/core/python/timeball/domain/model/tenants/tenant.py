"""Tenants, the owners of jobs, with their weights, quotas and defaults.

A weight divides capacity between tenants. A tenant without a quota of its own has the quota of the settings.
"""

import re
from dataclasses import dataclass, fields
from typing import Final, Self

from timeball.domain.model.terms.notify import Notify

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
MOST_NOTIFY_BYTES: Final = 4 * 1024
"""Every process reads the row with this default every other second: within it, that costs one read unit more."""


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


@dataclass(frozen=True)
class Defaults:
    """The defaults of a tenant's jobs, and the highest priority that any of them has."""

    timezone: str | None = None
    """The time zone of a cron without one of its own; None: UTC."""
    priority_ceiling: str | None = None
    """The highest priority that a job may state and a new run has; None: any."""
    notify: Notify | None = None
    """The notices of a job that states none of its own; None: no notices."""


NO_DEFAULTS: Final = Defaults()

TENANT_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,40}", re.ASCII)
"""The form of a tenant's name: it is part of the ids of its keys, which end at a dot or an underscore."""


@dataclass(frozen=True)
class Tenant:
    """One row. Instants are in ms."""

    name: str
    """Its name."""
    created_at: int
    """When it was created."""
    weight: int = LEAST_WEIGHT
    """Its share where tenants compete for capacity."""
    quotas: Quotas = NO_QUOTAS
    """Its own quotas."""
    defaults: Defaults = NO_DEFAULTS
    """The defaults of its jobs."""
    disabled_at: int | None = None
    """When it was disabled: it keeps everything, and nothing of it starts; None: it is enabled."""
    deleted_at: int | None = None
    """When it was deleted: the row stays, so that its name is not given away; None: it was not."""
    revision: int = 1
    """Counts the writes of the row."""


def new_tenant(name: str, now: int) -> Tenant:
    """Make a tenant. Raises ValueError for an impossible name."""
    if not TENANT_NAME.fullmatch(name):
        raise ValueError("A tenant's name has 1 to 40 letters, digits and hyphens.")
    return Tenant(name, now)
