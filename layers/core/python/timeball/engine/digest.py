"""The digest of a tenant's open jobs: which fail, are silent or blocked, and what fires in the next hour.

A process makes a digest for a request, in pages of up to MOST_JOBS jobs (engine/kept_digests.py). A page costs at
most about a read unit a job: half a unit for its row, and half for its newest runs.

A digest stands in the memory of its process. A row in the store would cost a write for each, and save reads only where
several processes answer the same tenant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.planning.fires_ahead import FireAhead
from timeball.domain.time.instants import HOUR_MS
from timeball.domain.usage.attention import Attention, of_job, p95_of
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.kept_digests import KeptDigests, ListedAt
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
_MOST_KEPT = 200
"""How many digests a process keeps."""


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


def read_digest(context: Context, tenant: str, bounds: Mapping[str, str], running: Sequence[JobKey]) -> Digest | None:
    """Return the newest whole digest of the jobs within bounds; None: it is being made. Raises UnavailableError."""
    now = context.clock.now()
    digests: dict[object, KeptDigests[Digest]] = context.known.digests
    if len(digests) > _MOST_KEPT:
        digests.clear()
    kept = digests.setdefault((tenant, *sorted(bounds.items())), KeptDigests())

    def add_page(made: Digest, after: ListedAt | None) -> tuple[Digest, ListedAt | None]:
        window = Window(tenant, made.at, made.at + HOUR_MS, lambda job: bounds.items() <= job.spec.tags.items())
        jobs, last = read_open(context, window, after)
        return _with_page(context, made, jobs, window), last

    return kept.read_on(now, lambda: Digest(now, p95=_p95(context, running, now)), add_page)


def _with_page(context: Context, before: Digest, jobs: Sequence[Job], window: Window) -> Digest:
    """Return a digest with one page of jobs more."""
    fires = list(islice(merged_fires(context, jobs, window), MOST_COUNTED + 1))
    counted = fires[:MOST_COUNTED]
    found = [*before.needs_attention, *_attention(context, jobs, before.at)]
    return Digest(
        before.at,
        tuple(nsmallest(MOST_FOUND, found, key=lambda one: (one.since, one.job, one.kind))),
        _first([*before.fires, *counted]),
        _first([*before.not_running, *(one for one in counted if not one.will_run)]),
        before.counted + len(counted),
        before.is_exact and len(fires) <= MOST_COUNTED,
        before.p95,
    )


def _first(fires: Iterable[FireAhead]) -> tuple[FireAhead, ...]:
    return tuple(nsmallest(MOST_FIRES, fires, key=lambda one: (one.fire_at, one.job)))


def _attention(context: Context, jobs: Sequence[Job], now: int) -> list[Attention]:
    ledgers = context.store.runs.newest([job.key for job in jobs], _ROWS, now)
    excluded = read_blackouts(context, jobs)
    return [
        one
        for job, rows, blackouts in zip(jobs, ledgers, excluded, strict=True)
        for one in of_job(job, rows, blackouts, now, has_more=len(rows) == _ROWS)
    ]


def _p95(context: Context, keys: Sequence[JobKey], now: int) -> dict[JobKey, int]:
    """Return the p95 of each job that runs, if it has enough runs."""
    jobs = list(dict.fromkeys(keys))
    ledgers = context.store.runs.newest(jobs, _ROWS_OF_P95, now)
    return {key: found for key, rows in zip(jobs, ledgers, strict=True) if (found := p95_of(rows)) is not None}
