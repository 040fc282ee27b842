"""The digest of a tenant's open jobs: which fail, are silent or blocked, and what fires in the next hour.

A process makes a digest for a request, in pages of up to MOST_JOBS jobs (engine/kept_digests.py). A job costs half a
read unit for its row, and half for its newest runs. These are read only where they may matter: not of a job that was
sound in the digest before, of which no run has failed since, and which would not be silent yet if none had succeeded.

A digest stands in the memory of its process. A row in the store would cost a write for each, and save reads only where
several processes answer the same tenant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import RunState
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.fires_ahead import FireAhead
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.usage.attention import Attention, of_job, of_sound_job, p95_of, sound_since
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.kept_digests import KeptDigests, ListedAt, kept_under
from timeball.engine.runs.notable_runs import RunFilter, Span, notable_runs
from timeball.engine.scheduling.upcoming import Window, merged_fires, read_open

MOST_FIRES = 100
"""How many fires of the next hour are shown, and how many of those that will not run."""
MOST_COUNTED = 5_000
"""How many fires of a page are counted."""
MOST_FOUND = 100
"""How many findings are kept: those that last longest."""
_ROWS = 5
"""How many rows of a ledger are read: as many as fit half a read unit."""
_ROWS_OF_P95 = 20
"""How many rows are read of the jobs that run: their p95 needs more."""
_MOST_KEPT = 50
"""How many digests a process keeps."""
_MOST_SOUND = 20_000
"""How many sound jobs a digest remembers: some 7 MB."""
_MOST_FAILED = 100
"""How many runs that failed since a digest are read to know which jobs are no longer sound: some 13 read units."""
_LATE_MS = 30 * SECOND_MS
"""How long before a digest a run may have ended whose row it did not see yet."""


@dataclass(frozen=True)
class SoundJobs:
    """The jobs that were sound when the digest before was made, and of which no run has failed since."""

    since: Mapping[JobKey, int] = field(default_factory=dict)
    """When they last succeeded, as far as that is known (ms)."""
    failed: frozenset[JobKey] = frozenset()
    """The jobs of which runs have failed."""
    has_all: bool = False
    """Whether no run of any other job has ever failed."""

    def since_of(self, job: Job) -> int | None:
        """Return when a job last succeeded, or 0; None if it may not be sound."""
        return None if job.key in self.failed else self.since.get(job.key, 0 if self.has_all else None)


@dataclass(frozen=True)
class Digest:
    """The findings about all open jobs of a tenant, and their fires. Instants are in ms."""

    at: int
    """When its first page was read."""
    needs_attention: tuple[Attention, ...] = ()
    """The jobs that need attention."""
    fires: tuple[FireAhead, ...] = ()
    """The first fires of the next hour."""
    not_running: tuple[FireAhead, ...] = ()
    """The first fires of the next hour that will not run."""
    counted: int = 0
    """How many fires were counted."""
    is_exact: bool = True
    """Whether all fires of the hour were counted."""
    p95: Mapping[JobKey, int] = field(default_factory=dict)
    """How long 95 % of the runs took (ms), of jobs that ran."""
    sound: Mapping[JobKey, int] = field(default_factory=dict)
    """When jobs whose newest runs did not fail last succeeded, as far as that is known."""
    before: SoundJobs = SoundJobs()
    """The jobs whose newest runs it need not read."""


def read_digest(context: Context, tenant: str, bounds: Mapping[str, str], running: Sequence[JobKey]) -> Digest | None:
    """Return the newest whole digest of the jobs within bounds; None: it is being made. Raises UnavailableError."""
    now = context.clock.now()
    kept: KeptDigests[Digest] = kept_under(context.known.digests, (tenant, *sorted(bounds.items())), _MOST_KEPT)

    def add_page(made: Digest, after: ListedAt | None) -> tuple[Digest, ListedAt | None]:
        window = Window(tenant, made.at, made.at + HOUR_MS, lambda job: bounds.items() <= job.spec.tags.items())
        jobs, last = read_open(context, window, after)
        return _with_page(context, made, jobs, window), last

    def begin() -> Digest:
        return Digest(now, p95=_p95(context, running, now), before=_sound_jobs(context, tenant, kept.whole))

    return kept.read_on(now, begin, add_page)


def _sound_jobs(context: Context, tenant: str, before: Digest | None) -> SoundJobs:
    """Return the jobs that are still sound since a digest. If too many runs have failed since, none is known to be."""
    span = Span() if before is None else Span(before.at - _LATE_MS)
    failed = next(notable_runs(context, RunFilter(tenant, frozenset({RunState.FAILED})), _MOST_FAILED, span), [])
    if len(failed) >= _MOST_FAILED:
        return SoundJobs()
    keys = frozenset(run.id.job for run in failed)
    return SoundJobs(failed=keys, has_all=True) if before is None else SoundJobs(before.sound, keys)


def _with_page(context: Context, before: Digest, jobs: Sequence[Job], window: Window) -> Digest:
    """Return a digest with one page of jobs more."""
    fires = list(islice(merged_fires(context, jobs, window), MOST_COUNTED + 1))
    counted = fires[:MOST_COUNTED]
    attention, sound = _examined(context, jobs, before)
    found = [*before.needs_attention, *attention]
    return Digest(
        before.at,
        tuple(nsmallest(MOST_FOUND, found, key=lambda one: (one.since, one.job, one.kind))),
        _first([*before.fires, *counted]),
        _first([*before.not_running, *(one for one in counted if not one.will_run)]),
        before.counted + len(counted),
        before.is_exact and len(fires) <= MOST_COUNTED,
        before.p95,
        {**before.sound, **sound} if len(before.sound) < _MOST_SOUND else before.sound,
        before.before,
    )


def _first(fires: Iterable[FireAhead]) -> tuple[FireAhead, ...]:
    return tuple(nsmallest(MOST_FIRES, fires, key=lambda one: (one.fire_at, one.job)))


def _examined(context: Context, jobs: Sequence[Job], made: Digest) -> tuple[list[Attention], dict[JobKey, int]]:
    """Return why jobs need attention, and when the sound ones last succeeded."""
    found, sound, unread = list[Attention](), dict[JobKey, int](), list[tuple[Job, Blackouts]]()
    for job, excluded in zip(jobs, read_blackouts(context, jobs), strict=True):
        since = made.before.since_of(job)
        known = None if since is None else of_sound_job(job, since, excluded, made.at)
        if since is None or known is None:
            unread.append((job, excluded))
        else:
            found += known
            sound[job.key] = since
    ledgers = context.store.runs.newest([job.key for job, _ in unread], _ROWS, made.at) if unread else []
    for (job, excluded), rows in zip(unread, ledgers, strict=True):
        has_more = len(rows) == _ROWS
        found += of_job(job, rows, excluded, made.at, has_more=has_more)
        if (at := sound_since(rows, has_more=has_more)) is not None:
            sound[job.key] = at
    return found, sound


def _p95(context: Context, keys: Sequence[JobKey], now: int) -> dict[JobKey, int]:
    """Return the p95 of each job that runs, if it has enough runs."""
    jobs = list(dict.fromkeys(keys))
    ledgers = context.store.runs.newest(jobs, _ROWS_OF_P95, now)
    return {key: found for key, rows in zip(jobs, ledgers, strict=True) if (found := p95_of(rows)) is not None}
