"""Identities are derived, never drawn: a job's id is given, a run's id *is* its job, fire time and origin.

So any number of actors that plan the same fire make the same run, and a store that inserts if absent keeps one.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a job id may look like: no separators of keys, urls or headers."""


SERIES = re.compile(r"[a-z0-9]{1,26}")
"""What the name of a backfill looks like, and what stands for an event in the name of a run."""


class Origin(StrEnum):
    """Why a run exists."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    BACKFILL = "backfill"
    DEPENDENCY = "dependency"
    EVENT = "event"


_LETTERS = {origin: origin.value[0] for origin in Origin}
_ORIGINS = {letter: origin for origin, letter in _LETTERS.items()}
_SERIES_OF = {
    Origin.BACKFILL: SERIES.pattern,
    Origin.EVENT: SERIES.pattern,
    Origin.DEPENDENCY: "[1-9][0-9]{0,3}",
}
"""What the rest of a run's id looks like of a backfill, on an event, or of an item; all others have none."""

_OCCURRENCES = "|".join(f"{letter}{_SERIES_OF.get(origin, '')}" for origin, letter in _LETTERS.items())
RUN_ID = rf"{JOB_ID.pattern}\.(0|[1-9][0-9]{{0,14}})\.({_OCCURRENCES})"
"""The pattern of what may be the id of a run."""


@dataclass(frozen=True, order=True)
class JobKey:
    """A job within its tenant."""

    tenant: str
    job_id: str


@dataclass(frozen=True, order=True)
class TaskKey:
    """A task within its tenant. Its id looks like a job's."""

    tenant: str
    task_id: str


@dataclass(frozen=True, order=True)
class BackfillKey:
    """A backfill of a job; its name is part of the identity of its runs."""

    job: JobKey
    name: str


@dataclass(frozen=True, order=True)
class OperationKey:
    """A bulk operation within its tenant."""

    tenant: str
    name: str


@dataclass(frozen=True, order=True)
class LimiterKey:
    """What bounds runs of a tenant: a key that its jobs name, or, of the name "", the tenant's own quotas."""

    tenant: str
    name: str = ""


@dataclass(frozen=True, order=True)
class RunId:
    """One occurrence of a job: (job, fire time in ms, origin). Its text is what the API and the target see.

    `series` is empty but for a backfill's runs, of which it is the backfill's name, so that a range may be run again;
    and for those of items, of which it is the item's number; and for a run on an event,
    of which it stands for that.
    """

    job: JobKey
    fire_at: int
    origin: Origin
    series: str = ""

    def __str__(self) -> str:
        return f"{self.job.job_id}.{self.fire_at}.{_LETTERS[self.origin]}{self.series}"

    @classmethod
    def parse(cls, tenant: str, text: str) -> Self | None:
        """Return the run that a text names within a tenant, or None if no run can have that name."""
        match = re.fullmatch(rf"({JOB_ID.pattern})\.(0|[1-9][0-9]{{0,14}})\.([a-z])({SERIES.pattern})?", text)
        if match is None or match[3] not in _ORIGINS:
            return None
        origin, series = _ORIGINS[match[3]], match[4] or ""
        if not re.fullmatch(_SERIES_OF.get(origin, ""), series):
            return None
        return cls(JobKey(tenant, match[1]), int(match[2]), origin, series)


MOST_SHARDS = 1024
"""How many due shards a deployment may have."""


@dataclass(frozen=True)
class Shards:
    """The due shards of new rows: how many, and the secret by which each row's is drawn.

    Tenants choose names, so they could choose shards if they knew the hash, and let all that they have fall due in one.
    A row keeps the shard that it was stored with. So the secret need not last, and each process may have its own.
    """

    count: int
    secret: bytes = b""

    def of(self, key: JobKey | OperationKey | LimiterKey) -> int:
        """Return the due shard of a new job, operation or limiter. It is stored on the row and never computed again."""
        return shard_of(key, self.count, self.secret)


def shard_of(key: JobKey | OperationKey | LimiterKey, shards: int, secret: bytes = b"") -> int:
    """Return one of so many shards by a hash of a key, and of a secret if there is one."""
    name = key.job_id if isinstance(key, JobKey) else key.name
    digest = hashlib.blake2b(f"{key.tenant}#{name}".encode(), digest_size=8, key=secret).digest()
    return int.from_bytes(digest) % shards


def fraction_of(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of the parts: the same on every replay. Jitter comes from here."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)
