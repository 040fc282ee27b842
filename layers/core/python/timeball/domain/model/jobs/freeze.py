"""Freezes: the fires of matching jobs do not start from one instant to another, or until the freeze is lifted.

All freezes of a tenant are in one row. A freeze that is over stays there for a while: the fires that it deferred may
not be planned yet, and the freeze is the reason of those that the catch-up policy skips.

Invariant: each freeze that was ever in force is in the tenant's row, or has a row of its own, until the history
expires.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.tenant import NO_DEFAULTS, NO_QUOTAS, Defaults, Quotas
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS

KNOWN_MS = 2 * SECOND_MS
"""How long a process may rely on what it has read of freezes and calendars."""

BEGINS_AFTER_MS = KNOWN_MS + SECOND_MS
"""How long after it is stored a freeze begins at the earliest. By then every process knows it, even a process that
claims a run shortly before the run's instant."""

MAX_FREEZES = 50
"""How many freezes of a tenant may be in force or still to begin."""

MAX_SIZE = 120_000
"""How large these may be together, in bytes of what their users have written: a row of DynamoDB holds 400 KB."""

_KEPT_MS = 7 * DAY_MS
_MAX_KEPT = 100
_MAX_KEPT_SIZE = 60_000


@dataclass(frozen=True)
class FreezeMatch:
    """Which jobs are meant: all jobs of the tenant, or those that meet every condition that is given."""

    everything: bool = False
    """All jobs, if no other field is set."""
    job_ids: tuple[str, ...] = ()
    """Jobs with one of these ids; empty: any id."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Jobs with all of these tags; empty: any tags."""
    task_id: str | None = None
    """Jobs that name this task; None: with any task or none."""

    @property
    def says_which(self) -> bool:
        """Whether it names any condition."""
        return bool(self.job_ids or self.tags or self.task_id)

    def matches(self, job: Job) -> bool:
        """Say whether it means a job."""
        if not self.says_which:
            return self.everything
        return (
            (not self.job_ids or job.key.job_id in self.job_ids)
            and self.task_id in (None, job.task_id)
            and all(job.spec.tags.get(name) == value for name, value in self.tags.items())
        )


@dataclass(frozen=True)
class Freeze:
    """A time in which no fire of matching jobs starts. Instants are in ms."""

    name: str
    """Its name within the tenant."""
    from_at: int
    """When it begins."""
    to_at: int | None
    """When it ends, not included; None: when it is lifted."""
    match: FreezeMatch
    """The jobs that it freezes."""
    created_at: int
    """When it was created."""
    reason: str | None = None
    """Why, as text for people; None: not given."""
    stops_all: bool = False
    """It stops a disabled tenant: attempts begin only to take over lost ones. Users do not see it."""
    is_lifted: bool = False
    """It was ended at `to_at` by a request."""

    def is_over(self, now: int) -> bool:
        """Say whether it no longer defers anything at an instant (ms)."""
        return self.to_at is not None and self.to_at <= now

    @property
    def order(self) -> tuple[int, str]:
        """Its position among the tenant's freezes: by its creation."""
        return self.created_at, self.name

    @property
    def size(self) -> int:
        """The bytes that its user has written."""
        match = self.match
        texts = (*match.job_ids, *match.tags, *match.tags.values(), match.task_id or "", self.reason or "")
        return sum(len(text.encode()) for text in texts)

    @property
    def span(self) -> tuple[int, int]:
        """When it begins and ends (ms)."""
        return self.from_at, LATEST if self.to_at is None else self.to_at


@dataclass(frozen=True)
class Freezes:
    """The limits on a tenant's runs: its freezes (to come, in force and lately over), its quotas and its defaults."""

    tenant: str
    """The tenant's name."""
    items: tuple[Freeze, ...] = ()
    """The freezes."""
    quotas: Quotas = NO_QUOTAS
    """A copy of the quotas on the tenant's row: planners and executors read this row anyway."""
    defaults: Defaults = NO_DEFAULTS
    """A copy of the defaults on the tenant's row."""
    revision: int = 1
    """Counts the writes of the row."""

    def open_at(self, now: int) -> list[Freeze]:
        """Return the users' freezes that are not over, the newest first."""
        seen = (one for one in self.items if not one.is_over(now) and not one.stops_all)
        return sorted(seen, key=lambda one: (-one.created_at, one.name))

    def over_at(self, now: int) -> list[Freeze]:
        """Return the users' freezes that are over and still in the row, the newest first."""
        seen = (one for one in self.items if one.is_over(now) and not one.stops_all)
        return sorted(seen, key=attrgetter("order"), reverse=True)

    def stop_at(self, now: int) -> Freeze | None:
        """Return the freeze that stops a disabled tenant, in force or still to begin; None: there is none."""
        return next((one for one in self.items if one.stops_all and not one.is_over(now)), None)


def has_room_for(freezes: Freezes, freeze: Freeze, now: int) -> bool:
    """Say whether a tenant may have one more freeze."""
    standing = freezes.open_at(now)
    return len(standing) < MAX_FREEZES and freeze.size + sum(one.size for one in standing) <= MAX_SIZE


def with_freeze(freezes: Freezes, freeze: Freeze, now: int) -> Freezes:
    """Return a tenant's freezes with one more.

    Freezes that are over are dropped a week after their end, and sooner if there are too many or they are too large.
    """
    over = [one for one in freezes.items if one.is_over(now) and one.span[1] > now - _KEPT_MS]
    latest_first = sorted(over, key=lambda one: -one.span[1])[:_MAX_KEPT]
    sizes = accumulate(one.size for one in latest_first)
    kept = [one for one, size in zip(latest_first, sizes, strict=True) if size <= _MAX_KEPT_SIZE]
    return evolve(freezes, items=(*kept[::-1], *(one for one in freezes.items if not one.is_over(now)), freeze))


def dropped(before: Freezes, after: Freezes, now: int) -> list[Freeze]:
    """Return the freezes that leave the row with a change although they were in force; they never change again."""
    left = {one.name for one in after.items}
    return [one for one in before.items if one.name not in left and one.is_over(now)]


def without_freeze(freezes: Freezes, name: str, now: int) -> Freezes:
    """Return a tenant's freezes with one of them ended; a freeze that has not begun is removed without a trace."""
    items = tuple(
        evolve(one, to_at=now, is_lifted=True) if one.name == name and not one.is_over(now) else one
        for one in freezes.items
        if one.name != name or one.from_at < now
    )
    return evolve(freezes, items=items)
