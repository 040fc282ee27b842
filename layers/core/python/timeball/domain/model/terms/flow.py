"""Flow control: one job for all submits under a key, one run for triggers in quick succession, and shared limits.

Invariant: a unique key names its job before that job is stored, and the stored job has the id that is named. So all
callers that submit under the key at once store the same job, and only one job is made.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, order=True)
class UniqueKey:
    """The name of a unique key's row."""

    tenant: str
    """The tenant that owns it."""
    digest: str
    """A digest of the key, because users may choose any text."""


@dataclass(frozen=True)
class Unique:
    """The unique key of a job."""

    key: str
    """The key, as its user wrote it."""
    seconds: int | None = None
    """How long it stands for the job; None: until the job has ended."""


@dataclass(frozen=True)
class Debounce:
    """How triggers are collected into one run."""

    seconds: int
    """How long the start waits for another trigger."""
    max_seconds: int
    """How long it waits in all, whatever still comes."""


class OnFull(StrEnum):
    """The treatment of a run that finds all slots of its concurrency limit taken: it waits for one, or is skipped."""

    WAIT = "wait"
    SKIP = "skip"


@dataclass(frozen=True)
class ConcurrencyLimit:
    """A concurrency limit over all jobs of a tenant that name it."""

    name: str
    """The name of the limit."""
    limit: int
    """How many runs may be under way at once."""
    on_full: OnFull = OnFull.WAIT
    """The treatment of a run if all slots are taken."""


@dataclass(frozen=True)
class RateLimit:
    """A rate limit over all jobs of a tenant that name it."""

    name: str
    """The name of the limit."""
    per_second: float
    """How many calls may begin in a second."""
    burst: int = 1
    """How many of them may begin at once."""


@dataclass(frozen=True)
class Flow:
    """A job's flow control."""

    unique: Unique | None = None
    """The unique key of its submits; None: it has none."""
    debounce: Debounce | None = None
    """How triggers are collected; None: each makes a run."""
    supersede: bool = False
    """A newer run of the job replaces a run that has not started."""
    concurrency: ConcurrencyLimit | None = None
    """The concurrency limit that its runs share; None: none."""
    rate: RateLimit | None = None
    """The rate limit that its runs share; None: none."""


@dataclass(frozen=True)
class UniqueKeyRow:
    """A unique key's row."""

    key: UniqueKey
    """The tenant, and a digest of the key."""
    job_id: str
    """The job that the key stands for."""
    since: int
    """When it was named (ms)."""
    until: int | None = None
    """Until when the key stands for the job (ms); None: until the job has ended."""
    revision: int = 1
    """Counts the writes of the row."""


@dataclass(frozen=True)
class Collected:
    """The triggers, or submits, that a run has collected."""

    count: int
    """How many there are."""
    since: int
    """Since when the run collects (ms)."""
    requests: tuple[str, ...] = ()
    """The newest requests that a client may repeat, as digests of their names and contents."""


def unique_key(tenant: str, key: str) -> UniqueKey:
    """Return the key of the row for a user's unique key."""
    return UniqueKey(tenant, hashlib.blake2b(key.encode(), digest_size=16).hexdigest())
