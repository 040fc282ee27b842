"""Freezes: from an instant on, to another or until they are lifted, the fires of matching jobs do not start.

All freezes of a tenant stand in one row. One that is over is kept there for a while: the fires that it kept away may
not be planned yet, and it is the reason of those that the catch-up policy skips.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.quotas import NO_QUOTAS, Quotas
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS

KNOWN_MS = 2 * SECOND_MS
"""For how long a process goes by what it has read of freezes and calendars."""

BEGINS_AFTER_MS = KNOWN_MS + SECOND_MS
"""How long after it is stored a freeze begins at the earliest: by then every process knows of it, also one that claims
shortly before a run's instant."""

MAX_FREEZES = 50
"""How many freezes of a tenant may be to come or in force."""

MAX_SIZE = 120_000
"""How large these may be together, in bytes of what their users have written: a row of DynamoDB holds 400 KB."""

_KEPT_MS = 7 * DAY_MS
_MAX_KEPT = 100
_MAX_KEPT_SIZE = 60_000


@dataclass(frozen=True)
class Match:
    """Which jobs are meant: all of the tenant's, or those of which all holds that is said: id, task, tags."""

    everything: bool = False
    job_ids: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    task_id: str | None = None

    @property
    def says_which(self) -> bool:
        """Whether it says anything of the jobs that are meant."""
        return bool(self.job_ids or self.tags or self.task_id)

    def matches(self, job: Job) -> bool:
        """Say whether a job is meant."""
        if not self.says_which:
            return self.everything
        return (
            (not self.job_ids or job.key.job_id in self.job_ids)
            and self.task_id in (None, job.task_id)
            and all(job.spec.tags.get(name) == value for name, value in self.tags.items())
        )


@dataclass(frozen=True)
class Freeze:
    """No fire of the jobs that match starts from `from_at` up to `to_at` (None: until it is lifted).

    One that `stops_all` is of a tenant that is disabled: no attempt begins but to take over a lost one, and its users
    do not see it.
    """

    name: str
    from_at: int
    to_at: int | None
    match: Match
    created_at: int
    reason: str | None = None
    stops_all: bool = False

    def is_over(self, now: int) -> bool:
        """Say whether it keeps nothing away any more."""
        return self.to_at is not None and self.to_at <= now

    @property
    def size(self) -> int:
        """How many bytes of it its user has written."""
        match = self.match
        texts = (*match.job_ids, *match.tags, *match.tags.values(), match.task_id or "", self.reason or "")
        return sum(len(text.encode()) for text in texts)

    @property
    def span(self) -> tuple[int, int]:
        """From when to when it is in force (ms)."""
        return self.from_at, LATEST if self.to_at is None else self.to_at


@dataclass(frozen=True)
class Freezes:
    """What keeps a tenant's runs back: its freezes, to come, in force and lately over; and its quotas.

    The quotas are those of its own row, for whoever plans and claims and reads this row anyway.
    """

    tenant: str
    items: tuple[Freeze, ...] = ()
    quotas: Quotas = NO_QUOTAS
    revision: int = 1

    def open_at(self, now: int) -> list[Freeze]:
        """Return the users' freezes that are not over, the newest first."""
        seen = (one for one in self.items if not one.is_over(now) and not one.stops_all)
        return sorted(seen, key=lambda one: (-one.created_at, one.name))

    def stop_at(self, now: int) -> Freeze | None:
        """Return what stops all of a tenant that is disabled, to come or in force."""
        return next((one for one in self.items if one.stops_all and not one.is_over(now)), None)


def has_room_for(freezes: Freezes, freeze: Freeze, now: int) -> bool:
    """Say whether a tenant may have one more freeze."""
    standing = freezes.open_at(now)
    return len(standing) < MAX_FREEZES and freeze.size + sum(one.size for one in standing) <= MAX_SIZE


def with_freeze(freezes: Freezes, freeze: Freeze, now: int) -> Freezes:
    """Return a tenant's freezes with one more, and without those that were over long ago, or are too many to keep."""
    over = [one for one in freezes.items if one.is_over(now) and one.span[1] > now - _KEPT_MS]
    latest_first = sorted(over, key=lambda one: -one.span[1])[:_MAX_KEPT]
    sizes = accumulate(one.size for one in latest_first)
    kept = [one for one, size in zip(latest_first, sizes, strict=True) if size <= _MAX_KEPT_SIZE]
    return evolve(freezes, items=(*kept[::-1], *(one for one in freezes.items if not one.is_over(now)), freeze))


def without_freeze(freezes: Freezes, name: str, now: int) -> Freezes:
    """Return a tenant's freezes with one of them over; one that had not begun is as if it had never been."""
    items = tuple(
        evolve(one, to_at=now) if one.name == name and not one.is_over(now) else one
        for one in freezes.items
        if one.name != name or one.from_at < now
    )
    return evolve(freezes, items=items)
