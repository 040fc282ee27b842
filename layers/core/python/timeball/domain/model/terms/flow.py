"""Flow control: of submits under one key one job is made, of triggers in a row one run; runs share keys' places.

Invariant: a key names its job before that is stored, and the job's id is the one that is named. So of any number who
submit under the key at once, all store the same job, of which one is made.
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, order=True)
class UniqueKey:
    """A unique key within its tenant, by a digest of it: users have any text for one."""

    tenant: str
    digest: str


@dataclass(frozen=True)
class Unique:
    """The key under which a job was submitted, and for how long it stands for that; None: until the job is over."""

    key: str
    seconds: int | None = None


@dataclass(frozen=True)
class Debounce:
    """How long the start waits for another trigger, and how long together at most, whatever still comes."""

    seconds: int
    max_seconds: int


class OnFull(StrEnum):
    """What becomes of a run that finds all places of its key taken: it waits for one, or is skipped."""

    WAIT = "wait"
    SKIP = "skip"


@dataclass(frozen=True)
class ConcurrencyKey:
    """So many runs at once, over all jobs of a tenant that name the key."""

    key: str
    limit: int
    on_full: OnFull = OnFull.WAIT


@dataclass(frozen=True)
class RateKey:
    """So many calls a second, over all jobs of a tenant that name the key, and at most `burst` of them at once."""

    key: str
    per_second: float
    burst: int = 1


@dataclass(frozen=True)
class Flow:
    """What a job says of what comes again: the key of its submits, how triggers are collected, what newer runs do.

    With `supersede` a newer run of the job takes the place of one that has not started. Its runs share the places of a
    `concurrency` key, and the turns of a `rate` key, with those of all jobs of its tenant that name it.
    """

    unique: Unique | None = None
    debounce: Debounce | None = None
    supersede: bool = False
    concurrency: ConcurrencyKey | None = None
    rate: RateKey | None = None


@dataclass(frozen=True)
class Named:
    """A unique key's row: the job that it stands for, since when, and until when (ms), if not until that is over."""

    key: UniqueKey
    job_id: str
    since: int
    until: int | None = None
    revision: int = 1


@dataclass(frozen=True)
class Collected:
    """How many triggers, or submits, are in a run, and since when it collects (ms).

    `requests` tells the newest of those that a client may repeat: digests of their names and of what they ask for.
    """

    count: int
    since: int
    requests: tuple[str, ...] = ()


def unique_key(tenant: str, key: str) -> UniqueKey:
    """Return the key under which the row of a user's key stands."""
    return UniqueKey(tenant, hashlib.blake2b(key.encode(), digest_size=16).hexdigest())
