"""The fires to come of a tenant's jobs, merged by time, in pages.

A page reads the rows of at most MOST_JOBS open jobs, weakly, with the tenant's freezes and the calendars that these
jobs name. A tenant with more jobs gets their fires in parts: the next part begins when the fires of one have ended.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freeze
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.fires_ahead import FireAhead, fires_ahead
from timeball.domain.time.instants import SECOND_MS, InvalidSchedule
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.kept_digests import ListedAt
from timeball.ports.rows import ListQuery

MOST_JOBS = 1_000
MOST_EXAMINED = 10_000
"""The most fires that a preview of a freeze examines."""


@dataclass(frozen=True)
class Window:
    """Which fires: of a tenant's open jobs that match, from an instant to another (ms, both included)."""

    tenant: str
    from_at: int
    to_at: int
    matches: Callable[[Job], bool]
    job_ids: tuple[str, ...] = ()
    """Only these jobs; empty: all."""


@dataclass(frozen=True)
class UpcomingPage:
    """Fires, earliest first, and where to continue."""

    fires: tuple[FireAhead, ...]
    next_fire: FireAhead | None
    """The last fire of the page, if the same jobs have more; None: they have none."""
    next_jobs: ListedAt | None
    """The last of these jobs, if there are more jobs; None: there are none."""


def list_upcoming(
    context: Context, window: Window, limit: int, after_jobs: ListedAt | None, after: tuple[int, str] | None
) -> UpcomingPage:
    """Return the fires after a fire (its time and job id) of the jobs after a job. Raises UnavailableError."""
    jobs, next_jobs = read_open(context, window, after_jobs)
    merged = merged_fires(context, jobs, window if after is None else _from(window, after[0]))
    left = (one for one in merged if after is None or (one.fire_at, one.job.job_id) > after)
    found = tuple(islice(left, limit + 1))
    is_more = len(found) > limit
    return UpcomingPage(found[:limit], found[limit - 1] if is_more else None, next_jobs)


def read_open(context: Context, window: Window, after: ListedAt | None) -> tuple[list[Job], ListedAt | None]:
    """Return the next open jobs that match, and the last job that was read if there are more."""
    if window.job_ids:
        keys, last = [JobKey(window.tenant, job_id) for job_id in window.job_ids], None
    else:
        listed = context.store.jobs.listed([Among.OPEN], ListQuery(window.tenant, MOST_JOBS, after=after))
        keys, last = [key for _, key in listed], listed[-1] if len(listed) == MOST_JOBS else None
    rows = context.store.jobs.read(keys, strong=False) if keys else []
    return [job for job in rows if job is not None and job.is_open and window.matches(job)], last


def merged_fires(context: Context, jobs: Sequence[Job], window: Window) -> Iterator[FireAhead]:
    """Return the fires of jobs by time, and by job at one time."""
    misfire_ms, blackouts = context.rules.misfire_ms, read_blackouts(context, jobs)
    each = (_ahead(job, window, misfire_ms, one) for job, one in zip(jobs, blackouts, strict=True))
    return merge(*each, key=lambda one: (one.fire_at, one.job.job_id))


@dataclass(frozen=True)
class Held:
    """The fires that a freeze would hold: their number and the first ones."""

    count: int
    first: tuple[FireAhead, ...]
    is_exact: bool
    """Whether all jobs and fires were examined."""


def held_by(context: Context, window: Window, freeze: Freeze, shown: int) -> Held:
    """Return which fires of a window would start, or are due, while a freeze lasts. Raises UnavailableError."""
    from_at, to_at = freeze.span
    jobs, left = read_open(context, window, None)
    earlier_ms = max((job.spec.jitter_seconds for job in jobs), default=0) * SECOND_MS
    ahead = merged_fires(context, jobs, replace(window, from_at=max(window.from_at, from_at - earlier_ms)))
    examined = list(islice(ahead, MOST_EXAMINED + 1))
    held = [one for one in examined if _is_within(one, from_at, to_at)]
    return Held(len(held), tuple(held[:shown]), left is None and len(examined) <= MOST_EXAMINED)


def _is_within(fire: FireAhead, from_at: int, to_at: int) -> bool:
    return fire.starts_at is not None and any(from_at <= at < to_at for at in (fire.fire_at, fire.starts_at))


def _ahead(job: Job, window: Window, misfire_ms: int, excluded: Blackouts) -> Iterator[FireAhead]:
    try:
        yield from fires_ahead(job, window.from_at, window.to_at, misfire_ms, excluded)
    except InvalidSchedule:  # such as a time zone that no longer exists: nothing fires
        return


def _from(window: Window, from_at: int) -> Window:
    return replace(window, from_at=max(window.from_at, from_at))
