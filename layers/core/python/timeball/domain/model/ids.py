"""Identities are derived and never drawn: a job's id is given; a run's id *is* its job, fire time and origin.

So any number of processes that plan the same fire make the same run, and a store that inserts if absent keeps one.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a job id: it holds no separator of keys, URLs or headers."""


SERIES = re.compile(r"[a-z0-9]{1,26}")
"""The form of a backfill's name, of a manual cycle's, and of the digest that names an event in a run's id."""


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
    Origin.MANUAL: f"(?:{SERIES.pattern})?",
    Origin.BACKFILL: SERIES.pattern,
    Origin.EVENT: SERIES.pattern,
    Origin.DEPENDENCY: f"[1-9][0-9]{{0,3}}(?:[mbe]{SERIES.pattern})?",
}
"""The form of the rest of a run's id, for a run of a named cycle, of a backfill, on an event, or of an item."""

_OCCURRENCES = "|".join(f"{letter}{_SERIES_OF.get(origin, '')}" for origin, letter in _LETTERS.items())
_GENERATION = r"[2-9]|[1-9][0-9]{1,5}"
RUN_ID = rf"{JOB_ID.pattern}\.(0|[1-9][0-9]{{0,14}})\.({_OCCURRENCES})(\.({_GENERATION}))?"
"""The pattern of a run's id."""
_RUN_ID = re.compile(rf"({JOB_ID.pattern})\.(0|[1-9][0-9]{{0,14}})\.([a-z])([a-z0-9]{{1,31}})?(?:\.({_GENERATION}))?")


@dataclass(frozen=True, order=True)
class JobKey:
    """The name of a job."""

    tenant: str
    """The tenant that owns it."""
    job_id: str
    """Its id within the tenant."""


@dataclass(frozen=True, order=True)
class TaskKey:
    """The name of a task."""

    tenant: str
    """The tenant that owns it."""
    task_id: str
    """Its id within the tenant; it has the form of a job id."""


@dataclass(frozen=True, order=True)
class BackfillKey:
    """The name of a backfill."""

    job: JobKey
    """The job whose fires it runs again."""
    name: str
    """Its name within the job; it is part of the identity of its runs."""


@dataclass(frozen=True, order=True)
class OperationKey:
    """The name of a bulk operation."""

    tenant: str
    """The tenant that owns it."""
    name: str
    """Its name within the tenant."""


@dataclass(frozen=True, order=True)
class LimiterKey:
    """The name of a limiter."""

    tenant: str
    """The tenant whose runs it bounds."""
    name: str = ""
    """The limit that jobs name; empty: the tenant's own quotas."""


@dataclass(frozen=True, order=True)
class CycleId:
    """The common part of the ids of a cycle's runs, which differ by their jobs alone."""

    fire_at: int
    """The fire time (ms)."""
    origin: Origin = Origin.SCHEDULE
    """Why the cycle exists: a schedule, a manual trigger, a backfill or an event."""
    series: str = ""
    """Its name, if it has one of its own: the backfill's, the trigger's or the event's; empty: of the schedule."""

    def run_of(self, job: JobKey, generation: int) -> "RunId":
        """Return the run that a job of a generation has in the cycle."""
        return RunId(job, self.fire_at, self.origin, self.series, generation)


@dataclass(frozen=True, order=True)
class RunId:
    """One occurrence of a job. Its text is what the API and the target see."""

    job: JobKey
    """The job that it is a run of."""
    fire_at: int
    """Its fire time (ms)."""
    origin: Origin
    """Why it exists."""
    series: str = ""
    """A backfill's or cycle's name, an item's number, or an event's digest; empty for all other runs."""
    generation: int = 1
    """The generation of its job."""

    @property
    def cycle(self) -> CycleId:
        """The cycle of the run, and of an item's head."""
        if self.origin is not Origin.DEPENDENCY:
            return CycleId(self.fire_at, self.origin, self.series)
        name = self.series.lstrip("0123456789")
        return CycleId(self.fire_at, _ORIGINS[name[0]], name[1:]) if name else CycleId(self.fire_at)

    def __str__(self) -> str:
        of = "" if self.generation == 1 else f".{self.generation}"
        return f"{self.job.job_id}.{self.fire_at}.{_LETTERS[self.origin]}{self.series}{of}"

    @classmethod
    def parse(cls, tenant: str, text: str) -> Self | None:
        """Return the run that a text names within a tenant; None if no run can have that name."""
        match = _RUN_ID.fullmatch(text)
        if match is None or match[3] not in _ORIGINS:
            return None
        origin, series = _ORIGINS[match[3]], match[4] or ""
        if not re.fullmatch(_SERIES_OF.get(origin, ""), series):
            return None
        return cls(JobKey(tenant, match[1]), int(match[2]), origin, series, int(match[5] or 1))


MOST_SHARDS = 1024
"""The most due shards that a deployment may have."""


@dataclass(frozen=True)
class Shards:
    """How the due shards of new rows are chosen.

    Tenants choose names, so they could choose shards if they knew the hash, and let all their rows fall due in one
    shard. A row keeps the shard that it was stored with. So the secret need not last, and each process may have its
    own.
    """

    count: int
    """How many shards there are."""
    secret: bytes = b""
    """The key of the hash that chooses a shard; empty: no key."""

    def of(self, key: JobKey | OperationKey | LimiterKey) -> int:
        """Return the due shard of a new job, operation or limiter. It is stored on the row and never computed again."""
        return shard_of(key, self.count, self.secret)


def shard_of(key: JobKey | OperationKey | LimiterKey, shards: int, secret: bytes = b"") -> int:
    """Return a shard, from 0, by a hash of a key, and of a secret if there is one."""
    name = key.job_id if isinstance(key, JobKey) else key.name
    digest = hashlib.blake2b(f"{key.tenant}#{name}".encode(), digest_size=8, key=secret).digest()
    return int.from_bytes(digest) % shards


def fraction_of(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of the parts: the same on every replay. Jitter is made of it."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)
